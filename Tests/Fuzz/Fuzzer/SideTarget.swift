import CTabellaSystem
import Tabella
import TabellaConfinement

@testable import TabellaHost
@testable import TabellaRemote

/// The output of a worker outside calls: packets of the side channel, and printed text.
///
/// The first byte selects a packet, or output in pieces of two streams. Of the output, only whole lines up to a limit
/// may be passed on.
struct SideTarget: FuzzTarget {
  static let name = "side"
  static let inputLimit = 512

  func run(_ input: UnsafeRawBufferPointer) -> Int {
    var reader = InputReader(input)
    let choice = reader.byte()
    let rest = reader.run(reader.remaining)
    return choice & 1 == 0 ? readPacket(rest) : capture(rest, limit: Int(choice) * 64)
  }

  private func readPacket(_ packet: UnsafeRawBufferPointer) -> Int {
    guard let message = SideMessage(packet) else { return 0 }
    let again = message.packet.withUnsafeBytes { SideMessage($0) }
    switch message {
    case .log(let severity, let text):
      let text = Array(text.prefix(SideMessage.limit - 2))
      require(again == .log(severity: severity, text), "another line is written")
    case .denial(let record):
      let record = Array(record.prefix(SideMessage.limit - 1))
      require(again == .denial(record), "another denial is written")
      guard let denial = record.withUnsafeBytes({ Denial($0) }) else { return 1 }
      require(denial.arguments.count == 3, "not three arguments")
      sink &+= UInt64(denial.description.utf8.count)
      return 2
    case .cancel, .notify: require(again == message, "another message is written")
    }
    return 1
  }

  /// The output that a capture passed on.
  private final class Passed: @unchecked Sendable {
    var lines: [WorkerOutput] = []
  }

  private func capture(_ input: UnsafeRawBufferPointer, limit: Int) -> Int {
    let passed = Passed()
    let capture = OutputCapture(provider: "fuzz", limit: limit) { passed.lines.append($0) }
    var reader = InputReader(input)
    while reader.remaining > 0 {
      let head = reader.byte()
      let count = Int(head >> 2)
      let bytes = reader.run(count)
      switch head & 3 {
      case 2: capture.tell(.logged, Array(bytes))
      case 3: capture.tell(.denied, Array(bytes))
      case let stream:
        // The longest pieces are repeated, to produce long lines.
        for _ in 0..<(count == 63 ? 40 : 1) { capture.take(bytes, stream: Int(stream)) }
      }
    }
    capture.finish()
    // The last line may report the number of dropped bytes.
    let told = passed.lines.reduce(0) { $0 + $1.text.count }
    require(told <= limit + 100, "more than the limit")
    for line in passed.lines {
      require(!line.text.contains(10) && !line.text.contains(13), "a line that is several")
    }
    return passed.lines.count
  }

  func seeds() -> [Seed] {
    let messages: [SideMessage] = [
      .cancel(7), .notify(3), .log(severity: 2, Array("a line".utf8)), .denial(Array("open".utf8)),
    ]
    let packets = messages.enumerated().map { number, message in
      Seed(name: "\(number)", bytes: [0] + message.packet, reaches: 1)
    }
    var printed: [UInt8] = [0x7F]
    for (stream, text) in [(0, "one\ntw"), (1, "other\r\n"), (0, "o\n"), (2, "log"), (1, "end")] {
      printed += [UInt8(text.utf8.count << 2 | stream)] + text.utf8
    }
    let paths = Array("/etc/shadow\0/tmp/a".utf8)
    var denied = tabella_denial()
    denied.call = 257
    denied.error = 13
    denied.path_size = UInt32(paths.count)
    let record = withUnsafeBytes(of: denied) { Array($0) } + paths
    let denial = Seed(name: "denied", bytes: [0] + SideMessage.denial(record).packet, reaches: 2)
    return packets + [
      denial, Seed(name: "printed", bytes: printed, reaches: 5),
    ]
  }
}
