import Tabella
import TabellaHost

/// An output format. The caller reports the parts of a table in order, and the format writes each part immediately.
protocol Format {
  /// Writes everything in front of the first section.
  mutating func begin(_ table: ShownTable) throws(Failure)
  /// The number of columns that the format shows, from the first on; nil means all. Read after ``begin(_:)``.
  var columnLimit: Int? { get }
  /// The facts that the format needs besides titles and cells.
  var needs: FormatNeeds { get }
  mutating func beginSection(_ section: ShownSection) throws(Failure)
  /// Writes at least one row of the current section.
  mutating func write(_ rows: ShownRows) throws(Failure)
  mutating func endSection(_ section: ShownSection) throws(Failure)
  /// Writes the rows that the format holds back, because it may take long until more arrive.
  mutating func pause() throws(Failure)
  /// Writes everything after the last section. `failure` is the reason if the rows ended early.
  mutating func end(failure: Failure?) throws(Failure)
  /// A format that writes rows in the same way, into an output in memory and on any thread; nil if the form of rows depends
  /// on other rows. Called after ``begin(_:)``.
  func writer(to output: Output) -> (any Format)?
  /// The number of bytes of a file whose rows such a format writes at once. The written bytes stay in memory meanwhile.
  var shareSize: Int { get }
  /// Whether the output shows how the rows were divided into batches.
  var showsBatches: Bool { get }
  /// Notes rows that such a format wrote.
  mutating func noteWritten(rows: Int)
  /// Notes about omitted data, to be printed after the table.
  var notes: [String] { get }
  /// The number of columns that were shown; nil if all were. Read after ``end(failure:)``.
  var shownColumnCount: Int? { get }
}

extension Format {
  var columnLimit: Int? { nil }
  var needs: FormatNeeds { [] }
  var notes: [String] { [] }
  var shownColumnCount: Int? { nil }
  mutating func beginSection(_ section: ShownSection) throws(Failure) {}
  mutating func endSection(_ section: ShownSection) throws(Failure) {}
  mutating func pause() throws(Failure) {}
  func writer(to output: Output) -> (any Format)? { nil }
  var shareSize: Int { ShareSize.rows }
  var showsBatches: Bool { false }
  mutating func noteWritten(rows: Int) {}
  mutating func end(failure: Failure?) throws(Failure) {}
}

/// The facts that a format needs besides titles and cells. The viewer requests nothing else from a source.
struct FormatNeeds: OptionSet {
  let rawValue: Int

  /// The ids of rows.
  static let ids = FormatNeeds(rawValue: 1)
  /// The editability and movability of rows.
  static let permissions = FormatNeeds(rawValue: 2)
  static let indexTitles = FormatNeeds(rawValue: 4)
  /// Header and footer elements, and badges.
  static let elements = FormatNeeds(rawValue: 8)
  /// The locations of rows.
  static let links = FormatNeeds(rawValue: 16)
  /// Sections without rows, even in the result of a search.
  static let emptySections = FormatNeeds(rawValue: 32)
  /// The colours of cells, if the output has colours.
  static let colours = FormatNeeds(rawValue: 64)
  /// Batches that grow slowly at first, because the format measures them.
  static let growingBatches = FormatNeeds(rawValue: 128)
  /// The numbers of rows in their sources.
  static let numbers = FormatNeeds(rawValue: 256)
}

/// The facts about the table that a format writes.
struct ShownTable {
  let table: ShapedTable
  /// The shown columns.
  var columns: [Column]
  /// The shown column that has the badges and links: the first one of the source, if it is shown.
  var mainColumn: Int {
    columns.count - table.columns.count + (table.columns.firstIndex(of: 0) ?? 0)
  }
  /// Whether the first column contains row names, which are never cut.
  var beginsWithRowNames = false
  let hasHeader: Bool
  /// Whether to omit sections without rows, as in the result of a search.
  let hidesEmptySections: Bool
  /// Whether the sections are groups by a column's values.
  let isGrouped: Bool
  /// Whether all rows of the table are shown, so that a column without any value can be left out.
  var isWhole = false
  /// The stream that the rows come from, if they can arrive slowly.
  var stream: RowStream?
  /// The matches to highlight; nil if there are none.
  var highlights: Highlights?
  /// The aggregates below the sections and the table, if they are requested.
  var footers: Footers?
  /// Whether rows keep arriving, so that counts do not last, and paths are those of the whole table.
  var isFollowed = false
  /// The marks of new and changed rows; nil if rows have no marks.
  var marks: RowMarks?

