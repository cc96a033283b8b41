import Tabella
import TabellaFiles

/// Where the sections of a text are, as far as that was needed.
///
/// Memory: some 24 bytes a section.
struct SectionFinder {
  /// A section: its lines, and the line of its heading.
  struct Section {
    var lines: Range<Int>
    var heading: Int?
  }

  /// The sections begun. The last one may still grow, unless all is read.
  private(set) var sections: [Section] = []
  private(set) var isComplete = false
  private let sectioning: Sectioning
  private(set) var headings: HeadingReader
  /// The line that is looked at next.
  private var next = 0
  private var isBetweenParagraphs = true

  init(_ sectioning: Sectioning, _ headings: HeadingReader) {
    self.sectioning = sectioning
    self.headings = headings
  }

  /// Whether a section has all its lines.
  func isEnded(_ section: Int) -> Bool { isComplete || section + 1 < sections.count }

  /// Reads on, a page at a time, until `isEnough` or all is read.
  mutating func read(
    _ reader: RecordReader, _ cancel: CancelFlag, until isEnough: (SectionFinder) -> Bool
  ) throws(TableError) {
    while !isComplete, !isEnough(self) {
      try cancel.check()
      guard let page = try reader.page(with: next) else {
        isComplete = true
        return
      }
      for number in next..<page.numbers.upperBound { take(page.bytes(of: number), number) }
      next = page.numbers.upperBound
      if reader.index.isComplete, next == reader.index.known { isComplete = true }
    }
  }

  /// The section that a line is a row of; nil if it is a heading or between paragraphs, or not read.
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
        sections.append(Section(lines: number + 1..<number + 1, heading: number))
      } else {
        add(number, toNew: sections.isEmpty)
      }
    }
  }

  private mutating func add(_ line: Int, toNew isNew: Bool) {
    if isNew {
      sections.append(Section(lines: line..<line + 1, heading: nil))
    } else {
      sections[sections.count - 1].lines = sections[sections.count - 1].lines.lowerBound..<line + 1
    }
  }
}
