import CTabellaScan
import Tabella

/// Finds the records of a text that may contain the terms of a search, before records are divided into cells.
///
/// The finder searches the stored bytes. The text of a cell is stored unchanged, except that quotes are doubled or
/// removed. So the finder searches the longest piece of each text without quotes and line ends. A cell that continues
/// after its closing quote is rare, and could hide a text: then all records of the page count as found.
package final class RecordFinder {
  /// The least gap between two found records that divides them, in records. Shorter gaps are returned with them.
  private static let gap = 4
  /// The number of records from which a run probably continues.
  private static let longRun = 64
  /// The terms. A record must contain all of them. The first one is the rarest.
  private var terms: [Term]
  /// Whether the terms were compared in a part of the text.
  private var isOrdered = false

  /// Creates a finder. Returns nil if the rules have an escape, which changes the stored text, or if no term can be
  /// searched.
  package init?(_ terms: [SearchTerm], _ rules: RecordRules) {
    guard rules.escape == nil else { return nil }
    let terms = terms.compactMap { Term($0, quote: rules.quote) }
    guard !terms.isEmpty else { return nil }
    self.terms = terms.sorted { $0.worth > $1.worth }
  }

  /// Orders the terms by the number of their occurrences in a page.
  private func order(by page: RecordPage) {
    if isOrdered || terms.count == 1 { return }
    isOrdered = true
    let bytes = page.textBytes(from: page.start(of: page.numbers.lowerBound))
    let counts = terms.map { $0.count(in: bytes) }
    terms = terms.indices.sorted { counts[$0] < counts[$1] }.map { terms[$0] }
  }

  /// The offset of the first text of the first term; the number of bytes if it does not occur.
  func first(in bytes: UnsafeRawBufferPointer) -> Int { terms[0].first(in: bytes) }

  /// The runs of records of a page, from the record `first` on, that may contain all terms.
  func runs(in page: RecordPage, from first: Int) -> [Range<Int>] {
    guard !page.hasLooseQuotes else { return [first..<page.numbers.upperBound] }
    order(by: page)
    var runs: [Range<Int>] = []
    var run: Range<Int>?
    var next = first
    let hits = terms[0].hits()
    while next < page.numbers.upperBound {
      let start = page.start(of: next)
      let rest = page.textBytes(from: start)
      guard let hit = hits.next(in: rest, at: start) else { break }
      let record = page.number(ofRecordAt: hit, from: next)
      next = record + 1
      guard isFound(in: page, record) else { continue }
      if let open = run, record - open.upperBound > RecordFinder.gap {
        runs.append(open)
        run = record..<next
      } else {
        let start = run?.lowerBound ?? record
        // If most records are found, looking for each of them would cost more than testing all.
        if next - start >= RecordFinder.longRun {
          next = min(next + (next - start) / 2, page.numbers.upperBound)
        }
        run = start..<next
      }
    }
    if let run { runs.append(run) }
    // A quote that is never closed is reported with its record.
    let last = page.numbers.upperBound - 1
    if page.openEnd == .quote, run?.contains(last) != true { runs.append(last..<last + 1) }
    return runs
  }

  /// Whether a record contains all terms except the first one.
  private func isFound(in page: RecordPage, _ record: Int) -> Bool {
    terms.count == 1
      || terms.dropFirst().allSatisfy { $0.isFound(in: page.bytes(of: record)) }
  }

  /// At least one of several texts.
  private final class Term {
    let texts: [Text]

    /// Returns nil if one of the texts cannot be searched.
    init?(_ term: SearchTerm, quote: UInt8?) {
      texts = term.texts.compactMap { Text($0, folds: term.ignoresCase, quote: quote) }
      guard texts.count == term.texts.count else { return nil }
    }

    /// Long texts are rare, and a few texts are found fast.
    var worth: Int { (texts.map(\.count).min() ?? 0) * 4 - texts.count }

    func first(in bytes: UnsafeRawBufferPointer) -> Int {
      var end = bytes.count
      for text in texts {
        // A text that begins in front of the first one so far can end behind it.
        let most = min(bytes.count, end + text.count - 1)
        let found = text.first(in: UnsafeRawBufferPointer(rebasing: bytes[..<most]))
        if found < most { end = min(end, found) }
      }
      return end
    }

    /// The number of occurrences, without overlaps of a text with itself.
    func count(in bytes: UnsafeRawBufferPointer) -> Int {
      texts.reduce(0) { sum, text in
        var (count, at) = (0, 0)
        while at < bytes.count {
          let found = text.first(in: UnsafeRawBufferPointer(rebasing: bytes[at...]))
          at += found
          if at < bytes.count { count += 1 }
          at += text.count
        }
        return sum + count
      }
    }

    func isFound(in bytes: UnsafeRawBufferPointer) -> Bool {
      texts.contains { $0.first(in: bytes) < bytes.count }
    }

    func hits() -> Hits { Hits(texts) }
  }

  /// Finds the texts of a term one after the other, in one pass for each text.
  private final class Hits {
    private let texts: [Text]
    /// The next occurrence of each text, as an offset in the page.
    private var known: [Int?]

    init(_ texts: [Text]) {
      self.texts = texts
      known = Array(repeating: nil, count: texts.count)
    }

    /// The offset in the page of the next occurrence in `bytes`, which begin at `start` and end with the page; nil if
    /// there is none. `start` ascends.
    func next(in bytes: UnsafeRawBufferPointer, at start: Int) -> Int? {
      var nearest = Int.max
      for index in texts.indices {
        if known[index].map({ $0 < start }) ?? true {
          let found = texts[index].first(in: bytes)
          known[index] = found < bytes.count ? start + found : .max
        }
        nearest = min(nearest, known[index] ?? .max)
      }
      return nearest == .max ? nil : nearest
    }
  }

  /// A text in the form of the scanning kernel.
  private final class Text {
    private let bytes: UnsafeMutablePointer<UInt8>
    private let text: tabella_scan_text

    var count: Int { text.count }

    /// Returns nil for a text of line ends, because some of them are not part of a record.
    init?(_ whole: [UInt8], folds: Bool, quote: UInt8?) {
      guard let text = Text.storedPiece(of: whole, quote) else { return nil }
      bytes = .allocate(capacity: text.count)
      bytes.initialize(from: text, count: text.count)
      let (first, second) = Text.rarest(text)
      self.text = tabella_scan_text(
        text: bytes, count: text.count, first: first, second: second, folds: folds ? 1 : 0)
    }

    deinit { bytes.deallocate() }

    func first(in bytes: UnsafeRawBufferPointer) -> Int {
      guard let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return 0 }
      return tabella_scan_find(base, bytes.count, text)
    }

    /// The longest piece without quotes and line ends, or one quote.
    private static func storedPiece(of text: [UInt8], _ quote: UInt8?) -> [UInt8]? {
      let pieces = text.split { $0 == quote || $0 == 10 || $0 == 13 }
      if let longest = pieces.max(by: { $0.count < $1.count }) { return Array(longest) }
      return text.first { $0 == quote }.map { [$0] }
    }

    /// The indices of the two rarest bytes, in ascending order.
    private static func rarest(_ text: [UInt8]) -> (Int, Int) {
      let order = text.indices.sorted { frequency(text[$0]) < frequency(text[$1]) }
      // Two different bytes exclude more than one byte twice.
      let other = order.first { text[$0] != text[order[0]] } ?? order.last ?? 0
      return (min(order[0], other), max(order[0], other))
    }

    /// A rough estimate of how frequent a byte is in tables and logs.
    private static func frequency(_ byte: UInt8) -> Int {
      switch byte {
      case UInt8(ascii: ","), UInt8(ascii: " "), UInt8(ascii: "\""), 9, 10, 13: return 100
      case UInt8(ascii: "0")...UInt8(ascii: "9"): return 90
      case UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: ":"), UInt8(ascii: ";"): return 70
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"):
        let order = Array("etaoinsrhldcumfpgwybvkxjqz".utf8)
        let place = order.firstIndex(of: byte | 0x20) ?? 0
        return 85 - 3 * place - (byte < 0x60 ? 15 : 0)
      case 0x80...0xBF: return 40
      case 0xC3: return 30
      default: return 8
      }
    }
  }
}

extension RecordPage {
  /// The bytes from an offset in ``bytes`` to the end of the last record.
  func textBytes(from start: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: bytes + start, count: max(0, end - offset - start))
  }

  /// The number of the record that contains an offset in ``bytes``. It is at least `first`.
  /// - Complexity: O(log n) in the number of records in between.
  func number(ofRecordAt place: Int, from first: Int) -> Int {
    let last = numbers.upperBound - 1
    func endsBefore(_ number: Int) -> Bool {
      Int(separators[Int(ends[number - numbers.lowerBound]) - 1]) < place
    }
    // Matches are often near each other.
    var (low, step) = (first, 1)
    while low + step < last, endsBefore(low + step) {
      low += step
      step *= 2
    }
    return (low..<min(low + step, last)).partitioningIndex { !endsBefore($0) }
  }
}
