import Tabella
import TabellaSystem

@testable import TabellaRemote

/// Sessions with an in-memory source, recorded between the host's end and the worker's.
enum SessionSeeds {
  static var all: [Seed] {
    recorded.map { Seed(name: $0.name, bytes: $0.records, reaches: $0.reaches) }
  }

  /// One seed for each kind of answer, complete or refused.
  static var answers: [Seed] {
    var seeds: [String: Seed] = [:]
    for session in recorded {
      session.records.withUnsafeBytes { bytes in
        for record in Record.all(in: bytes) where record.tag & SessionRecord.isAnswerOnly == 0 {
          guard let operation = record.operation, record.bytes.count > 8 else { continue }
          // If the answer depends on the request, one for each.
          let name = "\(operation)-\(record.argument)"
          var input: [UInt8] = []
          Record.append(record.tag, record.argument, Array(record.bytes), to: &input)
          seeds[name] = Seed(name: name, bytes: input, reaches: record.bytes[0] == 1 ? 1 : 0)
        }
      }
    }
    return seeds.values.sorted { $0.name < $1.name }
  }

  private static var recorded: [(name: String, records: [UInt8], reaches: Int)] {
    [
      record(
        "rows",
        [
          (.version, 0), (.numberOfRows, 0), (.rows, 0x30), (.rows, 0x70), (.rows, 0x5B),
          (.rows, 0x42), (.statistics, 0), (.load, 0), (.probe, 0),
        ]),
      record(
        "places",
        [
          (.numberOfSections, 6), (.title, 0), (.title, 3), (.sectionIndexTitles, 0),
          (.indexPathForTitle, 0), (.indexPathForID, 2), (.gather, 3), (.gather, 0x45),
        ]),
      record(
        "beside",
        [
          (.supplementaryKinds, 0), (.supplementaryElement, 1), (.supplementaryElement, 0x3C),
          (.location, 0), (.nextDiagnostic, 0), (.willDisplay, 4), (.didEndDisplaying, 4),
          (.prefetch, 4), (.cancelPrefetching, 4),
        ], reaching: 10),
      record(
        "may-edit",
        [
          (.editability, 4), (.editableColumns, 0), (.movability, 4), (.target, 0),
          (.canInsertSections, 0),
        ]),
      record("set", [(.commit, 0), (.undo, 0)]),
      record("delete", [(.commit, 1)]),
      record("insert", [(.commit, 2), (.undo, 1)]),
      record("move", [(.commit, 3)]),
      record("by-id", [(.commit, 0x14)]),
      record("many", [(.commit, 5)]),
      record("section", [(.commit, 6)]),
      record("dry", [(.commit, 0x0F)]),
      record("changes", [(.listen, 0), (.pull, 0), (.listen, 1), (.pull, 0), (.rows, 0x30)]),
      record("refused", [(.rows, 0x31), (.commit, 0x10), (.undo, 0)], reaching: 2, version: 1),
      record("dies", [(.commit, 0)], reaching: 0, diesIn: .commit),
    ]
  }

  /// Records a session. All steps must be answered, unless `reaching` has another number.
  private static func record(
    _ name: String, _ steps: [(Operation, UInt8)], reaching: Int? = nil, version: Int = 0,
    diesIn deadly: Operation? = nil
  ) -> (name: String, records: [UInt8], reaches: Int) {
    let worker = RecordedWorker(steps, diesIn: deadly) {
      let source = SeedSource()
      for _ in 0..<version { source.change() }
      return source
    }
    let reached = playSession(worker, steps: steps)
    require(
      reached == reaching ?? steps.count, "\(name): \(reached) of \(steps.count) were answered")
    return (name, worker.records, reached)
  }
}

/// A worker's server without a worker. It records its answers.
private final class RecordedWorker: Transport {
  private(set) var records: [UInt8] = []
  private let server: SourceServer
  private var steps: [(Operation, UInt8)]
  private let deadly: Operation?
  private var answers: [UInt64: (Operation, [UInt8])] = [:]

