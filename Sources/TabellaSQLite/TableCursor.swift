import CTabellaSQLite
import Tabella
import TabellaHost

/// A scan of a table for one statement.
final class TableCursor {
  /// Rows of a section that the scan still has to read, to the end of the section if `end` is nil.
  private struct Span {
    var section: Int
    var first: Int
    var end: Int?
  }

  private static let fewRows = 64
  private static let manyRows = 16384

  private let table: VirtualTable
  private var live: LiveTable?
  /// The table that all scans of the statement see, with the edits that were staged at its start, and without them.
  private var source: (any TableDataSource)?
  private var base: (any TableDataSource)?
  /// The numbers of the rows of ``base``, if the table has moved on.
  private var oldNumbering: RowNumbering?
  /// The table in the shape of the plan.
  private var view: (any TableDataSource)?
  private var spans: [Span] = []
  /// The section that follows the spans; nil if no other section is read.
  private var nextSection: Int?
  private var rowsToSkip = 0
  private var size = TableCursor.fewRows

  /// The numbers of the columns that are read, and for each column of SQL its index in the batch.
  private var numbers: [Int] = []
  private var places: [Int] = []
  /// The rows that were read last.
  private var cells: [ColumnBatch] = [] {
    didSet { readers = cells.map { CellReader($0) } }
  }
  private var readers: [CellReader] = []
  private var section = 0
  private var first = 0
  private var count = 0
  private var row = 0
  private var title: (section: Int, text: String?)?
  private(set) var isAtEnd = true

  init(_ table: VirtualTable) { self.table = table }

  deinit { stop() }

  /// Ends the statement's use of the table.
  func stop() {
    forget()
    live?.endReading()
    (live, source, base, oldNumbering) = (nil, nil, nil, nil)
  }

  /// Ends the scan.
  private func forget() {
    view = nil
    (cells, spans, nextSection, count, row) = ([], [], nil, 0, 0)
    title = nil
    isAtEnd = true
  }

  /// Starts a scan. A statement can scan a table many times, and sees one version of it.
  func start(_ plan: Plan, _ values: [OpaquePointer]) throws(TableError) {
    forget()
    try ProcessUse.check()
    let api = table.connection.api
    guard let wanted = try WantedRows(plan, values, table.slots, api) else { return }
    let live = try table.liveTable(wanted.location, wanted.options)
    try live.running { () throws(TableError) in
      if self.live !== live {
        stop()
        try live.beginReading()
        (self.live, source, base) = (live, live.present, live.source)
      }
      try start(source ?? live.present, plan, wanted)
    }
  }

  private func start(
    _ source: any TableDataSource, _ plan: Plan, _ wanted: WantedRows
  ) throws(TableError) {
    let columns = source.columns
    try choose(columns, plan)
    guard plan.order.isEmpty || live?.hasOrder(plan.order) == true else {
      throw .changedPlan
    }
    var shape = TableShape(order: plan.order)
    for (number, test) in wanted.tests where columns.indices.contains(number) {
      // SQLite compares by the declared type.
      guard table.isFunction || columns[number].reads == live?.declared[number].reads else {
        continue
      }
      switch test.restriction(number, columns[number]) {
      case .nothing: return
      case .unknown: break
      case .conditions(let conditions): shape.conditions += conditions
      }
    }
    rowsToSkip = wanted.offset
    size = max(1, min(wanted.limit ?? TableCursor.fewRows, TableCursor.fewRows))
    isAtEnd = false
    if let rowID = wanted.rowID {
      view = source
      guard let path = try self.path(of: rowID) else {
        isAtEnd = true
        return
      }
      spans = [Span(section: path.section, first: path.row, end: path.row + 1)]
    } else {
      let view = try source.shaped(by: shape)
      self.view = view
      try chooseSpans(view, plan, wanted.section)
    }
    try read()
  }

  private func choose(_ columns: [Column], _ plan: Plan) throws(TableError) {
    numbers = []
    places = table.slots.enumerated().map { place, slot in
      guard case .cell(let number) = slot, plan.uses(place), columns.indices.contains(number)
      else { return -1 }
      numbers.append(number)
      return numbers.count - 1
    }
  }