  init(
    _ table: ShapedTable, hasHeader: Bool, hidesEmptySections: Bool = false, isGrouped: Bool = false
  ) {
    self.table = table
    self.isGrouped = isGrouped
    self.hidesEmptySections = hidesEmptySections
    columns = table.columns.map { table.source.columns[$0] }
    self.hasHeader = hasHeader
  }
}

/// A batch of rows with the facts that the format needs.
struct ShownRows {
  var batch: Batch
  /// The index path of the first row in the shown table. Hidden sections and rows do not count.
  var first: IndexPath
  var editable: [RowEditability]?
  var movable: [Bool]?
  var badges: [StyledText?]?
  /// The numbers of the rows in their sources.
  var numbers: [Int]?
  /// The percent-encoded addresses of the rows' locations.
  var links: [String?]?
  /// Columns that are not shown, for the colours of cells.
  var extra: [ColumnBatch] = []
  var colours: CellColours?
  var highlights: Highlights?
  /// The marks of the rows, if rows have marks.
  var marks: [RowMark?]?
}

extension ShownRows {
  /// Separates the columns that are not shown from the first `count` columns.
  mutating func separate(_ count: Int) {
    guard batch.columns.count > count else { return }
    extra = Array(batch.columns[count...])
    batch = Batch(
      rowCount: batch.rowCount, columns: Array(batch.columns[..<count]), ids: batch.ids,
      isUTF8: batch.isUTF8)
  }

  /// Inserts a text column in front of the others.
  mutating func putFirst(_ text: (Int) -> String?) {
    putFirst(.text) { row in text(row).map { .text(Array($0.utf8)) } ?? .missing }
  }

  /// Inserts a column in front of the others.
  mutating func putFirst(_ type: ColumnType, _ cell: (Int) -> Cell) {
    let builder = BatchBuilder([type], capacity: batch.rowCount)
    for row in 0..<batch.rowCount { builder.columns[0].append(cell(row)) }
    batch = Batch(
      rowCount: batch.rowCount, columns: builder.finish().columns + batch.columns, ids: batch.ids)
  }
}

struct ShownSection {
  var number: Int
  /// The number of rows, as far as known.
  var count: Count
  var header: String?
  var footer: String?
  /// The element that replaces the title.
  var headerElement: SupplementaryElement?
  var footerElement: SupplementaryElement?
  /// The text of the section's aggregates.
  var aggregates: String?
  var indexTitle: String?
  /// The table of the section, if several tables are joined.
  var table: OpenedTable?
}

/// All formats. A new format needs an entry here and a file in this folder.
enum Formats {
  static let names = [
    "table", "plain", "csv", "tsv", "json", "jsonl", "markdown", "vertical",
  ]
  /// Formats that are written row by row, without the data of sections.
  static let exportNames = ["csv", "tsv", "jsonl", "plain", "arrow-stream"]
  /// Formats that have footers.
  static let footerNames = ["table", "json", "markdown", "vertical"]
  /// Formats that can have a column with the section.
  static let sectionColumnNames = exportNames
  /// Formats whose rows can be followed.
  static let followedNames = ["table", "vertical", "plain", "csv", "tsv", "jsonl"]
  /// Formats for people only, with colours, an index and a closing line.
  static let readableNames = ["table", "vertical"]

  static func make(_ name: String, _ output: Output, _ display: DisplayOptions) -> any Format {
    switch name {
    case "arrow-stream": ArrowStreamFormat(output)
    case "csv": SeparatedFormat(.csv, output)
    case "tsv": SeparatedFormat(.tsv, output)
    case "plain": SeparatedFormat(.plain, output)
    case "json": JSONFormat(output)
    case "jsonl": JSONLinesFormat(output)
    case "markdown": MarkdownFormat(output)
    case "vertical": VerticalFormat(output)
    default: table(output, display)
    }
  }

  private static func table(_ output: Output, _ display: DisplayOptions) -> any Format {
    switch (display.style, display.vertical) {
    case (.collection, _): CollectionFormat(output)
    case (_, .always): VerticalFormat(output)
    default:
      TableFormat(output, isGrouped: display.style == .grouped, mayTurn: display.vertical == .auto)
    }
  }
}
