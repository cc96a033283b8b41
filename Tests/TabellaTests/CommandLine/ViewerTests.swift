import Tabella
import Testing

@testable import TabellaCLI
@testable import TabellaTestSupport

/// The calls that show a table: in UIKit's order, only for shown data, with paired notices.
@Suite struct ViewerTests {
  /// A table with sections of these sizes.
  private static func table(_ sizes: [Int], elements: Bool = false) -> Recording {
    var parts: [String: [IndexPath: SupplementaryElement]] = [:]
    if elements {
      parts["header"] = [.section(0): .text("from a header")]
      parts["badge"] = [IndexPath(section: 0, row: 0): .text("new")]
    }
    return Recording(
      InMemorySource(
        [Column("number", .integer), Column("other")],
        sections: sizes.enumerated().map { number, size in
          (
            header: "section \(number)", footer: "end \(number)", indexTitle: nil,
            rows: (0..<size).map { [.integer(Int64(number * 100_000 + $0)), "x"] }
          )
        }, elements: parts))
  }

  /// A format that records everything it receives.
  private struct Notes: Format {
    final class Log { var rows: [Int64] = [], sections: [ShownSection] = [], badges = 0 }

    let log = Log()
    var needs: FormatNeeds
    var columnLimit: Int?
    /// The row at which the format fails.
    var failsAt = Int.max

    mutating func begin(_ table: ShownTable) {}
    mutating func write(_ rows: ShownRows) throws(Failure) {
      if let columnLimit { #expect(rows.batch.columns.count == columnLimit) }
      for row in 0..<rows.batch.rowCount { log.rows.append(rows.batch.columns[0].integer(row)) }
      log.badges += rows.badges?.count { $0 != nil } ?? 0
      if log.rows.count > failsAt { throw .usage("enough") }
    }
    mutating func endSection(_ section: ShownSection) { log.sections.append(section) }
  }

  private static func show(
    _ source: Recording, _ range: Range<Int> = 0..<Int.max, _ notes: Notes = Notes(needs: [])
  ) throws {
    var format: any Format = notes
    var viewer = Viewer(ShownTable(ShapedTable(source), hasHeader: true), range, Output())
    let failure = try viewer.show(in: &format)
    if let failure { throw failure }
  }

  /// Checks the order of the calls.
  private static func check(_ asked: [Recording.Asked], _ sizes: [Int], _ range: Range<Int>) {
    var counted: Set<Int> = []
    var titled: Set<Int> = []
    var closed: Set<Int> = []
    var onShow: (section: Int, rows: Range<Int>)?
    var read: [Int: Int] = [:]
    var advised: (section: Int, rows: Range<Int>)?
    func take(_ section: Int, _ rows: Range<Int>) {
      #expect(counted.contains(section), "rows of \(section) before their number")
      #expect(rows.upperBound <= sizes[section], "rows that are not there")
      read[section] = max(read[section] ?? 0, rows.upperBound)
    }
    #expect(asked.first == (range.isEmpty ? nil : .sections))
    for step in asked {
      switch step {
      case .sections: break
      case .count(let section): counted.insert(section)
      case .title(.header, let section):
        #expect(counted.contains(section) && titled.insert(section).inserted)
      case .title(.footer, let section):
        #expect(titled.contains(section) && closed.insert(section).inserted)
      case .rows(let section, let rows):
        take(section, rows.clamped(to: 0..<sizes[section]))
        if let (number, ahead) = advised, number == section, rows.lowerBound == ahead.lowerBound {
          advised = nil
        }
      case .gathered(let paths):
        for path in paths { take(path.section, path.row..<path.row + 1) }
        advised = nil
      case .element: break
      case .will(let section, let rows):
        #expect(onShow == nil && titled.contains(section) && !closed.contains(section))
        #expect(rows.upperBound <= read[section] ?? 0, "shown before they were read")
        onShow = (section, rows)
      case .did(let section, let rows):
        #expect(onShow.map { $0 == section && $1 == rows } == true)
        onShow = nil
      case .fetch(let section, let rows):
        #expect(counted.contains(section) && !rows.isEmpty && rows.upperBound <= sizes[section])
        advised = (section, rows)
      case .cancel(let section, let rows):
        #expect(advised.map { $0 == section && $1 == rows } == true)
        advised = nil
      }
    }
    #expect(onShow == nil && advised == nil)
    // The viewer touched nothing outside of the range.
    var position = 0
    for (section, size) in sizes.enumerated() {
      if position >= range.upperBound {
        #expect(!titled.contains(section) && read[section] == nil, "section \(section)")
      } else if position + size > range.upperBound, range.lowerBound < position + size {
        #expect(read[section] ?? 0 <= range.upperBound - position)
      }
      position += size
    }
  }

  /// The order is the same for all sizes, ranges, batch sizes and kinds of counts.
  @Test func theOrderOfUIKit() throws {
    var generator = SeededGenerator(seed: 4)
    for round in 0..<300 {
      let sizes = (0..<Int.random(in: 0...5, using: &generator)).map { _ in
        [0, 1, 3, 900, 1024, 1025, 3000].randomElement(using: &generator)!
      }
      let source = Self.table(sizes)
      source.gathers = Bool.random(using: &generator)
      source.countsAtLeast = Bool.random(using: &generator)
      source.hasPrefetching = Bool.random(using: &generator)
      if Bool.random(using: &generator) {
        source.batchLimit = Int.random(in: 1...700, using: &generator)
      }
      let all = sizes.enumerated().flatMap { number, size in
        (0..<size).map { Int64(number * 100_000 + $0) }
      }
      var range = 0..<Int.max
      if round % 3 > 0 {
        let lower = Int.random(in: 0...max(1, all.count), using: &generator)
        range = lower..<lower + Int.random(in: 0...1500, using: &generator)
      }
      let notes = Notes(needs: [])
      try Self.show(source, range, notes)
      #expect(notes.log.rows == Array(all.dropFirst(range.lowerBound).prefix(range.count)))
      Self.check(source.asked, sizes, range)
    }
  }

