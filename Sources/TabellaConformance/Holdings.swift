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

/// What this process holds, and how much it has read and written since it began.
struct ProcessUse {
  var holdings: Holdings
  var bytes: Int

  /// What it is now; nil if the kernel does not say.
  static func now() -> ProcessUse? {
    let file = open("/proc/self/io", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    let text = withUnsafeTemporaryAllocation(byteCount: 1024, alignment: 1) { buffer in
      let count = read(file, buffer.baseAddress, buffer.count)
      return String(
        decoding: UnsafeRawBufferPointer(rebasing: buffer[..<max(0, count)]), as: UTF8.self)
    }
    // `rchar: 123` and `wchar: 45` are the first lines.
    let numbers = text.split(separator: "\n").prefix(2).compactMap { line in
      line.split(separator: " ").last.flatMap { Int($0) }
    }
    guard numbers.count == 2 else { return nil }
    return ProcessUse(holdings: .ofThisProcess(), bytes: numbers[0] + numbers[1])
  }
}
