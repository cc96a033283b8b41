import Tabella
import TabellaFiles

// Edits of heading sections. A section consists of the heading line and the lines under it.

extension TextSource: TableSectionEditing {
  func editability(ofSections sections: Range<Int>) throws(TableError) -> [SectionEditability] {
    let count = try numberOfSections(knowing: sections.upperBound).value
    guard sections.upperBound <= count else { throw .noSection(max(sections.lowerBound, count)) }
    guard (try? checkEditable()) != nil else { return sections.map { _ in [] } }
    return try sections.map { section throws(TableError) in
      try heading(ofSection: section) == nil ? [.delete] : [.title, .delete, .move]
    }
  }

  func canInsertSections() -> Bool { (try? checkEditable()) != nil }
}

extension TextSource: SectionedRecords {
  func sectionRecords() throws(TableError) -> [Range<Int>] {
    let sections = try allSections()
    let starts = sections.map { $0.heading ?? $0.lines.lowerBound }
    return starts.indices.map { starts[$0]..<sections[$0].lines.upperBound }
  }

  func heading(titled title: String?, like sections: [Int]) throws(TableError) -> [UInt8] {
    var model: [UInt8]?
    for section in sections where model == nil {
      guard let heading = try heading(ofSection: section) else { continue }
      model = try reader.page(with: heading).map { Array($0.bytes(of: heading)) }
    }
    return try headingReader.heading(titled: title, like: model)
  }

  func splices(
    inHeading number: Int, title: String?
  ) throws(TableError) -> [RecordPlan.Splice] {
    guard let page = try reader.page(with: number) else { return [] }
    let line = Array(page.bytes(of: number))
    let new = try headingReader.heading(titled: title, like: line)
    return new == line ? [] : [.init(page.span(of: number).content, new)]
  }

  func check(_ edits: RecordEdits) throws(TableError) {
    guard let blocks = edits.blocks else { return }
    for (number, block) in blocks.enumerated() where number > 0 && block.section == 0 {
      guard try heading(ofSection: 0) == nil else { break }
      throw TableError(
        .constraint,
        "section 0 contains the lines before the first heading: no section can be in front of it",
        section: 0)
    }
  }

  func checkReads(_ bytes: any ByteSource, as edits: RecordEdits) throws(TableError) {
    let old = try allSections()
    let order =
      edits.blocks?.map(\.section)
      ?? old.indices.map { .some($0) }
    var expected: [(lines: Int, title: String?)] = []
    for (number, section) in order.enumerated() {
      let lines =
        section.map { edits.plan.rows[$0]?.countAfter.value ?? old[$0].lines.count } ?? 0
      // The lines in front of the first heading are no section if there are none.
      if lines == 0, let section, old[section].heading == nil { continue }
      expected.append((lines, edits.titles[number] ?? nil))
    }
    let found = try sections(of: bytes)
    for (number, wanted) in expected.enumerated() {
      var isSame = number < found.count && found[number].lines == wanted.lines
      if isSame, let title = wanted.title { isSame = try found[number].title() == title }
      guard isSame else {
        throw TableError(
          .constraint,
          "section \(number) would be read back differently (because of fenced code without an end, or lines "
            + "that look like headings); nothing was changed",
          section: number)
      }
    }
    guard found.count == expected.count else {
      throw TableError(
        .constraint,
        "the text would have \(found.count) sections, not \(expected.count); nothing was changed")
    }
  }
}
