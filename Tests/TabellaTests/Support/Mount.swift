import Foundation
import Testing

/// A separate file system in a folder, if mounting is possible.
final class Mount {
  let path: String

  init?(_ path: String, _ options: String = "size=16m") {
    self.path = path
    guard geteuid() == 0, let mount = try? findProgram("mount"),
      (try? run(mount, ["-t", "tmpfs", "-o", options, "tabella-test", path]).status) == 0
    else { return nil }
  }

  /// Makes it read-only, or writable again.
  func remount(readOnly: Bool) throws {
    #expect(
      try run(findProgram("mount"), ["-o", readOnly ? "remount,ro" : "remount,rw", path]).status
        == 0)
  }

  func unmount() { umount2(path, 2) }

  static let works: Bool = {
    guard let folder = try? TemporaryFolder(), let mount = Mount(folder.path) else { return false }
    mount.unmount()
    return true
  }()
}
