import CTabellaSystem
import Glibc
import Tabella
import TabellaConfinement
import TabellaSystem
import Testing

@testable import TabellaRemote
@testable import TabellaTestSupport

/// The messages between host and worker: every value arrives unchanged, and bad messages of a worker are just errors.
/// `make fuzz` does the same with random data and for longer.
@Suite struct RemoteTests {
  /// Writing and reading values of one type.
  struct RoundTrip: Sendable, CustomTestStringConvertible {
    var testDescription: String
    /// Draws a value. Returns its bytes.
    var write: @Sendable (inout SeededGenerator) -> [UInt8]
    /// Reads a value. Returns the bytes of writing it again.
    var rewrite: @Sendable ([UInt8]) throws(TableError) -> [UInt8]
    /// Draws a value, writes and reads it. Returns whether it stays the same.
    var isSame: @Sendable (inout SeededGenerator) throws -> Bool

    init<V: WireValue & Drawn & Equatable & SendableMetatype>(_ type: V.Type) {
      testDescription = "\(type)"
      write = { bytes(of: V.drawn(&$0)) }
      rewrite = { written throws(TableError) in bytes(of: try read(V.self, written)) }
      isSame = { generator in
        let value = V.drawn(&generator)
        return try read(V.self, bytes(of: value)) == value
      }
    }
  }

  static let roundTrips: [RoundTrip] = [
    RoundTrip(Int.self), RoundTrip(UInt64.self), RoundTrip(Bool.self), RoundTrip(String.self),
    RoundTrip(WireBytes.self), RoundTrip(String?.self), RoundTrip([Int].self),
    RoundTrip([String: String].self), RoundTrip([Int: Cell].self), RoundTrip([Bool]?.self),
    RoundTrip(ColumnType.self), RoundTrip(TableError.Code.self), RoundTrip(TitlePlace.self),
    RoundTrip(StyledText.Style.self), RoundTrip(Diagnostic.Severity.self),
    RoundTrip(OptionDeclaration.Kind.self), RoundTrip(TabellaRemote.Operation.self),
    RoundTrip(IndexPath.self), RoundTrip(Count.self), RoundTrip(Version?.self),
    RoundTrip([Column].self), RoundTrip(TableError.self), RoundTrip(OpenRequest.self),
    RoundTrip(OptionDeclaration.self), RoundTrip(RowRequest.self), RoundTrip(Diagnostic?.self),
    RoundTrip(StyledText.self), RoundTrip(StyledText.Span.self), RoundTrip(Cell.self),
    RoundTrip(RowReference.self), RoundTrip(EditBatch.self), RoundTrip(EditBatch.Edit.self),
    RoundTrip(EditResult.self), RoundTrip(EditResult.Outcome.self), RoundTrip(ChangeBatch.self),
    RoundTrip(ChangeBatch.Change.self), RoundTrip(LoadRequest.self),
    RoundTrip(LoadedProvider.self), RoundTrip(ResourceUse.self), RoundTrip(WorkerRules.self),
  ]

  @Test(arguments: roundTrips)
  func comesOutAsItWentIn(_ trip: RoundTrip) throws {
    var generator = SeededGenerator(seed: 1)
    for _ in 0..<200 {
      #expect(try trip.isSame(&generator))
      let written = trip.write(&generator)
      #expect(try trip.rewrite(written) == written)
    }
  }

  /// A truncated message is an error at every length, and so is a longer one.
  @Test(arguments: roundTrips)
  func aPartIsNoValue(_ trip: RoundTrip) throws {
    var generator = SeededGenerator(seed: 2)
    for _ in 0..<(takesAllRoads ? 20 : 5) {
      let written = trip.write(&generator)
      for count in 0..<written.count {
        #expect(throws: TableError.self) { try trip.rewrite(Array(written[..<count])) }
      }
      #expect(throws: TableError.self) { try trip.rewrite(written + [0]) }
    }
  }

