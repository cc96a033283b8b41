import Tabella
import TabellaFiles
import TabellaSDK

/// The lines of a text, in one section or divided into several.
final class TextSource: ProviderSource, TableSections, TableGathering, TableIdentity,
  TableSupplementary, TableDiagnostics, LiveRecords, RowSearching, RowSharing, RowDigesting
{
  /// The number of lines in the preview of a section, and before and after the row in that of a row.
  private static let previewLines = (section: 10, around: 3)
  private static let longestPreviewLine = 1000

  /// The line, and the parts of the line that the pattern names.
  let columns: [Column]
  private let pattern: LinePattern?
  let shownFile: ShownFile
  let encoding: String?
  let sectioning: Sectioning
  private let headings: HeadingStyle?
  /// The current text. A commit or a pull replaces it.
  private(set) var text: LineText
  private var cells: LineCells
  let cancel = CancelFlag()
  let live = LiveFile()
  private var diagnosticQueue = DiagnosticQueue()

  init(
    _ shownFile: ShownFile, _ file: any ByteSource, encoding: String?, sectioning: Sectioning,
    pattern: LinePattern?, headings: HeadingStyle?
  ) throws(TableError) {
    self.shownFile = shownFile
    self.encoding = encoding
    self.sectioning = sectioning
    self.pattern = pattern
    columns = [Column("line")] + (pattern?.columns ?? [])
    self.headings = headings
    text = try LineText(
      file, encoding: encoding, SectionFinder(sectioning, HeadingReader(headings)), cancel)
    cells = LineCells(text.reader, columns, pattern, cancel)
    if let diagnostic = shownFile.diagnostic { diagnosticQueue.add("in place", diagnostic) }
    try file.checkUnchanged()
  }

  var file: any ByteSource { text.file }
  var decoded: DecodedText { text.decoded }
  var reader: RecordReader { text.reader }
  private var finder: SectionFinder {
    get { text.finder }
    _modify { yield &text.finder }
  }

  func read(_ bytes: any ByteSource) throws(TableError) -> LineText {
    try LineText(
      bytes, encoding: encoding, SectionFinder(sectioning, HeadingReader(headings)), cancel)
  }

  func show(_ text: LineText) {
    self.text = text
    cells = LineCells(text.reader, columns, pattern, cancel)
  }

  /// Shows the saved file.
  func show(_ bytes: any ByteSource) throws(TableError) {
    // After an error, the old file stays and reports that it changed.
    show(try read(bytes))
  }

  func warn(_ kind: String, _ message: String) { diagnosticQueue.add(kind, message) }

  var cancellation: (@Sendable () -> Void)? { cancel.cancellation }
  /// A stream never changes: its rows only arrive.
  var changes: (any TableChanges)? { file.hasVersion ? self : nil }
  var sections: (any TableSections)? { sectioning == .none ? nil : self }
  var sectionIndex: (any TableSectionIndex)? { sectioning == .headings ? self : nil }

  func version() throws(TableError) -> Version? {
    try shownFile.version(showing: file)
  }

  // Sections and rows

  func numberOfSections(knowing minimum: Int) throws(TableError) -> Count {
    guard sectioning != .none else { return .exact(1) }
    cancel.begin()
    try find { $0.sections.count >= minimum }
    return finder.isComplete ? .exact(finder.sections.count) : .atLeast(finder.sections.count)
  }

  func numberOfRows(inSection section: Int, knowing minimum: Int) throws(TableError) -> Count {
    cancel.begin()
    guard sectioning != .none else {
      guard section == 0 else { throw .noSection(section) }
      try reader.know(minimum)
      try file.checkUnchanged()
      let known = reader.index.known
      return reader.index.isComplete ? .exact(known) : .atLeast(known)
    }
    let lines = try lines(ofSection: section, knowing: minimum)
    return finder.isEnded(section) ? .exact(lines.count) : .atLeast(lines.count)
  }

  /// The lines of a section. At least `minimum` of them are found if the section has so many.
  func lines(
    ofSection section: Int, knowing minimum: Int
  ) throws(TableError) -> Range<Int> {
    guard section >= 0 else { throw .noSection(section) }
    try find {
      $0.isEnded(section)
        || ($0.sections.count > section && $0.sections[section].lines.count >= minimum)
    }
    guard section < finder.sections.count else { throw .noSection(section) }
    return finder.sections[section].lines
  }

  /// The line of a section's heading; nil if it has none.
  func heading(ofSection section: Int) throws(TableError) -> Int? {
    _ = try lines(ofSection: section, knowing: 0)
    return finder.sections[section].heading
  }

  func allSections() throws(TableError) -> [RecordSection] {
    try find { _ in false }
    return finder.sections
  }

  /// A heading reader with the style of the text.
  var headingReader: HeadingReader { finder.headings }

  /// The sections of other bytes, read with the same options: the number of lines and the title of each.
  func sections(
    of bytes: any ByteSource
  ) throws(TableError) -> [(lines: Int, title: () throws(TableError) -> String?)] {
    let text = try read(bytes)
    let reader = text.reader
    try text.finder.read(reader, cancel) { _ in false }
    let headings = text.finder.headings
    return text.finder.sections.map { section in
      (
        section.lines.count,
        { () throws(TableError) in
          guard let heading = section.heading else { return nil }
          return try reader.page(with: heading).map { headings.title($0.bytes(of: heading)) }
        }
      )
    }
  }

  private func find(until isEnough: (SectionFinder) -> Bool) throws(TableError) {
    // The known sections belong to the shown version, so they need no check.
    if finder.isComplete || isEnough(finder) { return }
    try finder.read(reader, cancel, until: isEnough)
    try file.checkUnchanged()
  }

  func title(_ place: TitlePlace, ofSection section: Int) throws(TableError) -> String? {
    guard sectioning != .none else {
      guard section == 0 else { throw .noSection(section) }
      return nil
    }
    _ = try lines(ofSection: section, knowing: 0)
    guard place == .header, let heading = finder.sections[section].heading else { return nil }
    let title = try title(ofLine: heading)
    try file.checkUnchanged()
    return title
  }

  private func title(ofLine number: Int) throws(TableError) -> String? {
    try reader.page(with: number).map { finder.headings.title($0.bytes(of: number)) }
  }

  func rows(_ request: RowRequest) throws(TableError) -> Batch {
    try check(request)
    cancel.begin()
    let wanted = request.first.addingReportingOverflow(request.count)
    var lines = 0..<Int.max
    if sectioning == .none {
      guard request.section == 0 else { throw .noSection(request.section) }
    } else {
      lines = try self.lines(
        ofSection: request.section, knowing: wanted.overflow ? .max : wanted.partialValue)
      guard request.first <= lines.count else {
        try file.checkUnchanged()
        throw .noRow(request.first, inSection: request.section, of: lines.count)
      }
    }
    let wantedLines = lines.dropFirst(request.first).prefix(request.count)
    let batch = try cells.batch(wantedLines, request)
    try file.checkUnchanged()
    noteUnconverted()
    if batch.rowCount == 0, sectioning == .none {
      try reader.index.know(request.first)
      let count = reader.index.known
      if request.first > count { throw .noRow(request.first, inSection: 0, of: count) }
    }
    reader.shrink(atEnd: wantedLines.lowerBound + batch.rowCount)
    return batch
  }

  /// Only a text with one section is searched. Sections are found in their lines, so all lines are read anyway.
  var canSearch: Bool { sectioning == .none }

  /// Returns the lines that may contain all terms.
  func rows(_ request: RowRequest, containing terms: [SearchTerm]) throws(TableError) -> FoundRows {
    guard canSearch, let finder = cells.finder(of: terms) else {
      return FoundRows(try rows(request), from: request.first)
    }
    try check(request)
    guard request.section == 0 else { throw .noSection(request.section) }
    cancel.begin()
    let found = try cells.rows(request, finder)
    try file.checkUnchanged()
    if found.next == request.first, found.next > reader.index.known {
      throw .noRow(found.next, inSection: 0, of: reader.index.known)
    }
    noteUnconverted()
    reader.shrink(atEnd: found.next)
    return found
  }

  private func noteUnconverted() {
    if let diagnostic = decoded.diagnostic { diagnosticQueue.add("encoding", diagnostic) }
  }

  /// Only a text with one section is divided, because sections are found in their lines.
  var canShare: Bool { sectioning == .none }

  func shares(
    ofSection section: Int, from first: Int, size: Int
  ) throws(TableError) -> (any RowShares)? {
    guard section == 0, canShare else { throw .noSection(section) }
    return try shares(from: first, size: size) { $0 }
  }

  /// Divides the lines. `cells` makes cells from the lines of a share.
  private func shares<Cells: RecordCells>(
    from first: Int, size: Int, cells: @escaping (LineCells) -> Cells
  ) throws(TableError) -> (any RowShares)? {
    cancel.begin()
    guard let shares = try reader.shares(from: first, size: size) else { return nil }
    let (text, columns, pattern) = (text, columns, pattern)
    return SharedRecords(shares, cells(self.cells).columns) { reader in
      cells(LineCells(reader, columns, pattern, CancelFlag()))
    } taken: { [self] _, _ throws(TableError) in
      try checkShare(of: text)
    }
  }

  func shares(
    gathering rows: UnsafeBufferPointer<UInt32>, inSection section: Int, size: Int
  ) throws(TableError) -> (any RowShares)? {
    guard section == 0, canShare else { throw .noSection(section) }
    cancel.begin()
    guard let shares = try reader.shares(gathering: rows, size: size) else { return nil }
    let (text, reader, columns, pattern) = (text, reader, columns, pattern)
    return SharedGathering(shares) {
      LineCells(reader, columns, pattern, CancelFlag())
    } taken: { [self] _ throws(TableError) in
      try checkShare(of: text)
    }
  }

  /// Throws ``TableError`` if a share of `text` no longer has the lines of the file.
  private func checkShare(of text: LineText) throws(TableError) {
    guard self.text === text else { throw .wrongShare }
    try file.checkUnchanged()
    noteUnconverted()
  }

  /// Only whole lines of a text with one section have digests.
  func canDigest(_ columns: [Int]) -> Bool {
    sectioning == .none && columns == [0]
  }

  func digests(of lists: [[Int]], from empty: RowDigest) -> any TableDataSource {
    DigestedRecords(of: self, lists: lists.count) { [self] request throws(TableError) in
      cancel.begin()
      let batch = try DigestRows(cells, of: lists, from: empty).rows(request)
      try file.checkUnchanged()
      if batch.rowCount == 0, request.first > reader.index.known {
        throw .noRow(request.first, inSection: 0, of: reader.index.known)
      }
      noteUnconverted()
      return batch
    } divide: { [self] first, size throws(TableError) in
      try shares(from: first, size: size) { DigestRows($0, of: lists, from: empty) }
    }
  }

  func rows(
    at paths: [IndexPath], columns numbers: [Int], includesIDs: Bool
  ) throws(TableError) -> Batch {
    try check(gathering: paths, columns: numbers, includesIDs: includesIDs)
    cancel.begin()
    let lines = try paths.map { path throws(TableError) in try line(at: path) }
    let batch = try cells.rows(numbered: lines, columns: numbers, includesIDs: includesIDs)
    try file.checkUnchanged()
    noteUnconverted()
    return batch
  }

  /// The line number of a row.
  func line(at path: IndexPath) throws(TableError) -> Int {
    guard sectioning != .none else {
      guard path.section == 0 else { throw .noSection(path.section) }
      return path.row
    }
    let lines = try lines(ofSection: path.section, knowing: min(path.row, .max - 1) + 1)
    guard path.row < lines.count else {
      throw .noRow(path.row, inSection: path.section, of: lines.count)
    }
    return lines.lowerBound + path.row
  }

  func indexPath(forID id: String) throws(TableError) -> IndexPath {
    cancel.begin()
    guard let line = try reader.number(ofRecordWithID: id) else {
      throw TableError(.notFound, "there is no row with the id \(id)")
    }
    guard sectioning != .none else { return IndexPath(section: 0, row: line) }
    try find { $0.sections.last.map { $0.lines.upperBound > line } ?? false }
    guard let section = finder.section(ofLine: line) else {
      throw TableError(.notFound, "the line with the id \(id) is not a row")
    }
    return IndexPath(section: section, row: line - finder.sections[section].lines.lowerBound)
  }

  // Line numbers and previews

  func supplementaryKinds() -> [String] { [SupplementaryKind.line, "preview"] }

  /// The number of a row's line, or a preview. The preview of a section shows its first lines, and the preview of a row
  /// the lines around it.
  func supplementaryElement(
    ofKind kind: String, at path: IndexPath
  ) throws(TableError) -> SupplementaryElement? {
    if kind == SupplementaryKind.line, !path.isSection {
      cancel.begin()
      let line = try line(at: path)
      try reader.know(line.advancedUp(by: 1))
      try file.checkUnchanged()
      guard line < reader.index.known else {
        throw .noRow(path.row, inSection: path.section, of: reader.index.known)
      }
      return .text(StyledText("\(line + 1)"))
    }
    guard kind == "preview" else { return nil }
    cancel.begin()
    let last =
      path.isSection
      ? TextSource.previewLines.section
      : min(path.row, .max / 2) + TextSource.previewLines.around + 1
    let lines: Range<Int>
    if sectioning == .none {
      guard path.section == 0 else { throw .noSection(path.section) }
      try reader.index.know(last)
      lines = 0..<reader.index.known
    } else {
      lines = try self.lines(ofSection: path.section, knowing: last)
    }
    guard !path.isSection else { return try preview(lines.prefix(last), emphasis: nil) }
    guard path.row < lines.count else {
      throw .noRow(path.row, inSection: path.section, of: lines.count)
    }
    let first = max(0, path.row - TextSource.previewLines.around)
    return try preview(
      lines.dropFirst(first).prefix(last - first), emphasis: lines.lowerBound + path.row)
  }

  private func preview(
    _ lines: Range<Int>, emphasis: Int?
  ) throws(TableError) -> SupplementaryElement? {
    var text = StyledText([])
    for number in lines {
      guard let page = try reader.page(with: number) else { break }
      if number > lines.lowerBound { text.bytes.append(10) }
      let start = text.bytes.count
      text.bytes += page.bytes(of: number).prefix(TextSource.longestPreviewLine)
      if number == emphasis, text.bytes.count > start {
        text.spans.append(.init(start..<text.bytes.count, .emphasis))
      }
    }
    try file.checkUnchanged()
    return lines.isEmpty ? nil : .text(text)
  }

  func nextDiagnostic() -> Diagnostic? { diagnosticQueue.next() }
}

/// The index contains the headings.
extension TextSource: TableSectionIndex {
  func sectionIndexTitles() throws(TableError) -> [String] {
    cancel.begin()
    var titles: [String] = []
    for section in try titledSections() {
      if let title = try title(.header, ofSection: section) { titles.append(title) }
    }
    return titles
  }

  func indexPath(forIndexTitle title: String, at index: Int) throws(TableError) -> IndexPath {
    cancel.begin()
    let section = try titledSections().dropFirst(max(0, index)).first
    guard index >= 0, let section, try self.title(.header, ofSection: section) == title else {
      throw TableError(.notFound, "there is no index title \(title) at \(index)")
    }
    return .section(section)
  }

  /// The sections with a heading. Only the first section can be without one.
  private func titledSections() throws(TableError) -> Range<Int> {
    try find { _ in false }
    let isFirstTitled = finder.sections.first?.heading != nil
    return (isFirstTitled ? 0 : min(1, finder.sections.count))..<finder.sections.count
  }
}
