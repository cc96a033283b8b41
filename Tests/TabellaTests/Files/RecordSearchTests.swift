import CTabellaScan
import Testing

@testable import Tabella
@testable import TabellaCSV
@testable import TabellaFiles
@testable import TabellaTestSupport

/// Searched records, compared with the decoded cells of all records, with windows and pages of a few bytes.
@Suite struct RecordSearchTests {
  /// Pieces of texts with everything that is special: quotes in all positions, line ends, characters whose upper and
  /// lower case have other bytes, and bytes that are no characters.
  static let pieces: [[UInt8]] =
    ["a", "b", "A", "ab", "Ab", ",", "\"", "\"\"", "\n", "\r\n", "\r", ",\"", "\",", "\"\n"]
    .map { Array($0.utf8) }
    + ["x", "5\" disk", "\"a\"b", "ß", "ẞ", "İ", "i", "K", "\u{212A}", "k", "ſ", "s", "é", "É"]
    .map { Array($0.utf8) } + [[0xFF], [0xC3], [0]]

  static func text(_ generator: inout SeededGenerator, _ pieces: Int) -> [UInt8] {
    (0..<Int.random(in: 0...pieces, using: &generator)).flatMap { _ in
      Self.pieces.randomElement(using: &generator)!
    }
  }

  static func terms(_ generator: inout SeededGenerator) -> [SearchTerm] {
    (0..<Int.random(in: 1...2, using: &generator)).map { _ in
      let ignoresCase = Bool.random(using: &generator)
      let texts = (0..<Int.random(in: 1...3, using: &generator)).map { _ -> [UInt8] in
        var text: [UInt8] = []
        while text.isEmpty { text = Self.text(&generator, 3) }
        return ignoresCase ? text.map { NaturalOrder.folded($0) } : text
      }
      return SearchTerm(texts, ignoresCase: ignoresCase)
    }
  }

  static func contains(_ term: SearchTerm, in cell: [UInt8]) -> Bool {
    let cell = term.ignoresCase ? cell.map { NaturalOrder.folded($0) } : cell
    return term.texts.contains { text in
      cell.count >= text.count
        && (0...cell.count - text.count).contains { cell[$0..<$0 + text.count].elementsEqual(text) }
    }
  }

  private static func sizes(_ generator: inout SeededGenerator) -> RecordReader.Sizes {
    var sizes = RecordReader.Sizes()
    sizes.first = Int.random(in: 2...64, using: &generator)
    sizes.next = Int.random(in: 2...64, using: &generator)
    sizes.ahead = Int.random(in: 2...128, using: &generator)
    sizes.copied = Int.random(in: 2...256, using: &generator)
    sizes.room = 512
    return sizes
  }

  /// A reader with the usual sizes.
  private static func reader(_ text: [UInt8], _ rules: RecordRules) -> RecordReader {
    let source = RecordReaderTests.Portions(text, portion: .max)
    return RecordReader(source, RecordIndex(source, from: 0, rules: rules), rules: rules)
  }

  /// The cells of each record, from a reader with the usual sizes.
  private static func records(_ text: [UInt8], _ rules: RecordRules, width: Int) throws
    -> [[[UInt8]]]
  {
    let reader = reader(text, rules)
    let cells = Cells(rules)
    var records: [[[UInt8]]] = []
    while let page = try reader.page(with: records.count) {
      for record in page.numbers {
        records.append(
          (0..<width).compactMap { column in
            cells.withCell(column, page, record, width: width) { $0.map { Array($0) } }
          })
      }
    }
    return records
  }

