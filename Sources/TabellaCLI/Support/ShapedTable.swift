import Tabella
import TabellaHost
import TabellaSystem

/// The locations of a command line as one table, with the shaping options applied.
struct ShapedTable {
  let source: any TableDataSource
  /// The table in front of all shaping.
  let base: any TableDataSource
  /// The numbers of the columns that are means.
  private(set) var means: Set<Int> = []
  /// The opened locations, in order.
  let tables: [OpenedTable]
  /// The join, if the sections are still those of the locations; else nil.
  private let joined: JoinedSource?
  /// The shape of the rows.
  let shape: TableShape
  /// The numbers of the shown columns.
  let columns: [Int]
  /// Whether an option chose the columns.
  let hasChosenColumns: Bool
  /// The only shown section; nil if all are shown.
  let section: Int?
  /// The first row to show.
  let start: IndexPath
  /// The maximum number of rows to show of each section.
  let perSection: Int?
  /// The view that sorts the sections, if there is one.
  private let sectionOrder: SectionSortedSource?

  /// The subject of messages: the location, or all locations.
  let subject: String

  /// The provider, or `joined`.
  var provider: String {
    tables.isEmpty ? "tabella" : tables.count == 1 ? tables[0].manifest.id : "joined"
  }

  /// The table that a section belongs to, if several tables are joined and the section belongs to one of them.
  func table(ofSection section: Int) throws(TableError) -> OpenedTable? {
    try joined.map { joined throws(TableError) in
      let section = try sectionOrder?.numberInBase(ofSection: section) ?? section
      return tables[try joined.sourceNumber(ofSection: section)]
    }
  }

  /// Creates a table over a source of the program, without shaping.
  init(_ source: any TableDataSource, name: String = "table") {
    self.init(source, name: name, columns: source.columns.usualNumbers)
  }

  /// Creates a table over a source of the program, with the columns that the command line requests.
  init(
    _ source: any TableDataSource, name: String, _ invocation: Invocation
  ) throws(Failure) {
    let numbers = try invocation.columns.map { text throws(Failure) in
      try Failure.usage { () throws(TableError) in
        try ColumnNames(source.columns).shown(text)
      }
    }
    self.init(source, name: name, columns: numbers ?? source.columns.usualNumbers)
  }

  private init(_ source: any TableDataSource, name: String, columns: [Int]) {
    self.source = source
    base = source
    subject = name
    tables = []
    joined = nil
    shape = TableShape()
    self.columns = columns
    hasChosenColumns = columns != source.columns.usualNumbers
    section = nil
    start = IndexPath(section: 0, row: 0)
    (perSection, sectionOrder) = (nil, nil)
  }

  /// Creates a table over a summary of another table, with some columns.
  init(summary: any TableDataSource, of table: ShapedTable, columns: [Int]?, means: Set<Int>) {
    source = summary
    base = summary
    self.means = means
    tables = table.tables
    subject = table.subject
    joined = nil
    shape = TableShape()
    self.columns = columns ?? Array(summary.columns.indices)
    hasChosenColumns = columns != nil
    section = nil
    start = IndexPath(section: 0, row: 0)
    (perSection, sectionOrder) = (nil, nil)
  }

  /// Opens the locations of a command and applies the shaping options, in the order that the help describes.
  init(_ invocation: Invocation, command: String) throws(Failure) {
    guard !invocation.operands.isEmpty else {
      throw .usage("a location is missing", command: command)
    }
    let inputs = invocation.operands.count { $0.text == "-" }
    guard inputs < 2 else {
      throw .usage("standard input (-) can be read only once", command: command)
    }
    guard inputs == 0 || !StandardInput.isClosed else {
      throw Failure(status: .failed, subject: "-", code: "io", message: "standard input is closed")
    }
    try Failure.usage(command: command) { () throws(TableError) in
      for filter in invocation.filters { try Condition.check(filter.bytes) }
      if let order = invocation.sectionsBy { try Aggregate.check(order) }
    }
    // The reader of a pipe from `show` can be a pager, which has the terminal for itself.
    if command != "show" || stat(of: 1)?.kind != S_IFIFO {
      Progress.begin(invocation.operands.map { Location($0.bytes) })
    }
    let tables = try ShapedTable.open(invocation)
    self.tables = tables
    hasChosenColumns = invocation.columns != nil
    perSection = invocation.perSection
    let subject = tables.map(\.location.description).joined(separator: " ")
    self.subject = subject
    do throws(Failure) {
      let shape = try Shape(tables, invocation, subject: subject, command: command)
      source = shape.source
      base = shape.base
      self.shape = shape.shape
      joined = invocation.sectionBy == nil ? shape.joined : nil
      sectionOrder = shape.source as? SectionSortedSource
      columns =
        try invocation.columns.map { text throws(Failure) in
          try Failure.usage { () throws(TableError) in
            try shape.names.shown(text)
          }
        } ?? shape.source.columns.usualNumbers
      guard Set(columns).count == columns.count else {
        throw .usage("--columns names a column twice")
      }
      section = try invocation.section.map { text throws(Failure) in
        try Failure.about(subject) { () throws(TableError) in
          try shape.source.number(of: SectionArgument(text))
        }
      }
      start =
        try invocation.atIndex.map { title throws(Failure) in
          try Failure.about(subject) { () throws(TableError) in
            try shape.source.indexPath(forTitle: title)
          }
        } ?? IndexPath(section: 0, row: 0)
    } catch {
      throw error.status == .usage && error.subject == nil ? error.about(command: command) : error
    }
  }

