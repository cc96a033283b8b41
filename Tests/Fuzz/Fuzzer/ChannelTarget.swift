import CTabellaSystem
import Glibc
import Tabella

@testable import TabellaRemote

/// Fuzzes the channel with packets and arena contents from the other end.
///
/// An input has a head of 2 bytes, which select the operation, and records. A record is a packet with or without the
/// right token, or bytes for the arena. An accepted message must equal the naive reading of the packets. A sent message
/// must arrive unchanged.
final class ChannelTarget: FuzzTarget {
  static let name = "channel"
  static let inputLimit = 8192
  static let shape = InputShape.records
  static let token = Token(0x0123_4567_89AB_CDEF, 0x0FED_CBA9_8765_4321)
  static let number: UInt64 = 7
  static var words: [[UInt8]] { [bytes(of: token.words.0) + bytes(of: token.words.1)] }

  /// The kind of a record, by its tag.
  enum Tag {
    /// A packet with the right token in front; otherwise a raw packet.
    static let hasToken: UInt8 = 1
    /// Bytes for the arena instead of a packet.
    static let isArena: UInt8 = 2
  }

  private static let limits = [64, 4096, 1 << 20, Int.max]
  /// The lengths of messages to send. The last ones use the arena.
  private static let lengths = [
    0, 9, 4096, Channel.packetLimit, Channel.packetLimit + 1, 36864, 37000,
  ]
  private let longest = incoming((0..<37000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
  private let peer: Int32
  private let arena: SharedMemory
  private var channel: Channel!
  private var records: ArraySlice<Record> = []
  private var isSending = false
  /// The content of the arena, and the packets so far.
  private var held = [UInt8](repeating: 0, count: 4096)
  private var came: [(packet: [UInt8], arena: [UInt8])] = []
  private var sent: [(packet: [UInt8], arena: [UInt8])] = []
  private let packet = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 8)

  init() {
    var ends: [Int32] = [-1, -1]
    guard tabella_system_make_sockets(&ends) == 0,
      let arena = try? SharedMemory(size: 2 * held.count)
    else {
      fail("there are no sockets")
    }
    peer = ends[1]
    self.arena = arena
    channel = Channel(socket: ends[0], arena: arena, token: ChannelTarget.token) {
      [unowned self] () throws(TableError) in try deliver()
    }
  }

  func run(_ input: UnsafeRawBufferPointer) -> Int {
    var reader = InputReader(input)
    let (mode, size) = (reader.byte(), reader.byte())
    records = Record.all(in: reader.run(reader.remaining))[...]
    came = []
    sent = []
    isSending = mode & 1 == 1
    let lengths = ChannelTarget.lengths
    let isAccepted = mode & 1 == 0 ? receive(mode) : send(lengths[Int(size) % lengths.count])
    takeSent()
    return isAccepted ? 1 + came.count : 0
  }

  // The other end

  /// Sends the packet of the next record, after the arena contents of the records in front of it.
  private func deliver() throws(TableError) {
    takeSent()
    while let record = records.popFirst() {
      if record.tag & Tag.isArena != 0 {
        let place = Int(record.argument) * 16
        let bytes = UnsafeRawBufferPointer(
          rebasing: record.bytes.prefix(held.count - place))
        held.replaceSubrange(place..<place + bytes.count, with: bytes)
        pwrite(arena.descriptor, bytes.baseAddress, bytes.count, off_t(place))
        continue
      }
      let token = ChannelTarget.words[0]
      let packet = (record.tag & Tag.hasToken != 0 ? token : []) + record.bytes
      came.append((packet, held))
      let count = Glibc.send(peer, packet, packet.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL))
      require(count == packet.count, "a packet could not be sent")
      return
    }
    throw .closed
  }

  /// Receives the packets of the channel, with the content of the arena at that time.
  private func takeSent() {
    while true {
      let count = recv(peer, packet.baseAddress, packet.count, Int32(MSG_DONTWAIT))
      guard count > 0 else { return }
      if isSending { pread(arena.descriptor, &held, held.count, 0) }
      sent.append((Array(packet[..<count]), held))
    }
  }

  // Results