  /// A message with any numbers is read or refused.
  @Test(arguments: roundTrips)
  func anyNumbersAreReadOrRefused(_ trip: RoundTrip) throws {
    var generator = SeededGenerator(seed: 3)
    for _ in 0..<500 {
      var written = trip.write(&generator)
      guard written.count >= 8 else { continue }
      let at = 8 * generator.chance(written.count / 8)
      withUnsafeBytes(of: Int.drawn(&generator)) {
        written.replaceSubrange(at..<at + 8, with: $0)
      }
      _ = try? trip.rewrite(written)
    }
  }

  /// Descriptions have no equality, so the test compares their written form.
  @Test func descriptionsComeOutAsTheyWentIn() throws {
    for source in [Tables.everything(), Tables.plain(), Tables.empty()] {
      let written = bytes(of: SourceDescription(source, number: 7))
      let came = try read(SourceDescription.self, written)
      #expect(bytes(of: came) == written)
      #expect(came.number == 7 && came.columns == source.columns)
      #expect((came.abilities.contains(.sections)) == (source.sections != nil))
      for element in [WireElement.table(came), .text(StyledText("a"))] {
        let written = bytes(of: element)
        #expect(bytes(of: try read(WireElement.self, written)) == written)
      }
    }
  }

  // Batches

  /// Rows of any range of a batch arrive unchanged, at every bit offset.
  @Test(arguments: [0..<70, 1..<2, 3..<3, 5..<70, 8..<16, 13..<61])
  func batchesComeOutAsTheyWentIn(_ rows: Range<Int>) throws {
    let source = Tables.everything()
    let request = RowRequest(
      first: 0, count: 100, columns: Array(source.columns.indices), includesIDs: true)
    let batch = try source.rows(request)[rows]
    let message = message(of: outgoing(batch, behind: Array(repeating: 0xAA, count: 8)))
    var reader = WireReader(message.bytes, at: 8)
    let came = try incomingBatch(&reader, in: message)
    try reader.end()
    try came.validate(answering: request, of: source.columns)
    #expect(came.rowCount == rows.count && came.isUTF8 == batch.isUTF8)
    for row in 0..<came.rowCount {
      #expect(came.row(row) == batch.row(row) && came.id(row) == batch.id(row))
    }
  }

  /// For all numbers in its head, a batch is refused, or it is valid and readable to its end.
  @Test func batchesWithAnyNumbersAreReadOrRefused() throws {
    let source = Tables.everything()
    let request = RowRequest(
      first: 0, count: 20, columns: Array(source.columns.indices), includesIDs: true)
    let written = flat(outgoing(try source.rows(request), behind: []))
    var accepted = 0
    for at in stride(from: 0, to: min(written.count, 400), by: 8) {
      for number in [0, 1, 2, -1, 20, 21, 160, Int(Int32.max), Int(Int32.max) + 1, .max, .min] {
        var changed = written
        withUnsafeBytes(of: number) { changed.replaceSubrange(at..<at + 8, with: $0) }
        let message = message(of: changed)
        var reader = WireReader(message.bytes)
        guard let batch = try? incomingBatch(&reader, in: message),
          (try? batch.validate(answering: request, of: source.columns)) != nil
        else { continue }
        accepted += 1
        for row in 0..<batch.rowCount { _ = (batch.row(row), batch.id(row)) }
      }
    }
    #expect(accepted > 0)
  }

  // The channel

  /// A channel and its other end, on which a test writes packets manually.
  final class Ends {
    let token = Token(1, 2)
    let channel: Channel
    let arena: SharedMemory
    let peer: Int32

    init(arena size: Int = 8192) throws {
      var ends: [Int32] = [-1, -1]
      try #require(tabella_system_make_sockets(&ends) == 0)
      peer = ends[1]
      arena = try SharedMemory(size: size)
      channel = Channel(socket: ends[0], arena: arena, token: token)
    }

    func send(_ kind: UInt64, _ total: UInt64, _ start: UInt64, _ count: UInt64) {
      let fields = [token.words.0, token.words.1, 7, kind, total, start, count]
      _ = fields.withUnsafeBytes { Glibc.send(peer, $0.baseAddress, $0.count, 0) }
    }

    deinit {
      close(peer)
      close(channel.socket)
    }
  }

