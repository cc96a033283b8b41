import Foundation

/// A separate folder for a test, which is removed with the object.
final class TemporaryFolder: Sendable {
  let path: String

  /// Creates the folder; with `inMemory` on a file system without costs for fsync, for tests that save or create
  /// thousands of files.
  init(inMemory: Bool = false) throws {
    let parent = inMemory && access("/dev/shm", W_OK) == 0 ? "/dev/shm" : NSTemporaryDirectory()
    _ = TemporaryFolder.usualMask
    path = parent + "/tabella-test-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  /// The umask from before. Initialising it sets the umask to 022, because group-writable files are not trusted, and a
  /// umask of 002 would change the tests.
  private static let usualMask: mode_t = umask(0o022)

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// Writes a file. Returns its path.
  @discardableResult
  func write(_ name: String, _ bytes: [UInt8]) throws -> String {
    let file = "\(path)/\(name)"
    try Data(bytes).write(to: URL(fileURLWithPath: file))
    return file
  }

  /// The bytes of a file.
  func read(_ name: String) throws -> [UInt8] {
    Array(try Data(contentsOf: URL(fileURLWithPath: "\(path)/\(name)")))
  }

  @discardableResult
  func write(_ name: String, _ text: String) throws -> String {
    try write(name, Array(text.utf8))
  }
}
