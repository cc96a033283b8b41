import Glibc
import Tabella

/// What crosses beside the calls, at any time: each a packet of its own on a second socket.
public enum SideMessage: Hashable, Sendable {
  /// To the worker: the running call with this number is to stop soon.
  case cancel(UInt64)
  /// To the host: a source has something to pull.
  case notify(Int)
  /// To the host: a provider wrote a line to the host's log.
  case log(severity: Int, [UInt8])
  /// To the host: the worker was denied something; a record that `Denial` reads.
  case denial([UInt8])

  /// What stands before the record of a denial in its packet.
  public static let denialPrefix = [UInt8(ascii: "d")]

  /// What a packet holds at most; a longer line is cut.
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

  /// Nil for a packet that is none of these: whatever wrote it has no say here.
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

  /// Sends it without waiting: where the other end does not read, it is lost. From any thread.
  public func send(to socket: Int32) {
    packet.withUnsafeBytes { bytes in
      _ = Glibc.send(
        socket, bytes.baseAddress, bytes.count,
        Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
    }
  }

  /// What was received.
  public enum Received {
    case message(SideMessage)
    /// A packet that makes no sense.
    case rubbish
    /// Nothing is there now.
    case nothing
    /// The other end is gone.
    case closed
  }

  /// Takes the next packet from a socket.
  public static func receive(from socket: Int32, waiting: Bool) -> Received {
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
