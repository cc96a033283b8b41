import Tabella

/// A time of a file system. It may exceed the range of ``Timestamp``.
struct Moment: Hashable {
  var seconds: Int64
  var nanoseconds: UInt32

  init(seconds: Int64, nanoseconds: UInt32) {
    self.seconds = seconds
    self.nanoseconds = nanoseconds
  }

  init(_ timestamp: Timestamp) {
    let (seconds, rest) = timestamp.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    self.seconds = rest < 0 ? seconds - 1 : seconds
    nanoseconds = UInt32(rest < 0 ? rest + 1_000_000_000 : rest)
  }
}