  @Test(arguments: 0..<120)
  func everyRecordWithTheTermsIsFound(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let text =
      seed.isMultiple(of: 3)
      ? RecordReaderTests.orderlyText(&generator, 1500) : Self.text(&generator, 300)
    for rules in RecordReaderTests.rules where rules.escape == nil {
      let records = try Self.records(text, rules, width: 3)
      let plain = Self.reader(text, rules)
      for isStream in [false, true] {
        var terms = Self.terms(&generator)
        // A text of line ends cannot be searched.
        while RecordFinder(terms, rules) == nil { terms = Self.terms(&generator) }
        let finder = try #require(RecordFinder(terms, rules))
        let source = RecordReaderTests.Portions(
          text, portion: Int.random(in: 1...200, using: &generator), isStream: isStream)
        let reader = RecordReader(
          source, RecordIndex(source, from: 0, rules: rules), rules: rules,
          sizes: Self.sizes(&generator))
        var found: [Int] = []
        var next = 0
        while true {
          let first = next
          let most = Int.random(in: 1...20, using: &generator)
          var taken = 0
          let limit = Bool.random(using: &generator) ? most : .max
          next = try reader.search(from: first, upTo: limit, finder, CancelFlag()) { page, run in
            let some = run.prefix(most - taken)
            #expect(limit == .max || some.count == run.count)
            taken += some.count
            for record in some {
              let number = page.textNumber(of: record)
              found.append(number)
              let cells = records[number]
              let shown = (0..<3).compactMap { column in
                Cells(rules).withCell(column, page, record, width: 3) { $0.map { Array($0) } }
              }
              #expect(shown == cells)
              checkCopy(page, record, number, in: plain, isLast: number == records.count - 1)
            }
            return some.count
          }
          try check(reader, found.suffix(2), records)
          if next == first { break }
        }
        #expect(next == records.count)
        #expect(zip(found, found.dropFirst()).allSatisfy { $0 < $1 })
        let all = Set(found)
        for (number, cells) in records.enumerated()
        where terms.allSatisfy({ term in cells.contains { Self.contains(term, in: $0) } }) {
          #expect(all.contains(number), "record \(number) of \(records.count), \(rules), \(terms)")
        }
      }
    }
  }

  /// A page that consists of copies says the same of a record as the page in which it is stored.
  private func checkCopy(
    _ page: RecordPage, _ record: Int, _ number: Int, in reader: RecordReader, isLast: Bool
  ) {
    guard let stored = try? reader.page(with: number) else {
      Issue.record("record \(number) cannot be read")
      return
    }
    #expect(page.offset(of: record) == stored.offset(of: number))
    #expect(page.bytes(of: record).elementsEqual(stored.bytes(of: number)))
    #expect(page.id(of: record) == stored.id(of: number))
    guard !isLast else {
      #expect(page.openEnd == stored.openEnd)
      return
    }
    // A page says whether any of its records has remarkable quotes. So the record becomes a page of its own.
    let text = Array(stored.bytes(of: number)) + [10]
    guard let alone = try? Self.reader(text, reader.rules).page(with: 0) else { return }
    #expect(page.hasLooseQuotes || !alone.hasLooseQuotes)
    #expect(page.hasStrayQuotes || !alone.hasStrayQuotes)
    #expect(page.mostQuotedLineEnds >= alone.mostQuotedLineEnds)
  }

  /// Reads records again. After a search that had moved the buffer, a reader returned the last page, which pointed into it.
  /// So an export showed parts of other records.
  private func check(
    _ reader: RecordReader, _ numbers: ArraySlice<Int>, _ records: [[[UInt8]]]
  ) throws {
    for number in numbers {
      let page = try #require(try reader.page(with: number))
      let shown = Cells(reader.rules).withCell(0, page, number, width: 3) { $0.map { Array($0) } }
      #expect(shown == records[number].first, "record \(number) of \(records.count)")
    }
  }

  /// A search that returned everything would satisfy the law above.
  @Test func otherRecordsAreSkipped() throws {
    var text: [UInt8] = []
    for number in 0..<100_000 {
      text += Array(
        "\(number),\"some, text\"\(number % 10_000 == 7 ? ",needle" : ",thread")\n".utf8)
    }
    let rules = RecordReaderTests.rules[0]
    let source = RecordReaderTests.Portions(text, portion: .max)
    let reader = RecordReader(source, RecordIndex(source, from: 0, rules: rules), rules: rules)
    let finder = try #require(RecordFinder([SearchTerm([Array("needle".utf8)])], rules))
    var found: [Int] = []
    // A call examines a part of a long text.
    var (next, calls) = (0, 0)
    while next < 100_000, calls < 10 {
      next = try reader.search(from: next, upTo: .max, finder, CancelFlag()) { page, run in
        found += run.map(page.textNumber)
        return run.count
      }
      calls += 1
    }
    #expect(found == (0..<10).map { $0 * 10_000 + 7 } && next == 100_000)
    #expect(reader.index.known == 100_000 && reader.index.isComplete)
  }
}
