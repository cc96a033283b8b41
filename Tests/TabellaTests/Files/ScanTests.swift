import CTabellaScan
import Testing

@testable import Tabella
@testable import TabellaFiles
@testable import TabellaTestSupport

/// Each version of the scanning kernel that this machine supports, compared with naive scanning and cut at any byte.
/// Serialized, because a version is selected for the whole process.
@Suite(.serialized) struct ScanTests {
  static let versions = Array(0...tabella_scan_use(.max))

  /// Selects a version, and the best one again after the test.
  private func with(_ version: UInt32, _ body: () throws -> Void) rethrows {
    #expect(tabella_scan_use(version) == version)
    defer { _ = tabella_scan_use(.max) }
    try body()
  }

  /// The expected result for a whole text.
  private struct Expected {
    /// The offsets of all separators, and their number up to and including the end of each record.
    var separators: [UInt32] = []
    var records: [UInt32] = []

    init(_ text: [UInt8], _ rules: RecordRules) {
      let naive = naiveRecords(text, rules)
      for (number, record) in naive.enumerated() {
        separators += record.fields.dropLast().map { UInt32($0.upperBound) }
        guard record.end < text.count else { continue }
        let next = number + 1 < naive.count ? naive[number + 1].start : text.count
        separators.append(UInt32(next - 1))
        records.append(UInt32(separators.count))
      }
    }

    var ends: [UInt32] { records.map { separators[Int($0) - 1] } }
  }

  /// Calls `body` with a text and each set of rules, with a version selected.
  private func with(
    _ version: UInt32, _ seed: Int,
    _ body: ([UInt8], RecordRules, Expected, inout SeededGenerator) -> Void
  ) {
    var generator = SeededGenerator(seed: UInt64(seed))
    let length = Int.random(in: 0...2500, using: &generator)
    let text =
      seed.isMultiple(of: 2)
      ? RecordReaderTests.randomText(&generator, length)
      : RecordReaderTests.orderlyText(&generator, length)
    with(version) {
      for rules in RecordReaderTests.rules { body(text, rules, Expected(text, rules), &generator) }
    }
  }

  @Test(arguments: versions, 0..<60)
  func separatorsAreTheNaiveOnes(_ version: UInt32, _ seed: Int) {
    with(version, seed) { text, rules, expected, _ in
      let room = max(text.count, 512)
      var separators = [UInt32](repeating: 0, count: room)
      var records = separators
      var state = tabella_scan_start()
      let found = tabella_scan_separators(
        text, text.count, rules.scan, &state, &separators, &records, room)
      // With little room, it stops between groups and never exceeds the room.
      if found.scanned == text.count {
        #expect(Array(separators[..<found.separators]) == expected.separators)
        #expect(Array(records[..<found.records]) == expected.records)
      } else {
        #expect(room - found.separators < 512 && found.scanned.isMultiple(of: 512))
        #expect(expected.separators.starts(with: separators[..<found.separators]))
        #expect(expected.records.starts(with: records[..<found.records]))
      }
    }
  }

  @Test(arguments: versions, 0..<60)
  func endsAndCountsAreTheNaiveOnesHoweverCut(_ version: UInt32, _ seed: Int) {
    with(version, seed) { text, rules, expected, generator in
      var (counting, ending) = (tabella_scan_start(), tabella_scan_start())
      var (at, count, ends) = (0, 0, [UInt32]())
      while at < text.count {
        var next = min(text.count, at + Int.random(in: 1...1200, using: &generator))
        // A CR may be the first half of a CRLF.
        while next < text.count, text[next - 1] == 13 { next += 1 }
        let piece = Array(text[at..<next])
        var last = -1
        count += tabella_scan_count(piece, piece.count, rules.scan, &counting, &last)
        #expect(last < 0 || expected.ends[count - 1] == UInt32(at + last))
        var places = [UInt32](repeating: 0, count: max(piece.count, 512) + 512)
        let found = tabella_scan_ends(
          piece, piece.count, rules.scan, &ending, &places, places.count)
        #expect(found.scanned == piece.count)
        ends += places[..<found.records].map { $0 + UInt32(at) }
        at = next
      }
      #expect(count == expected.ends.count)
      #expect(ends == expected.ends)
      #expect(counting.inside == ending.inside && counting.strays == ending.strays)
    }
  }

