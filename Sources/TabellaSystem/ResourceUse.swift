import CTabellaSystem

/// The resources that a process holds. The laws of ownership check that they do not grow.
///
/// This type alone is public here, because the interfaces of the host and of the conformance suite have it.
public struct ResourceUse: Hashable, Sendable {
  /// The allocated heap memory in bytes.
  public var heap: Int
  /// The number of open descriptors.
  public var descriptors: Int
  /// The number of threads.
  public var threads: Int

  /// Creates a measurement.
  public init(heap: Int, descriptors: Int, threads: Int) {
    self.heap = heap
    self.descriptors = descriptors
    self.threads = threads
  }

  /// The resources that this process holds.
  public static func ofThisProcess() -> ResourceUse {
    ResourceUse(
      heap: Int(tabella_system_heap_in_use()), descriptors: entries(of: "/proc/self/fd"),
      threads: entries(of: "/proc/self/task"))
  }

  /// The number of entries of a folder; 0 if it cannot be read.
  private static func entries(of folder: String) -> Int {
    guard var entries = FolderEntries(of: Array(folder.utf8)) else { return 0 }
    var count = 0
    while entries.next() != nil { count += 1 }
    return count
  }
}