  private func chooseSpans(
    _ view: any TableDataSource, _ plan: Plan, _ wanted: Int64?
  ) throws(TableError) {
    if let wanted {
      guard let section = Int(exactly: wanted), section >= 0,
        try view.numberOfSections(knowing: section.advancedUp(by: 1)).value > section
      else { return }
      spans = [Span(section: section, first: 0)]
      return
    }
    guard let key = plan.order.first else {
      nextSection = 0
      return
    }
    guard view.sections == nil else {
      throw TableError(.conflict, "the table has sections now; prepare the statement again")
    }
    guard !key.isDescending else {
      spans = [Span(section: 0, first: 0)]
      return
    }
    // A view has the missing cells at the end.
    let count = try view.exactNumberOfRows(inSection: 0)
    let missing = try partition(count) { row throws(TableError) in
      let batch = try view.rows(RowRequest(first: row, count: 1, columns: [key.column]))
      return view.columns[key.column].values(of: batch.columns[0]).isMissing(0)
    }
    spans = [
      Span(section: 0, first: missing, end: count), Span(section: 0, first: 0, end: missing),
    ]
  }

  /// The path in the table with the staged edits of a row.
  private func path(of rowID: Int64) throws(TableError) -> IndexPath? {
    guard let live, let view else { return nil }
    guard rowID < 0 else {
      guard let path = try rowNumbering(live).path(of: rowID) else { return nil }
      guard let staged = view as? StagedSource else { return path }
      return staged.path(ofBase: path)
    }
    guard case .inserted(let number)? = try live.row(rowID) else { return nil }
    return try (view as? StagedSource)?.path(ofInserted: number)
  }

  /// The numbers of the rows that the statement sees. The edit of another statement can have moved the table on, and its
  /// new numbers would name other rows.
  private func rowNumbering(_ live: LiveTable) throws(TableError) -> RowNumbering {
    guard let base, base !== live.source else { return try live.rowNumbering() }
    if let oldNumbering { return oldNumbering }
    let made = try RowNumbering(base)
    oldNumbering = made
    return made
  }

  // Reading

  /// Moves to the next row.
  func next() throws(TableError) {
    row += 1
    guard row >= count, let live else { return }
    try live.running { () throws(TableError) in try read() }
  }

  /// Reads rows until there is one, or the scan ends.
  private func read() throws(TableError) {
    while true {
      guard let view, var span = try nextSpan(view) else {
        (count, row, cells) = (0, 0, [])
        isAtEnd = true
        return
      }
      if rowsToSkip > 0 {
        guard try skip(view, &span) else { continue }
      }
      let most = min(size, (span.end ?? .max) - span.first)
      size = min(size * 4, TableCursor.manyRows)
      let found = try most > 0 ? read(view, span, most) : 0
      guard found > 0 else {
        spans.removeFirst()
        continue
      }
      (section, first, count, row) = (span.section, span.first, found, 0)
      span.first += found
      spans[0] = span
      return
    }
  }

  private func read(
    _ view: any TableDataSource, _ span: Span, _ most: Int
  ) throws(TableError) -> Int {
    guard !numbers.isEmpty else {
      // No cell is wanted, so counting is enough.
      let known = try view.numberOfRows(inSection: span.section, knowing: span.first + most).value
      return max(0, min(most, known - span.first))
    }
    let batch = try view.rows(
      RowRequest(section: span.section, first: span.first, count: most, columns: numbers))
    let columns = view.columns
    cells = zip(numbers, batch.columns).map { shown($1, of: columns[$0], $0) }
    return batch.rowCount
  }

  /// The cells with the values that SQL sees. A column that was declared as text stays text, whatever it reads as now.
  private func shown(_ cells: ColumnBatch, of column: Column, _ number: Int) -> ColumnBatch {
    let isText = !table.isFunction && live?.declared[number].reads == nil
    return isText ? cells : column.shown(cells)
  }

