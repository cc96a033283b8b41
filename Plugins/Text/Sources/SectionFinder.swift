import Tabella
import TabellaFiles

/// Finds the sections of a text, as far as needed.
///
/// It needs about 24 bytes of memory per section.
struct SectionFinder {
  /// The sections found. The last one may still grow until `isComplete` is true.
  private(set) var sections: [RecordSection] = []
  private(set) var isComplete = false
  let sectioning: Sectioning
  private(set) var headings: HeadingReader
  /// The next line to examine.
  private var next = 0
  private var isBetweenParagraphs = true
  private var marked: Mark?

  /// The state after some line, as far as later lines change it.
  private struct Mark {
    var count: Int
    var last: RecordSection?
    var headings: HeadingReader
    var next: Int
    var isBetweenParagraphs: Bool
  }

  init(_ sectioning: Sectioning, _ headings: HeadingReader) {
    self.sectioning = sectioning
    self.headings = headings
  }

  /// Whether all lines of a section are known.
  func isEnded(_ section: Int) -> Bool { isComplete || section < sections.count - 1 }

  /// Reads page by page until `isEnough` returns true or the text ends.
  mutating func read(
    _ reader: RecordReader, _ cancel: CancelFlag, until isEnough: (SectionFinder) -> Bool
  ) throws(TableError) {
    while !isComplete, !isEnough(self) {
      try cancel.check()
      guard let page = try reader.page(with: next) else {
        isComplete = true
        return
      }
      take(page, next..<page.numbers.upperBound)
      if reader.index.isComplete, next == reader.index.known { isComplete = true }
    }
  }

  /// Takes the next lines.
  mutating func take(_ page: RecordPage, _ numbers: Range<Int>) {
    for number in numbers { take(page.bytes(of: number), number) }
    next = numbers.upperBound
  }

  /// Notes that all lines were taken.
  mutating func finish() { isComplete = true }

  /// Remembers this state for ``rewind()``.
  mutating func mark() {
    marked = Mark(
      count: sections.count, last: sections.last, headings: headings, next: next,
      isBetweenParagraphs: isBetweenParagraphs)
  }

  /// Returns to the state of the last ``mark()``.
  mutating func rewind() {
    guard let marked else { return }
    sections.removeLast(sections.count - marked.count)
    if let last = marked.last { sections[marked.count - 1] = last }
    (headings, next, isBetweenParagraphs) =
      (marked.headings, marked.next, marked.isBetweenParagraphs)
    isComplete = false
  }

  /// The section that contains a line as a row. It is nil for headings, for lines between paragraphs and for lines not
  /// yet read.
  func section(ofLine line: Int) -> Int? {
    let number = sections.indices.partitioningIndex { sections[$0].lines.upperBound > line }
    return number < sections.count && sections[number].lines.contains(line) ? number : nil
  }

  private mutating func take(_ line: UnsafeRawBufferPointer, _ number: Int) {
    switch sectioning {
    case .none: add(number, toNew: sections.isEmpty)
    case .paragraphs:
      if line.allSatisfy({ $0.isBlank }) {
        isBetweenParagraphs = true
      } else {
        add(number, toNew: isBetweenParagraphs)
        isBetweenParagraphs = false
      }
    case .headings:
      if headings.isHeading(line) {
        sections.append(RecordSection(lines: number + 1..<number + 1, heading: number))
      } else {
        add(number, toNew: sections.isEmpty)
      }
    }
  }

  private mutating func add(_ line: Int, toNew isNew: Bool) {
    if isNew {
      sections.append(RecordSection(lines: line..<line + 1, heading: nil))
    } else {
      sections[sections.count - 1].lines = sections[sections.count - 1].lines.lowerBound..<line + 1
    }
  }
}