  /// The standard library decides whether bytes are UTF-8, for every position of a character in a block.
  @Test(arguments: versions, 0..<60)
  func validUTF8IsTheStandardLibrarys(_ version: UInt32, _ seed: Int) {
    var generator = SeededGenerator(seed: UInt64(seed))
    let parts: [[UInt8]] = [
      [0x41], Array("é".utf8), Array("日".utf8), Array("🙂".utf8), [0x7F], [0], Array("\u{7FF}".utf8),
      Array("\u{800}".utf8), Array("\u{D7FF}".utf8), Array("\u{E000}".utf8), Array("\u{FFFF}".utf8),
      Array("\u{10000}".utf8), Array("\u{10FFFF}".utf8),
    ]
    let wrong: [[UInt8]] = [
      [0x80], [0xC0, 0x80], [0xC1, 0xBF], [0xC3], [0xC3, 0x41], [0xE0, 0x9F, 0xBF],
      [0xED, 0xA0, 0x80],
      [0xE2, 0x82], [0xE2, 0x82, 0x41], [0xF0, 0x8F, 0xBF, 0xBF], [0xF4, 0x90, 0x80, 0x80],
      [0xF5, 0x80, 0x80, 0x80], [0xF0, 0x9F, 0x99], [0xFF], [0xC3, 0xA9, 0xA9],
    ]
    with(version) {
      for _ in 0..<60 {
        let isASCII = generator.chance(3) == 0
        var text = (0..<generator.chance(700)).flatMap { _ in
          isASCII ? [0x41] : parts.randomElement(using: &generator)!
        }
        if generator.chance(2) == 0 {
          let bad = wrong.randomElement(using: &generator)!
          text.insert(contentsOf: bad, at: generator.chance(text.count + 1))
        }
        let expected = text.withUnsafeBytes { $0.isUTF8 }
        #expect((tabella_scan_is_utf8(text, text.count) != 0) == expected, "\(text)")
      }
    }
  }

