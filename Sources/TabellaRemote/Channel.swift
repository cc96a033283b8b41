import Glibc
import Tabella

/// The secret in every packet of one worker, so that packets of other sessions are not accepted.
package struct Token: Hashable, Sendable {
  /// The two words of the token.
  package var words: (UInt64, UInt64)

  /// Creates a token.
  package init(_ first: UInt64, _ second: UInt64) { words = (first, second) }

  /// A random token.
  package static func random() -> Token {
    Token(.random(in: 1 ... .max), .random(in: 1 ... .max))
  }

  package static func == (left: Token, right: Token) -> Bool { left.words == right.words }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(words.0)
    hasher.combine(words.1)
  }
}

/// Transfers messages between two ends: ``Channel`` between processes, other types in tests.
protocol Transport: AnyObject {
  /// Sends a message. Throws ``TableError``.
  func send(_ message: OutgoingMessage, number: UInt64) throws(TableError)

  /// Receives the message with this number, or any message if `expected` is nil. Throws ``TableError``.
  ///
  /// A message has at most `limit` bytes. `arrived` may be called with the front of the message when the other end
  /// has sent all of it, before this end has copied it. The message with the next number may be sent then.
  func receive(
    _ expected: UInt64?, limit: Int, arrived: (UnsafeRawBufferPointer) -> Void
  ) throws(TableError) -> (number: UInt64, message: IncomingMessage)
}

/// Messages over a packet socket, in both directions.
///
/// A short message is in its packet. A long one is written to one half of the shared memory, in pieces. The
/// receiver copies the pieces out one after the other, and sends ``Kind/next`` after each piece except the last
/// one. Each packet contains the token, the number of its message, and the offset of the piece.
///
/// Only one message is in transit at a time, with one exception: the next request can be sent while the answer to
/// the previous one is copied. Its answer uses the other half of the memory.
final class Channel: Transport {
  /// The kind of a packet.
  private enum Kind: UInt64 {
    /// A whole message in the packet.
    case whole = 1
    /// A piece of a message, at the start of the message's half of the shared memory.
    case piece = 2
    /// The previous piece was copied, and the next one can be written.
    case next = 3
  }

  /// The fields of a packet, 8 bytes each.
  private struct Header {
    var token: Token
    var number: UInt64
    var kind: Kind
    /// The length of the whole message.
    var total: UInt64
    /// The offset of a piece in the message, and its length.
    var start: UInt64
    var count: UInt64

    static let size = 7 * 8
  }

  /// The maximum length of a message in one packet. Below it, a copy costs less than a second system call.
  static let packetLimit = 32 << 10
  /// The length of the front of a long message.
  static let frontSize = 4 << 10

  let socket: Int32
  private let arena: SharedMemory
  private let token: Token
  /// Called before each wait for a packet. It throws an error to report instead of waiting.
  private let wait: () throws(TableError) -> Void
  private let packet = UnsafeMutableRawBufferPointer.allocate(
    byteCount: packetLimit + Header.size, alignment: 8)

  init(
    socket: Int32, arena: SharedMemory, token: Token,
    wait: @escaping () throws(TableError) -> Void = {}
  ) {
    self.socket = socket
    self.arena = arena
    self.token = token
    self.wait = wait
  }

  deinit { packet.deallocate() }

  /// Sends a message.
  ///
  /// Throws ``TableError`` with `.misbehaved` if the other end sends an unexpected packet, and
  /// ``TableError/closed`` if it is gone.
  func send(_ message: OutgoingMessage, number: UInt64) throws(TableError) {
    let total = message.count
    if total <= Channel.packetLimit {
      try message.forEachPart { bytes, start throws(TableError) in
        let target = UnsafeMutableRawBufferPointer(rebasing: packet[(Header.size + start)...])
        if bytes.count > 0 { target.copyMemory(from: bytes) }
      }
      try send(
        Header(
          token: token, number: number, kind: .whole, total: UInt64(total), start: 0,
          count: UInt64(total)), length: total)
      return
    }
    var sent = 0
    var filled = 0
    func flush() throws(TableError) {
      try send(
        Header(
          token: token, number: number, kind: .piece, total: UInt64(total), start: UInt64(sent),
          count: UInt64(filled)), length: 0)
      sent += filled
      filled = 0
      if sent < total { try expectNext(number) }
    }
    try message.forEachPart { bytes, _ throws(TableError) in
      var rest = bytes
      while rest.count > 0 {
        let count = min(rest.count, arena.capacity - filled)
        try arena.write(
          UnsafeRawBufferPointer(rebasing: rest[..<count]),
          at: arena.start(ofMessage: number) + filled)
        filled += count
        rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        if filled == arena.capacity { try flush() }
      }
    }
    if filled > 0 { try flush() }
  }

