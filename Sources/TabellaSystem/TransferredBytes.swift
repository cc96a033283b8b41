/// The bytes that a process has read and written since its start, in any way, from `/proc/PID/io`.
package struct TransferredBytes: Hashable, Sendable {
  /// The bytes read.
  package let read: UInt64
  /// The bytes written.
  package let written: UInt64

  /// The present counters of a process, by default of this one. Returns nil if the kernel does not report them.
  package init?(of process: pid_t? = nil) {
    let folder = process.map { "\($0)" } ?? "self"
    guard let bytes = readSmallFile("/proc/\(folder)/io") else { return nil }
    // The first lines are such as `rchar: 123` and `wchar: 45`.
    let numbers = bytes.split(separator: UInt8(ascii: "\n")).prefix(2).compactMap { line in
      line.split(separator: UInt8(ascii: " ")).last.flatMap {
        UInt64(String(decoding: $0, as: UTF8.self))
      }
    }
    guard numbers.count == 2 else { return nil }
    (read, written) = (numbers[0], numbers[1])
  }
}

/// Reads one byte from `/proc/self/stat`. A host watches the read counter of a worker, and treats progress there as a
/// sign of life.
package func giveSignOfLife() {
  guard let file = Descriptor(opening: "/proc/self/stat", O_RDONLY) else { return }
  var byte: UInt8 = 0
  _ = read(file.raw, &byte, 1)
}
