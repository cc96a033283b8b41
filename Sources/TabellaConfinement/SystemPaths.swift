import TabellaFiles

/// The system files that every process may read, for the C library and language runtimes. They contain no data of
/// users.
enum SystemPaths {
  private static func bytes(_ paths: [String]) -> [[UInt8]] { paths.map { Array($0.utf8) } }

  /// Devices without data. They may be written, too.
  static let devices = bytes([
    "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom",
  ])

  /// For work: account names, time zones, languages, encodings, and the process's own facts.
  static var pathsForWork: [[UInt8]] {
    bytes([
      "/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/localtime", "/etc/locale.alias",
      "/usr/share/zoneinfo", "/usr/share/locale", "/usr/lib/locale", "/usr/share/i18n",
      "/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/filesystems",
      "/proc/sys/vm/overcommit_memory", "/proc/sys/kernel/ngroups_max",
      "/sys/devices/system/cpu", "/sys/kernel/mm/transparent_hugepage",
    ]) + libraryFolders.map { $0 + Array("/gconv".utf8) }
  }

  /// For the network: name resolution and certificates.
  static let network = bytes([
    "/etc/resolv.conf", "/etc/hosts", "/etc/host.conf", "/etc/gai.conf", "/etc/services",
    "/etc/protocols", "/etc/ssl", "/etc/pki", "/etc/ca-certificates", "/usr/share/ca-certificates",
    "/etc/crypto-policies",
  ])

  /// For loading a library.
  static var pathsForLoading: [[UInt8]] {
    bytes(["/etc/ld.so.cache", "/etc/ld.so.preload", "/lib", "/lib64", "/usr/lib", "/usr/lib64"])
      + bytes(["/usr/local/lib"]) + libraryFolders
  }

  /// The folders of the libraries that this process has loaded, such as the C library and the Swift runtime.
  private static var libraryFolders: [[UInt8]] {
    let maps = contents(of: "/proc/self/maps")
    var folders: [[UInt8]] = []
    for line in maps.split(separator: UInt8(ascii: "\n")) {
      guard let start = line.firstIndex(of: UInt8(ascii: "/")) else { continue }
      let path = line[start...]
      guard let slash = path.lastIndex(of: UInt8(ascii: "/")), slash > start,
        isLibraryName(path[(slash + 1)...])
      else { continue }
      let folder = Array(path[..<slash])
      if !folders.contains(folder) { folders.append(folder) }
    }
    return folders
  }

  /// The content of a file in `/proc`; empty if it cannot be read.
  private static func contents(of path: String) -> [UInt8] {
    guard let file = try? OpenFile(path: Array(path.utf8)) else { return [] }
    return (try? file.bytes().bytes(at: 0, count: 1 << 20)) ?? []
  }
}