  private func nextSpan(_ view: any TableDataSource) throws(TableError) -> Span? {
    if let span = spans.first { return span }
    guard let section = nextSection,
      try view.numberOfSections(knowing: section + 1).value > section
    else { return nil }
    nextSection = section + 1
    let span = Span(section: section, first: 0)
    spans = [span]
    return span
  }

  /// Passes over rows of the span. Returns whether some are left.
  private func skip(_ view: any TableDataSource, _ span: inout Span) throws(TableError) -> Bool {
    let wanted = span.first.advancedUp(by: rowsToSkip)
    var end = span.end ?? 0
    if span.end == nil {
      end = try view.numberOfRows(
        inSection: span.section, knowing: wanted.advancedUp(by: 1)
      ).value
    }
    guard end > wanted else {
      rowsToSkip -= max(0, end - span.first)
      spans.removeFirst()
      return false
    }
    (span.first, rowsToSkip) = (wanted, 0)
    return true
  }

  // The present row

  /// Returns the value of a column of SQL to SQLite.
  func column(_ number: Int, _ context: OpaquePointer) throws(TableError) {
    let api = table.connection.api
    // An UPDATE does not need the values that it keeps.
    if api.pointee.vtab_nochange(context) != 0 { return }
    let place = places[number]
    if place >= 0 { return readers[place].result(row, context, api) }
    switch table.slots[number] {
    case .cell(let column): try readCell(column, context)
    case .section: api.pointee.result_int64(context, Int64(section))
    case .sectionTitle: api.result(try sectionTitle(), context)
    case .location: api.result(live.map { $0.arguments.location.bytes }, context)
    case .option(let option):
      api.result(live?.optionTexts[option].map { Array($0.utf8) }, context)
    }
  }

  /// Returns a cell that the planner had not announced.
  private func readCell(_ column: Int, _ context: OpaquePointer) throws(TableError) {
    let api = table.connection.api
    guard let view, let live, view.columns.indices.contains(column) else {
      return api.pointee.result_null(context)
    }
    let cells = try live.running { () throws(TableError) in
      try view.rows(
        RowRequest(section: section, first: first + row, count: 1, columns: [column])
      ).columns[0]
    }
    let shown = shown(cells, of: view.columns[column], column)
    withExtendedLifetime(shown) { CellReader(shown).result(0, context, api) }
  }

  private func sectionTitle() throws(TableError) -> [UInt8]? {
    if title?.section != section, let live, let view {
      let text = try live.running { () throws(TableError) in
        try view.sections?.title(.header, ofSection: section)
      }
      title = (section, text)
    }
    return title?.text.map { Array($0.utf8) }
  }

  func rowID() throws(TableError) -> Int64 {
    guard let live, let view else { return 0 }
    return try live.running { () throws(TableError) in
      let origin = try view.origin(of: IndexPath(section: section, row: first + row))
      guard let staged = origin.source as? StagedSource else {
        return try rowNumbering(live).rowID(of: origin.path)
      }
      switch try staged.row(at: origin.path) {
      case .base(let path): return try rowNumbering(live).rowID(of: path)
      case .inserted(let number): return -Int64(number)
      }
    }
  }
}

extension Column {
  /// The cells with the values that SQL sees.
  fileprivate func shown(_ cells: ColumnBatch) -> ColumnBatch {
    guard type == .text, reads == .date else { return values(of: cells) }
    // Text that reads as dates stays as it is written. Empty cells are missing, as in other columns that read as values.
    guard (0..<cells.count).contains(where: { cells.withBytes(at: $0) { $0.isEmpty } }) else {
      return cells
    }
    let builder = BatchBuilder([.text], capacity: cells.count)
    for row in 0..<cells.count {
      cells.withBytes(at: row) { bytes in
        if bytes.isEmpty || cells.isMissing(row) {
          builder.columns[0].appendMissing()
        } else {
          builder.columns[0].append(bytes: bytes)
        }
      }
    }
    return builder.finish().columns[0]
  }
}