  /// The next rows are announced while the previous ones are shown, and only once.
  @Test func oneBatchIsPrefetched() throws {
    let source = Self.table([40_000])
    source.batchLimit = 10_000
    try Self.show(source)
    let fetched = source.asked.compactMap { step -> Range<Int>? in
      if case .fetch(_, let rows) = step { rows } else { nil }
    }
    let read = source.asked.compactMap { step -> Range<Int>? in
      if case .rows(_, let rows) = step { rows } else { nil }
    }
    #expect(fetched.count >= 2 && read.count == fetched.count + 1)
    #expect(zip(fetched, read.dropFirst()).allSatisfy { $0.lowerBound == $1.lowerBound })
  }

  /// The viewer announced all remaining rows after each batch. So a sorted folder of a million files took half a minute.
  @Test func announcementsAreAsLongAsBatches() throws {
    let source = Self.table([200_000])
    source.batchLimit = 1500
    try Self.show(source)
    let fetched = source.asked.compactMap { step -> Int? in
      if case .fetch(_, let rows) = step { rows.count } else { nil }
    }
    #expect(fetched.count > 100 && fetched.allSatisfy { $0 <= 1500 })
  }

  /// The viewer requested only as few rows as the source had returned, so a grouped file was read again for each batch.
  /// Now it requests the gathered rows until all are returned, and then many.
  @Test func whatWasGatheredIsTakenFirst() throws {
    let source = Self.table(Array(repeating: 50, count: 2000))
    source.gathers = true
    source.batchLimit = 3000
    var reader = TableReader(source: source, columns: [0, 1], cells: 80_000)
    var read = 0
    try reader.walk(
      0..<Int.max, section: { _, _ in }, rows: { batch, _, _ in read += batch.rowCount },
      end: { _, _ in })
    #expect(read == 100_000)
    let asked = source.gathered.map(\.count)
    var rest = 0
    for count in asked {
      #expect(rest == 0 ? count >= 1000 : count <= min(rest, 6000))
      rest = max(rest, count) - min(count, 3000)
    }
    #expect(asked.count { $0 > 6000 } == 3)
  }

  /// When threads could not share all rows, one thread read all that followed. Now they try again after some batches.
  @Test func threadsTryAgain() throws {
    let source = Self.table([1_000_000])
    source.batchLimit = 1000
    var reader = TableReader(source: source, columns: [0, 1])
    var (read, offered): (Int, [Int]) = (0, [])
    try reader.walk(
      0..<Int.max, section: { _, _ in }, rows: { batch, _, _ in read += batch.rowCount },
      rest: { path in
        offered.append(path.row)
        // Threads read a part, then nothing, then the rest.
        switch offered.count {
        case 1: return (10_000, false)
        case 2: return (0, false)
        default: return (1_000_000 - path.row, true)
        }
      }, end: { _, _ in })
    #expect(offered == [1000, 19_000, 83_000])
    #expect(read == 1000 + 8 * 1000 + 64 * 1000)
  }

  /// After every kind of end, all announcements and displays are ended.
  @Test func failuresLeaveNothingOpen() throws {
    for fault in [500, 2000] {
      let source = Self.table([1500, 3000])
      #expect(throws: Failure.self) {
        try Self.show(source, 0..<Int.max, Notes(needs: [], failsAt: fault))
      }
      Self.check(source.asked, [1500, 3000], 0..<Int.max)
      let refusing = Self.table([40_000])
      refusing.batchLimit = 1500
      refusing.onRows = { request throws(TableError) in
        if request.first > fault { throw TableError(.io, "no more") }
      }
      #expect(throws: Failure.self) { try Self.show(refusing) }
      Self.check(refusing.asked, [40_000], 0..<Int.max)
    }
  }

  /// The viewer requests elements and columns only if the format shows them.
  @Test func onlyWhatIsWished() throws {
    func elements(_ source: Recording) -> Int {
      source.asked.count { if case .element = $0 { true } else { false } }
    }
    let plain = Self.table([3], elements: true)
    try Self.show(plain)
    #expect(elements(plain) == 0)
    let rich = Self.table([3, 2], elements: true)
    let notes = Notes(needs: [.elements], columnLimit: 1)
    try Self.show(rich, 0..<4, notes)
    // Headers and footers are requested if the source has the kind, and badges for the shown rows.
    #expect(elements(rich) == 2 + 4)
    #expect(notes.log.badges == 1)
    #expect(rich.requests.allSatisfy { $0.columns == [0] })
    guard case .text(let header)? = notes.log.sections[0].headerElement else {
      Issue.record("no header element")
      return
    }
    #expect(header == "from a header")
  }
}

extension SupplementaryElement {
  /// Text without a style.
  fileprivate static func text(_ text: String) -> SupplementaryElement { .text(StyledText(text)) }
}

extension StyledText {
  fileprivate static func == (left: StyledText, right: String) -> Bool {
    left.bytes == Array(right.utf8)
  }
}
