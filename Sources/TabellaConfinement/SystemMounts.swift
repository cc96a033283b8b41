import CTabellaSystem
import TabellaFiles

/// System files that only can be read, for root that may change something.
///
/// What a file is beside its bytes is changed through a descriptor, which seccomp cannot tell from another,
/// and Landlock has no right for it. To other users the files of the system do not belong; from root they
/// are kept by mounts of the worker's own.
enum SystemMounts {
  /// Whether there is anything to keep, and from whom.
  private static func isNeeded(_ rules: Rules) -> Bool { rules.allowsChanges && geteuid() == 0 }

  /// Mounts what may be read and not be written once more, read-only; returns what is wrong if that cannot
  /// be, for the report.
  static func protect(_ readable: [[UInt8]], _ rules: Rules) -> String? {
    guard isNeeded(rules) else { return nil }
    // Mounts are a thread's own, too, and another one's signal handlers could be used.
    guard tabella_system_thread_count(getpid()) == 1 else {
      return lacking("a single thread at the start")
    }
    var result = tabella_own_mounts()
    for path in places(readable, rules) where result == 0 {
      result = path.withCString { tabella_mount_read_only($0) }
    }
    guard result == 0 else { return lacking(String(cString: strerror(-result))) }
    reopenNull()
    return nil
  }

  private static func lacking(_ why: String) -> String {
    "mounts of its own (\(why)): modes, owners and times of system files can be changed by root"
  }

  /// Real paths that neither hold nor lie in anything that may be written, the outermost of each.
  private static func places(_ readable: [[UInt8]], _ rules: Rules) -> [[UInt8]] {
    let written = (rules.writable + rules.saving).map(\.path)
    var places: [[UInt8]] = []
    // Shorter ones first.
    for path in readable.compactMap(realPath).sorted(by: { $0.count < $1.count })
    where !isOfProcess(path) && !places.contains(where: { isBelow(path, $0) }) {
      guard !written.contains(where: { isBelow($0, path) || isBelow(path, $0) }) else { continue }
      places.append(path)
    }
    return places
  }

  /// Whether a path is a process's own folder, or that of all: there is nothing to keep of its files.
  private static func isOfProcess(_ path: [UInt8]) -> Bool {
    let steps = path.split(separator: UInt8(ascii: "/"))
    return steps.first.map(Array.init) == Array("proc".utf8)
      && (steps.count == 1 || steps[1].allSatisfy { 0x30...0x39 ~= $0 })
  }

  /// Whether a path is another one or beneath it.
  private static func isBelow(_ path: [UInt8], _ other: [UInt8]) -> Bool {
    guard other != [UInt8(ascii: "/")] else { return true }
    return path == other || path.starts(with: other + [UInt8(ascii: "/")])
  }

  /// The empty standard input came through another mount.
  private static func reopenNull() {
    var (input, null) = (stat(), stat())
    guard fstat(0, &input) == 0, stat("/dev/null", &null) == 0, input.st_rdev == null.st_rdev,
      input.st_mode & S_IFMT == S_IFCHR
    else { return }
    let new = open("/dev/null", O_RDONLY | O_CLOEXEC)
    guard new >= 0 else { return }
    dup2(new, 0)
    close(new)
  }
}