  /// The scan tells how many line ends within quotes a record can have: never too few, and 0 if there are none.
  ///
  /// Counting them record by record made an export of records with many lines twice as slow.
  @Test(arguments: versions)
  func lineEndsWithinQuotesAreCounted(_ version: UInt32) {
    for seed in 0..<400 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      var text: [UInt8] = []
      var most = 0
      for _ in 0..<Int.random(in: 1...30, using: &generator) {
        let lines =
          seed % 3 == 0 ? 0 : generator.chance(40) == 0 ? generator.chance(90) : generator.chance(3)
        var cell = Array(repeating: UInt8(ascii: "\n"), count: lines)
        cell += Array(repeating: UInt8(ascii: "x"), count: generator.chance(90))
        cell.shuffle(using: &generator)
        text += Array("a,\"".utf8) + cell + Array("\"\n".utf8)
        most = max(most, lines)
      }
      var (separators, records) = (
        [UInt32](repeating: 0, count: text.count + 600),
        [UInt32](repeating: 0, count: text.count + 600)
      )
      with(version) {
        var state = tabella_scan_start()
        let rules = RecordRules(delimiter: 44, quote: 34, endsAtCarriageReturn: true)
        _ = tabella_scan_separators(
          text, text.count, rules.scan, &state, &separators, &records, separators.count)
        #expect(state.most_lines >= UInt64(most), "seed \(seed)")
        #expect((state.most_lines == 0) == (most == 0), "seed \(seed)")
      }
    }
  }

  /// The last block of a text overlaps the one in front of it, so each length and place counts.
  @Test(arguments: versions)
  func oneOfFourBytesIsFoundAnywhere(_ version: UInt32) {
    let wanted: [UInt8] = [44, 34, 10, 13]
    with(version) {
      for count in 0..<700 {
        var text = [UInt8](repeating: 120, count: count)
        #expect(tabella_scan_has(text, count, 44, 34, 10, 13) == 0, "\(count) bytes")
        for place in Set([0, 1, count / 3, count / 2, count - 65, count - 64, count - 1])
        where text.indices.contains(place) {
          text[place] = wanted[(count + place) % 4]
          #expect(tabella_scan_has(text, count, 44, 34, 10, 13) != 0, "\(place) of \(count) bytes")
          text[place] = 120
        }
      }
    }
  }

  /// Writing cells overwrites no more bytes after them than a column has room for.
  @Test func aColumnHasRoomForASlack() {
    #expect(ColumnBuilder.slack >= Int(TABELLA_SCAN_SLACK))
  }

  /// Quoting and unquoting cells, compared byte by byte.
  @Test(arguments: versions, 0..<60)
  func quotedCellsAreTheNaiveOnes(_ version: UInt32, _ seed: Int) {
    var generator = SeededGenerator(seed: UInt64(seed))
    let slack = Int(TABELLA_SCAN_SLACK)
    let quote = UInt8(ascii: "\"")
    with(version) {
      for _ in 0..<40 {
        let count = Int.random(
          in: 0...(Bool.random(using: &generator) ? 20 : 200), using: &generator)
        let quotes = Int.random(in: 0...8, using: &generator)
        let cell = (0..<count).map { _ -> UInt8 in
          Int.random(in: 0..<16, using: &generator) < quotes
            ? quote : Array("ab,\n\r".utf8)[Int.random(in: 0..<2 + quotes % 4, using: &generator)]
        }
        // The bytes after a cell must not matter.
        let padded = cell + [UInt8](repeating: quote, count: slack)
        var written = [UInt8](repeating: 0, count: 2 + 2 * count + slack)
        let length = tabella_scan_quote(padded, count, &written)
        let needsQuotes = cell.contains { [quote, 44, 10, 13].contains($0) }
        let wanted =
          needsQuotes ? [quote] + cell.flatMap { $0 == quote ? [$0, $0] : [$0] } + [quote] : cell
        #expect(Array(written[..<length]) == wanted)
        // The cell itself is also read as the text after an opening quote.
        for text in [Array(wanted.dropFirst()), cell] {
          let padded = text + [UInt8](repeating: quote, count: slack)
          var (read, place) = (-1, [UInt8](repeating: 0, count: text.count + slack))
          let length = tabella_scan_unquote(padded, text.count, quote, &place, &read)
          var (naive, at) = ([UInt8](), 0)
          while at < text.count {
            if text[at] == quote {
              at += 1
              guard at < text.count, text[at] == quote else { break }
            }
            naive.append(text[at])
            at += 1
          }
          #expect(Array(place[..<length]) == naive)
          #expect(read == at)
        }
      }
    }
  }

  @Test(arguments: versions, 0..<60)
  func joinedCellsAreTheNaiveOnes(_ version: UInt32, _ seed: Int) {
    var generator = SeededGenerator(seed: UInt64(seed))
    let (delimiter, quote, separator) = (UInt8(ascii: ";"), UInt8(ascii: "\""), UInt8(0x1F))
    with(version) {
      for _ in 0..<20 {
        var (record, joined) = ([UInt8](), [UInt8]())
        for number in 0..<Int.random(in: 1...12, using: &generator) {
          if number > 0 {
            record.append(delimiter)
            joined.append(separator)
          }
          let length = Int.random(in: 0...(seed % 3 == 0 ? 3 : 50), using: &generator)
          let cell = (0..<length).map { _ in
            Array("aaaaab;\"\n".utf8).randomElement(using: &generator)!
          }
          joined += cell
          let isPlain = !cell.contains { [delimiter, quote, 10].contains($0) }
          if isPlain, Bool.random(using: &generator) {
            record += cell
          } else {
            record += [quote] + cell.flatMap { $0 == quote ? [$0, $0] : [$0] } + [quote]
          }
        }
        let slack = Int(TABELLA_SCAN_SLACK)
        let padded = record + [UInt8](repeating: quote, count: slack)
        var place = [UInt8](repeating: 0, count: record.count + slack)
        let count = tabella_scan_join(padded, record.count, delimiter, quote, separator, &place)
        #expect(Array(place[..<count]) == joined)
      }
    }
  }

  /// One text and several ones, at the end of the bytes, too. The memory behind the bytes belongs to other texts.
  @Test(arguments: versions, 0..<60)
  func theFirstTextIsTheNaiveOne(_ version: UInt32, _ seed: Int) {
    var generator = SeededGenerator(seed: UInt64(seed))
    let text = RecordSearchTests.text(&generator, 700) + [UInt8(ascii: "x")]
    let folds = Bool.random(using: &generator)
    func folded(_ bytes: some Sequence<UInt8>) -> [UInt8] {
      bytes.map { folds ? NaturalOrder.folded($0) : $0 }
    }
    let wanted = (0..<[1, 2, 8, 20].randomElement(using: &generator)!).map { _ in
      let length = Int.random(in: 1...6, using: &generator)
      let part = text[Int.random(in: text.indices, using: &generator)...].prefix(length)
      // Most texts do not occur.
      let isOther = Int.random(in: 0..<3, using: &generator) > 0
      return folded(part) + (isOther ? [UInt8(ascii: "~")] : [])
    }
    let texts = wanted.map { bytes in
      let buffer = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: bytes.count)
      _ = buffer.initialize(from: bytes)
      let compared = [0, 1].map { _ in Int.random(in: bytes.indices, using: &generator) }.sorted()
      return tabella_scan_text(
        text: buffer.baseAddress!, count: bytes.count, first: compared[0], second: compared[1],
        folds: folds ? 1 : 0)
    }
    defer { for text in texts { text.text.deallocate() } }
    var prepared = texts.withUnsafeBufferPointer {
      tabella_scan_prepare($0.baseAddress!, $0.count)
    }
    with(version) {
      for _ in 0..<8 {
        let ends = [0, 1].map { _ in Int.random(in: 0...text.count, using: &generator) }.sorted()
        let cell = folded(text[ends[0]..<ends[1]])
        let naive = cell.indices.first { at in wanted.contains { cell[at...].starts(with: $0) } }
        let found = texts.withUnsafeBufferPointer { texts in
          prepared.texts = texts.baseAddress!
          return text.withUnsafeBufferPointer {
            tabella_scan_find_any($0.baseAddress! + ends[0], cell.count, &prepared)
          }
        }
        #expect(found == naive ?? cell.count)
      }
    }
  }
}
