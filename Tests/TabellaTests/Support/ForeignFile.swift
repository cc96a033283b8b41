import Foundation

/// A file that another program writes: a log, a table that is edited, a file that is rotated.
final class ForeignFile: Sendable {
  let path: String

  init(_ path: String, _ text: String = "") throws {
    self.path = path
    try replace(with: text)
  }

  var text: [UInt8] { (try? Array(Data(contentsOf: URL(fileURLWithPath: path)))) ?? [] }

  /// Opens the file with the flags, and writes at an offset.
  private func write(_ bytes: [UInt8], _ flags: Int32, at offset: Int? = nil) {
    let file = open(path, O_WRONLY | O_CLOEXEC | O_CREAT | flags, 0o644)
    precondition(file >= 0, "cannot open \(path)")
    let written =
      offset.map { pwrite(file, bytes, bytes.count, off_t($0)) }
      ?? Glibc.write(file, bytes, bytes.count)
    precondition(written == bytes.count)
    close(file)
  }

  func append(_ bytes: [UInt8]) { write(bytes, O_APPEND) }
  func append(_ text: String) { append(Array(text.utf8)) }
  /// Writes over bytes in place.
  func overwrite(_ bytes: [UInt8], at offset: Int) { write(bytes, 0, at: offset) }
  /// Writes the whole file again, in place.
  func rewrite(_ bytes: [UInt8]) { write(bytes, O_TRUNC) }
  func truncate(to size: Int) { Glibc.truncate(path, off_t(size)) }

  /// Replaces the file by a new one, as editors do.
  func replace(with bytes: [UInt8]) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: path + ".new"))
    rename(path + ".new", path)
  }
  func replace(with text: String) throws { try replace(with: Array(text.utf8)) }

  /// Moves the file away.
  func moveAway() { rename(path, path + ".1") }
  /// Begins a new log under the same name.
  func create() { write([], O_EXCL) }
  func remove() { unlink(path) }
}
