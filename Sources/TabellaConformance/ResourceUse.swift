import CTabellaSystem
import Glibc

/// The resources that a process holds. The laws of ownership check that they do not grow.
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
    guard let stream = opendir(folder) else { return 0 }
    defer { closedir(stream) }
    var count = 0
    while readdir(stream) != nil { count += 1 }
    // Without `.` and `..`.
    return count - 2
  }
}

/// The resources that this process holds, and the bytes that it has read and written since its start.
struct ProcessUse {
  var resources: ResourceUse
  var bytes: Int

  /// The current use; nil if the kernel does not report it.
  static func now() -> ProcessUse? {
    let file = open("/proc/self/io", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    let text = withUnsafeTemporaryAllocation(byteCount: 1024, alignment: 1) { buffer in
      let count = read(file, buffer.baseAddress, buffer.count)
      return String(
        decoding: UnsafeRawBufferPointer(rebasing: buffer[..<max(0, count)]), as: UTF8.self)
    }
    // The first lines are such as `rchar: 123` and `wchar: 45`.
    let numbers = text.split(separator: "\n").prefix(2).compactMap { line in
      line.split(separator: " ").last.flatMap { Int($0) }
    }
    guard numbers.count == 2 else { return nil }
    return ProcessUse(resources: .ofThisProcess(), bytes: numbers[0] + numbers[1])
  }
}
