import CTabellaSystem
import Glibc

/// What a process holds: the laws of ownership watch that it does not grow.
public struct Holdings: Hashable, Sendable {
  /// What malloc has handed out, in bytes.
  public var heap: Int
  /// Open descriptors.
  public var descriptors: Int
  public var threads: Int

  public init(heap: Int, descriptors: Int, threads: Int) {
    self.heap = heap
    self.descriptors = descriptors
    self.threads = threads
  }

  /// What this process holds.
  public static func ofThisProcess() -> Holdings {
    Holdings(
      heap: Int(tabella_system_heap_in_use()), descriptors: entries(of: "/proc/self/fd"),
      threads: entries(of: "/proc/self/task"))
  }

  /// The number of entries of a folder; 0 if it cannot be read.
  private static func entries(of folder: String) -> Int {
    guard let stream = opendir(folder) else { return 0 }
    defer { closedir(stream) }
    var count = 0
    while readdir(stream) != nil { count += 1 }
    // `.`, `..`.
    return count - 2
  }
}