  private func receive(_ mode: UInt8) -> Bool {
    let expected = mode & 2 == 0 ? ChannelTarget.number : nil
    let limit = ChannelTarget.limits[Int(mode >> 2 & 3)]
    guard let (number, message) = try? channel.receive(expected, limit: limit) else {
      return false
    }
    require(expected == nil || number == expected, "another message than was asked for")
    require(message.count <= limit, "more than the limit")
    require(message.storage.count <= max(2 * message.count, 1), "more memory than came")
    require(isSame(naive(came), message.bytes), "another message than was sent")
    return true
  }

  private func send(_ size: Int) -> Bool {
    let whole = UnsafeRawBufferPointer(rebasing: longest.bytes[..<size])
    var message = OutgoingMessage(Array(whole.prefix(size / 3 & ~7)))
    message.runs = [UnsafeRawBufferPointer(rebasing: whole[message.head.count...])]
    guard (try? channel.send(message, number: ChannelTarget.number)) != nil else { return false }
    takeSent()
    require(isSame(naive(sent), whole), "another message than was to be sent")
    return true
  }

  private func isSame(_ left: [UInt8], _ right: UnsafeRawBufferPointer) -> Bool {
    guard left.count == right.count, let start = right.baseAddress else { return left.isEmpty }
    return memcmp(left, start, left.count) == 0
  }

  /// The message that the packets contain.
  private func naive(_ packets: [(packet: [UInt8], arena: [UInt8])]) -> [UInt8] {
    var message: [UInt8] = []
    for (packet, arena) in packets {
      let fields = packet.withUnsafeBytes { bytes in
        (0..<7).map { bytes.loadUnaligned(fromByteOffset: $0 * 8, as: UInt64.self) }
      }
      require(Token(fields[0], fields[1]) == ChannelTarget.token, "a wrong token")
      if fields[3] == 1 { return Array(packet[56...]) }
      require(
        fields[3] == 2 && fields[5] == message.count && fields[6] <= arena.count
          && fields[4] >= fields[5] + fields[6], "a piece that is none")
      message += arena[..<Int(fields[6])]
    }
    return message
  }
}

extension ChannelTarget {
  func seeds() -> [Seed] {
    let text = Array("a message".utf8)
    let number = ChannelTarget.number
    let whole = Packet(number, 1, 9, 0, 9).record(behind: text)
    let pieces: [[UInt8]] = [0, 4096, 8192].flatMap { start in
      [
        arenaRecord(Array(repeating: UInt8(start >> 12), count: 16)),
        Packet(number, 2, 9000, UInt64(start), start < 8192 ? 4096 : 808).record(),
      ]
    }
    let small = [0, 10, 20].map { Packet(number, 2, 30, $0, 10).record() }
    let next = (0..<10).map { _ in Packet(number, 3, 0, 0, 0).record() }
    return [
      Seed(name: "whole", bytes: [0x04, 0] + whole, reaches: 2),
      Seed(name: "any", bytes: [0x0E, 0] + whole, reaches: 2),
      Seed(name: "empty", bytes: [0x00, 0] + Packet(number, 1, 0, 0, 0).record(), reaches: 2),
      Seed(name: "pieces", bytes: [0x08, 0] + pieces.flatMap { $0 }, reaches: 4),
      Seed(name: "small", bytes: [0x00, 0] + small.flatMap { $0 }, reaches: 4),
      Seed(name: "too-large", bytes: [0x04, 0] + pieces.flatMap { $0 }, reaches: 0),
      Seed(name: "short", bytes: [1, 2], reaches: 1),
      Seed(name: "longer", bytes: [1, 5] + next.flatMap { $0 }, reaches: 9),
      Seed(name: "longest", bytes: [1, 6] + next.flatMap { $0 }, reaches: 10),
    ]
  }

  private func arenaRecord(_ bytes: [UInt8]) -> [UInt8] {
    var record: [UInt8] = []
    Record.append(Tag.isArena, 0, bytes, to: &record)
    return record
  }
}

/// The fields of a packet after the token.
private struct Packet {
  var fields: [UInt64]

  init(_ number: UInt64, _ kind: UInt64, _ total: UInt64, _ start: UInt64, _ count: UInt64) {
    fields = [number, kind, total, start, count]
  }

  func record(behind text: [UInt8] = []) -> [UInt8] {
    var record: [UInt8] = []
    Record.append(
      ChannelTarget.Tag.hasToken, 0, fields.flatMap { bytes(of: $0) } + text, to: &record)
    return record
  }
}
