import Glibc
import ProviderTemplates
import Tabella
import TabellaSystem

/// Creates a folder of files.
enum NewFolder {
  /// Creates a folder that does not exist, with its files. Returns the paths of the files.
  ///
  /// Throws ``TableError`` with `.io` if anything has that name. After an error, everything that it has created
  /// is removed.
  static func make(_ folder: String, _ files: [TemplateFile]) throws(TableError) -> [String] {
    var folders: [String] = []
    var created: [String] = []
    func makeFolder(_ path: String) throws(TableError) {
      guard mkdir(path, 0o755) == 0 else {
        guard errno != EEXIST else {
          throw TableError(.io, "exists already, and nothing was changed; choose another name")
        }
        throw .system(errno, "the folder cannot be created")
      }
      folders.append(path)
    }
    do throws(TableError) {
      try makeFolder(folder)
      for file in files {
        if let slash = file.path.lastIndex(of: "/") {
          let inner = "\(folder)/\(file.path[..<slash])"
          if !folders.contains(inner) { try makeFolder(inner) }
        }
        created.append("\(folder)/\(file.path)")
        try write(file, to: "\(folder)/\(file.path)")
      }
    } catch {
      for path in created { unlink(path) }
      for path in folders.reversed() { rmdir(path) }
      throw error
    }
    return created
  }

  private static func write(_ file: TemplateFile, to path: String) throws(TableError) {
    guard
      let descriptor = Descriptor(
        opening: Array(path.utf8), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW,
        mode: file.isExecutable ? 0o755 : 0o644)
    else { throw .system(errno, "\(path) cannot be created") }
    var rest = Array(file.text.utf8)[...]
    while !rest.isEmpty {
      let written = rest.withUnsafeBytes { Glibc.write(descriptor.raw, $0.baseAddress, $0.count) }
      guard written > 0 || errno == EINTR else { throw .system(errno, "\(path) cannot be written") }
      rest = rest.dropFirst(max(written, 0))
    }
  }
}