  /// Receives the message with this number, or any message if `expected` is nil, with at most `limit` bytes.
  ///
  /// Memory grows with the bytes received, and not with the announced length.
  func receive(
    _ expected: UInt64?, limit: Int, arrived: (UnsafeRawBufferPointer) -> Void = { _ in }
  ) throws(TableError) -> (number: UInt64, message: IncomingMessage) {
    let first = try receivePacket()
    let number = first.number
    guard expected == nil || number == expected else {
      throw .malformed("it answers request \(number), not \(expected ?? 0)")
    }
    guard first.total <= UInt64(limit) else {
      throw TableError(
        .misbehaved,
        "sent a message of \(first.total) bytes; the limit is \(limit)")
    }
    if first.kind == .whole {
      let message = IncomingMessage(count: Int(first.total))
      message.storage.copyMemory(
        from: UnsafeRawBufferPointer(
          rebasing: packet[Header.size..<Header.size + Int(first.total)]))
      arrived(message.bytes)
      return (number, message)
    }
    let total = Int(first.total)
    let message = IncomingMessage(count: 0)
    var piece = first
    while true {
      guard piece.kind == .piece, piece.number == number, piece.total == first.total,
        piece.start == UInt64(message.count), piece.count > 0,
        piece.count <= UInt64(arena.capacity), piece.count <= UInt64(total - message.count)
      else { throw .malformed("a piece of it is at a wrong offset") }
      let place = arena.start(ofMessage: number) - message.count
      func copy(_ bytes: Range<Int>) throws(TableError) {
        try arena.read(
          UnsafeMutableRawBufferPointer(rebasing: message.storage[bytes]),
          at: place + bytes.lowerBound)
      }
      let start = message.count
      message.grow(to: start + Int(piece.count))
      if message.count == total {
        let front = max(start, min(total, Channel.frontSize))
        try copy(start..<front)
        arrived(UnsafeRawBufferPointer(rebasing: message.bytes[..<front]))
        try copy(front..<total)
        return (number, message)
      }
      try copy(start..<message.count)
      try send(
        Header(token: token, number: number, kind: .next, total: 0, start: 0, count: 0), length: 0)
      piece = try receivePacket()
    }
  }

  private func expectNext(_ number: UInt64) throws(TableError) {
    let answer = try receivePacket()
    guard answer.kind == .next, answer.number == number else {
      throw .malformed("a piece was not answered")
    }
  }

  /// Sends the header and the `length` bytes after it in ``packet``.
  private func send(_ header: Header, length: Int) throws(TableError) {
    let fields = [
      header.token.words.0, header.token.words.1, header.number, header.kind.rawValue,
      header.total, header.start, header.count,
    ]
    for (index, field) in fields.enumerated() {
      packet.storeBytes(of: field, toByteOffset: index * 8, as: UInt64.self)
    }
    while true {
      let sent = Glibc.send(
        socket, packet.baseAddress, Header.size + length, Int32(MSG_NOSIGNAL))
      if sent == Header.size + length { return }
      guard sent < 0, errno == EINTR else { throw .closed }
    }
  }

  /// Receives one packet. The bytes of a whole message are after the header in ``packet``.
  private func receivePacket() throws(TableError) -> Header {
    try wait()
    var count = 0
    repeat {
      count = recv(socket, packet.baseAddress, packet.count, Int32(MSG_TRUNC))
    } while count < 0 && errno == EINTR
    guard count > 0 else { throw .closed }
    guard count >= Header.size, count <= packet.count else {
      throw .malformed("a packet has \(count) bytes")
    }
    func field(_ index: Int) -> UInt64 { packet.load(fromByteOffset: index * 8, as: UInt64.self) }
    guard Token(field(0), field(1)) == token else { throw .malformed("it has a wrong token") }
    guard let kind = Kind(rawValue: field(3)) else {
      throw .malformed("a packet is of the kind \(field(3))")
    }
    let header = Header(
      token: token, number: field(2), kind: kind, total: field(4), start: field(5),
      count: field(6))
    guard header.start <= header.total,
      count - Header.size == (kind == .whole ? Int(clamping: header.total) : 0)
    else { throw .malformed("a packet's length is wrong") }
    return header
  }
}

extension TableError {
  /// The error for a closed connection. The supervisor of the other end knows the reason.
  package static let closed = TableError(.misbehaved, "the connection was closed")
}
