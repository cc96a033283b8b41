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
  /// Whether the terms were compared in a part of the text, or there is only one.
  private(set) var isOrdered: Bool

  /// Creates a finder. Returns nil if the rules have an escape, which changes the stored text, or if no term can be
  /// searched.
  package init?(_ terms: [SearchTerm], _ rules: RecordRules) {
    guard rules.escape == nil else { return nil }
    let terms = terms.compactMap { Term($0, quote: rules.quote) }
    guard !terms.isEmpty else { return nil }
    self.terms = terms.sorted { $0.worth > $1.worth }
    isOrdered = terms.count == 1
  }

  /// Orders the terms by the number of their occurrences in a page.
  private func order(by page: RecordPage) {
    if isOrdered { return }
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
    while next < page.numbers.upperBound {
      let start = page.start(of: next)
      let rest = page.textBytes(from: start)
      let hit = terms[0].first(in: rest)
      guard hit < rest.count else { break }
      let record = page.number(ofRecordAt: start + hit, from: next)
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

  /// At least one of several texts, in the form of the scanning kernel.
  private final class Term {
    /// The owners of the bytes of ``parts``.
    private let texts: [Text]
    private let parts: UnsafeMutableBufferPointer<tabella_scan_text>
    private let prepared: UnsafeMutablePointer<tabella_scan_texts>

    /// Returns nil if one of the texts cannot be searched.
    init?(_ term: SearchTerm, quote: UInt8?) {
      let texts = term.texts.compactMap { Text($0, folds: term.ignoresCase, quote: quote) }
      guard !texts.isEmpty, texts.count == term.texts.count else { return nil }
      self.texts = texts
      parts = .allocate(capacity: texts.count)
      _ = parts.initialize(from: texts.map { $0.scanned(alone: texts.count == 1) })
      prepared = .allocate(capacity: 1)
      prepared.initialize(to: tabella_scan_prepare(parts.baseAddress!, texts.count))
    }

    deinit {
      prepared.deallocate()
      parts.deallocate()
    }

    /// The number of bytes of the shortest text.
    private var shortest: Int { prepared.pointee.shortest }

    /// Long texts are rare, and a few texts are found fast.
    var worth: Int { shortest * 4 - texts.count }

    /// The offset of the first text; the number of bytes if none occurs.
    func first(in bytes: UnsafeRawBufferPointer) -> Int {
      guard let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return 0 }
      return tabella_scan_find_any(base, bytes.count, prepared)
    }

    /// The number of occurrences, without overlaps.
    func count(in bytes: UnsafeRawBufferPointer) -> Int {
      var (count, at) = (0, 0)
      while at < bytes.count {
        at += first(in: UnsafeRawBufferPointer(rebasing: bytes[at...]))
        if at < bytes.count { count += 1 }
        at += shortest
      }
      return count
    }

    func isFound(in bytes: UnsafeRawBufferPointer) -> Bool { first(in: bytes) < bytes.count }
  }

  /// A text that is stored in the records that contain it.
  private final class Text {
    private let bytes: UnsafeMutableBufferPointer<UInt8>
    private let folds: Bool

    /// Returns nil for a text of line ends, because some of them are not part of a record.
    init?(_ whole: [UInt8], folds: Bool, quote: UInt8?) {
      guard let text = Text.storedPiece(of: whole, quote) else { return nil }
      bytes = .allocate(capacity: text.count)
      _ = bytes.initialize(from: text)
      self.folds = folds
    }

    deinit { bytes.deallocate() }

    /// The text in the form of the scanning kernel, which is valid as long as this object. The kernel compares other
    /// bytes first if it searches for several texts.
    func scanned(alone isAlone: Bool) -> tabella_scan_text {
      let (first, second) = isAlone ? rarest : (rarestPlace, 0)
      return tabella_scan_text(
        text: bytes.baseAddress!, count: bytes.count, first: first, second: second,
        folds: folds ? 1 : 0)
    }

    /// The longest piece without quotes and line ends, or one quote.
    private static func storedPiece(of text: [UInt8], _ quote: UInt8?) -> [UInt8]? {
      let pieces = text.split { $0 == quote || $0 == 10 || $0 == 13 }
      if let longest = pieces.max(by: { $0.count < $1.count }) { return Array(longest) }
      return text.first { $0 == quote }.map { [$0] }
    }

    /// The indices of the two rarest bytes, in ascending order.
    private var rarest: (Int, Int) {
      let order = bytes.indices.sorted {
        Text.frequency(bytes[$0]) < Text.frequency(bytes[$1])
      }
      // Two different bytes exclude more than one byte twice.
      let other = order.first { bytes[$0] != bytes[order[0]] } ?? order.last ?? 0
      return (min(order[0], other), max(order[0], other))
    }

    /// The index of the first of the three adjacent bytes that are rarest together.
    private var rarestPlace: Int {
      let compared = Int(TABELLA_SCAN_COMPARED)
      func frequency(at place: Int) -> Int {
        bytes[place..<min(place + compared, bytes.count)].reduce(0) { $0 + Text.frequency($1) }
      }
      return (0...max(0, bytes.count - compared)).min { frequency(at: $0) < frequency(at: $1) } ?? 0
    }

    private static let lettersByFrequency = Array("etaoinsrhldcumfpgwybvkxjqz".utf8)

    /// A rough estimate of how frequent a byte is in tables and logs.
    private static func frequency(_ byte: UInt8) -> Int {
      switch byte {
      case UInt8(ascii: ","), UInt8(ascii: " "), UInt8(ascii: "\""), 9, 10, 13: return 100
      case UInt8(ascii: "0")...UInt8(ascii: "9"): return 90
      case UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: ":"), UInt8(ascii: ";"): return 70
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"):
        let place = lettersByFrequency.firstIndex(of: byte | 0x20) ?? 0
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