  /// Opens all locations.
  private static func open(_ invocation: Invocation) throws(Failure) -> [OpenedTable] {
    let host = Host(invocation)
    return try invocation.dividedByLocation(host).map { own throws(Failure) in
      try openTable(own.operands[0], own, host)
    }
  }

  /// The views over the locations.
  private struct Shape {
    var source: any TableDataSource
    let base: any TableDataSource
    var joined: JoinedSource?
    let names: ColumnNames
    let shape: TableShape

    init(
      _ tables: [OpenedTable], _ invocation: Invocation, subject: String, command: String
    ) throws(Failure) {
      if tables.count == 1 {
        source = tables[0].source
      } else {
        let joined = Tabella.joined(tables.map { ($0.location.description, $0.source) })
        source = joined
        self.joined = joined
      }
      let names = ColumnNames(source.columns)
      self.names = names
      try Guesses.checkOrder(invocation, names, command: command)
      let shape = try Failure.usage { () throws(TableError) in
        var shape = TableShape(searches: invocation.searches)
        for filter in invocation.filters {
          shape.conditions.append(try Condition(filter.bytes, names))
        }
        if let text = invocation.sectionBy { shape.groupings = try Grouping.list(text, names) }
        if let text = invocation.sort { shape.order = try SortDescriptor.list(text, names) }
        if let text = invocation.sectionsBy { shape.sectionOrder = try SectionOrder(text, names) }
        return shape
      }
      self.shape = shape
      let base = source
      self.base = base
      source = try Failure.about(nil) { () throws(TableError) in
        try base.shaped(by: shape, dates: invocation.dates) { view in
          let isFilter = view is FilteredSource
          view.onProgress = { isFilter ? Progress.passed($0) : Progress.arranged($0) }
        }
      }
    }
  }
}

extension Invocation {
  /// A command line per location. Each of several locations gets only the options that its provider has.
  func dividedByLocation(_ host: Host) throws(Failure) -> [Invocation] {
    guard operands.count > 1 else { return [self] }
    guard !options.isEmpty else { return operands.map { on($0, with: [:]) } }
    let declared = try operands.map { operand throws(Failure) in
      try Failure.about(operand.text) { () throws(TableError) in
        Set(
          try host.manifest(for: Location(operand.bytes), provider: provider).options.map(\.name))
      }
    }
    let known = declared.reduce(into: Set<String>()) { $0.formUnion($1) }
    if let name = options.keys.sorted().first(where: { !known.contains($0) }) {
      throw .usage(
        "no provider of these locations has the option \(name); their options are \(known.sorted().joined(separator: ", "))"
      )
    }
    return zip(operands, declared).map { operand, names in
      on(operand, with: options.filter { names.contains($0.key) })
    }
  }

  private func on(_ operand: Argument, with options: [String: String]) -> Invocation {
    var own = self
    (own.operands, own.options) = ([operand], options)
    return own
  }
}

/// Opens a location with the options of the command line.
func openTable(
  _ operand: Argument, _ invocation: Invocation, _ host: Host
) throws(Failure) -> OpenedTable {
  let location = Location(operand.bytes)
  return try Failure.about(operand.text) { () throws(TableError) in
    do throws(TableError) {
      return try host.open(
        location, provider: invocation.provider, options: invocation.options,
        access: invocation.access)
    } catch {
      guard error.code == .notFound, !location.isStandardInput,
        !host.catalogue.claimsScheme(of: location)
      else { throw error }
      var error = error
      error.message += NearbyFile.hint(operand.bytes)
      throw error
    }
  }
}

extension TableDataSource {
  /// The index of sections and its titles. Throws ``TableError`` with `.notFound` if there is none.
  func titledIndex() throws(TableError) -> (index: any TableSectionIndex, titles: [String]) {
    let titles = try sectionIndex?.sectionIndexTitles() ?? []
    guard let sectionIndex, !titles.isEmpty else {
      throw TableError(
        .notFound, "the table has no index; use --section TITLE to show one section")
    }
    return (sectionIndex, titles)
  }

  /// The position that a title of the index leads to.
  fileprivate func indexPath(forTitle title: String) throws(TableError) -> IndexPath {
    let (sectionIndex, titles) = try titledIndex()
    guard let index = titles.firstIndex(where: { $0.utf8.elementsEqual(title.utf8) }) else {
      let some = titles.prefix(50).joined(separator: ", ")
      throw TableError(.notFound, "there is no index title \(title); the titles are \(some)")
    }
    let path = try sectionIndex.indexPath(forIndexTitle: title, at: index)
    return IndexPath(section: path.section, row: max(0, path.row))
  }
}