  init(
    _ steps: [(Operation, UInt8)], diesIn deadly: Operation?,
    _ open: @escaping () -> any TableDataSource
  ) {
    self.steps = [(.open, 0)] + steps
    self.deadly = deadly
    let handlers = SourceServer.Handlers(
      load: { _ throws(TableError) in
        LoadedProvider(
          contract: "0.9", id: "seed", version: "1",
          options: [
            OptionDeclaration("size", .integer, default: "4", choices: ["4", "8"], summary: "")
          ])
      }, open: { _ throws(TableError) in open() },
      statistics: { ResourceUse(heap: 1, descriptors: 2, threads: 3) },
      probe: { _ throws(TableError) in ProbeAnswer(.failed, "why") })
    // The server's own channel is not used.
    guard let arena = try? SharedMemory(size: 4096) else { fail("there is no memory for seeds") }
    server = SourceServer(
      socket: -1, side: -1, arena: arena, token: Token(1, 2), handlers: handlers)
  }

  func send(_ message: OutgoingMessage, number: UInt64) throws(TableError) {
    guard let operation = message.operation else { throw .closed }
    answers[number] = (operation, try server.answer(incoming(message.flat), number).flat)
  }

  func receive(
    _ expected: UInt64?, limit: Int, arrived: (UnsafeRawBufferPointer) -> Void
  ) throws(TableError) -> (number: UInt64, message: IncomingMessage) {
    guard let expected, let (operation, answer) = answers.removeValue(forKey: expected) else {
      throw .closed
    }
    if operation == .release { return (expected, incoming(answer)) }
    var tag = UInt8(operation.rawValue)
    var argument: UInt8 = 0
    if let step = steps.first, step.0 == operation {
      argument = step.1
      steps.removeFirst()
    } else {
      tag |= SessionRecord.isAnswerOnly
    }
    if operation == deadly {
      Record.append(tag | SessionRecord.isStepOnly, argument, [], to: &records)
      throw .closed
    }
    Record.append(tag, argument, answer, to: &records)
    return (expected, incoming(answer))
  }
}

/// A small table with every ability, every type and missing cells.
final class SeedSource: Relay {
  private let table = InMemorySource(
    [
      Column("name"), Column("count", .integer, unit: .bytes), Column("share", .real),
      Column("open", .boolean), Column("since", .date), Column("raw", .binary),
    ],
    sections: [
      (header: "First", footer: "4", indexTitle: "F", rows: (0..<4).map(SeedSource.row)),
      (header: nil, footer: nil, indexTitle: nil, rows: []),
    ],
    elements: [
      "badge": [
        IndexPath(section: 0, row: 1): .text(StyledText("3 new", spans: [.init(0..<1, .strong)]))
      ],
      "preview": [.section(0): .table(InMemorySource([Column("line")], rows: [["a"], ["b"]]))],
    ], locations: [IndexPath(section: 0, row: 0): Array("/etc/hosts".utf8)],
    diagnostics: [Diagnostic(.warning, "this is a seed")])

  /// The version before any edit.
  static let firstVersion = SeedSource().table.version()

  init() { super.init(table) }

  private static func row(_ row: Int) -> [Cell] {
    [
      row == 1 ? .missing : .text("é \(row)"), .integer(Int64(row)), .real(0.5),
      row == 2 ? .missing : .boolean(row & 1 == 0), .date(Timestamp(nanoseconds: 1)),
      .binary([UInt8(row), 0xFF]),
    ]
  }

  /// Makes an edit that no caller requested.
  func change() {
    _ = try? table.commit(
      EditBatch([.set(.path(IndexPath(section: 0, row: 0)), cells: [0: "other"])]))
  }

  override func listen(_ notify: (@Sendable () -> Void)?) {}

  override func pull() throws(TableError) -> ChangeBatch {
    try table.commit(
      EditBatch([
        .delete(.path(IndexPath(section: 0, row: 0))),
        .insert(at: IndexPath(section: 0, row: 1), cells: [0: "new"]),
      ])
    ).changes
  }
}
