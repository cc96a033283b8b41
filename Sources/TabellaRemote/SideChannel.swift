import Glibc
import Tabella

/// A message that is independent of calls and can be sent at any time. Each is one packet on a second socket.
package enum SideMessage: Hashable, Sendable {
  /// To the worker: stop the running call with this number soon.
  case cancel(UInt64)
  /// To the host: a source has changes to pull.
  case notify(Int)
  /// To the host: a provider wrote a line to the host's log.
  case log(severity: Int, [UInt8])
  /// To the host: the worker was denied an operation. `Denial` reads the record.
  case denial([UInt8])

  /// The bytes in front of the record of a denial in its packet.
  package static let denialPrefix = [UInt8(ascii: "d")]

  /// The maximum length of a packet. Longer lines are cut.
  static let limit = 4096

  var packet: [UInt8] {
    func number(_ value: UInt64) -> [UInt8] { withUnsafeBytes(of: value) { Array($0) } }
    return switch self {
    case .cancel(let call): [UInt8(ascii: "c")] + number(call)
    case .notify(let source): [UInt8(ascii: "n")] + number(UInt64(bitPattern: Int64(source)))
    case .log(let severity, let text):
      [UInt8(ascii: "l"), UInt8(clamping: severity)] + text.prefix(SideMessage.limit - 2)
    case .denial(let record): SideMessage.denialPrefix + record.prefix(SideMessage.limit - 1)
    }
  }

  /// Reads a packet; nil if it is invalid. Foreign code may have written it.
  init?(_ packet: UnsafeRawBufferPointer) {
    guard let kind = packet.first else { return nil }
    let rest = UnsafeRawBufferPointer(rebasing: packet.dropFirst())
    switch kind {
    case UInt8(ascii: "c") where rest.count == 8:
      self = .cancel(rest.loadUnaligned(as: UInt64.self))
    case UInt8(ascii: "n") where rest.count == 8:
      self = .notify(Int(truncatingIfNeeded: rest.loadUnaligned(as: UInt64.self)))
    case UInt8(ascii: "l") where rest.count >= 1:
      self = .log(severity: Int(rest[0]), Array(rest.dropFirst()))
    case UInt8(ascii: "d"): self = .denial(Array(rest))
    default: return nil
    }
  }

  /// Sends the message without waiting, from any thread. If the other end does not read, the message is lost.
  package func send(to socket: Int32) {
    packet.withUnsafeBytes { bytes in
      _ = Glibc.send(
        socket, bytes.baseAddress, bytes.count,
        Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
    }
  }

  /// The result of a receive.
  package enum Received {
    case message(SideMessage)
    /// An invalid packet.
    case rubbish
    /// No packet is available now.
    case nothing
    /// The other end is gone.
    case closed
  }

  /// Receives the next packet from a socket.
  package static func receive(from socket: Int32, waiting: Bool) -> Received {
    withUnsafeTemporaryAllocation(byteCount: limit, alignment: 8) { buffer in
      while true {
        let count = recv(
          socket, buffer.baseAddress, buffer.count, waiting ? 0 : Int32(MSG_DONTWAIT))
        if count < 0, errno == EINTR { continue }
        if count < 0, errno == EAGAIN { return .nothing }
        guard count > 0 else { return .closed }
        return SideMessage(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
          .map { .message($0) } ?? .rubbish
      }
    }
  }
}