  @Test func piecesMakeAMessage() throws {
    let ends = try Ends()
    for start: UInt64 in [0, 10, 20] { ends.send(2, 30, start, 10) }
    #expect(try ends.channel.receive(7, limit: 100).message.count == 30)
  }

  /// The next answer is written while a long one is still being copied. Each has its half of the arena.
  @Test func twoAnswersDoNotMeet() throws {
    let ends = try Ends(arena: 200_000)
    let peer = Channel(socket: ends.peer, arena: ends.arena, token: ends.token)
    let long = (0..<3).map { number in
      (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* (2 * number + 3)) }
    }
    try peer.send(OutgoingMessage(long[0]), number: 1)
    for number in 1...3 {
      var fronts = 0
      let message = try ends.channel.receive(UInt64(number), limit: .max) { front in
        fronts += 1
        #expect(front.elementsEqual(long[number - 1].prefix(front.count)) && front.count < 10_000)
        if number < 3 {
          do throws(TableError) {
            try peer.send(OutgoingMessage(long[number]), number: UInt64(number + 1))
          } catch { Issue.record("\(error)") }
        }
      }.message
      #expect(message.bytes.elementsEqual(long[number - 1]) && fronts == 1)
    }
  }

  /// The last piece has a wrong offset, length or total length. A value one above the largest number ended the host;
  /// `make fuzz` found that.
  @Test(
    arguments: [
      [[30, 0, 10], [1 << 63, 10, 10]], [[30, 0, 10], [.max, 1 << 63, 10]],
      [[30, 0, 10], [30, 10, .max]], [[30, 0, 10], [30, 10, 1 << 63]], [[1 << 63, 0, 10]],
      [[30, 0, 10], [30, 20, 10]], [[30, 0, 10], [30, 10, 21]], [[30, 0, 10], [31, 10, 10]],
      [[30, 0, 31]], [[30, 0, 0]], [[5000, 0, 4097]], [[20000, 0, 10]],
    ] as [[[UInt64]]])
  func piecesOutOfPlaceAreRefused(_ pieces: [[UInt64]]) throws {
    let ends = try Ends()
    for piece in pieces { ends.send(2, piece[0], piece[1], piece[2]) }
    do throws(TableError) {
      let (_, message) = try ends.channel.receive(7, limit: 10000)
      Issue.record("a message of \(message.count) bytes came")
    } catch { #expect(error.code == .misbehaved && error != .closed) }
  }

  // Messages outside of calls

  @Test func sideMessagesComeOutAsTheyWentIn() {
    let messages: [SideMessage] = [
      .cancel(0), .cancel(.max), .notify(7), .notify(-1), .log(severity: 3, []),
      .log(severity: 255, Array("a line".utf8)), .denial(Array("open".utf8)), .denial([]),
    ]
    for message in messages {
      #expect(message.packet.withUnsafeBytes { SideMessage($0) } == message)
    }
    for packet: [UInt8] in [[], [0], Array("c1234567".utf8), Array("n123456789".utf8), [0x6C]] {
      #expect(packet.withUnsafeBytes { SideMessage($0) } == nil)
    }
  }
}

private func bytes(of value: some WireValue) -> [UInt8] {
  var writer = WireWriter()
  writer.put(value)
  return writer.bytes
}

/// Reads a value that is the only one in a message.
private func read<V: WireValue>(_: V.Type, _ written: [UInt8]) throws(TableError) -> V {
  let message = message(of: written)
  var reader = WireReader(message.bytes)
  let value = try reader.get(V.self)
  try reader.end()
  return value
}

private func message(of bytes: [UInt8]) -> IncomingMessage {
  let message = IncomingMessage(count: bytes.count)
  message.storage.copyBytes(from: bytes)
  return message
}

private func message(of outgoing: OutgoingMessage) -> IncomingMessage {
  message(of: flat(outgoing))
}

private func flat(_ outgoing: OutgoingMessage) -> [UInt8] {
  var all: [UInt8] = []
  try? outgoing.forEachPart { bytes, _ throws(TableError) in all += bytes }
  return all
}
