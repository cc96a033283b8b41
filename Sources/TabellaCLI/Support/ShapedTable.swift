import Tabella
import TabellaHost

/// The locations of a command line as one table, with the shaping options applied.
struct ShapedTable {
  let source: any TableDataSource
  /// The opened locations, in order.
  let tables: [OpenedTable]
  /// The join, if the sections are still those of the locations; else nil.
  private let joined: JoinedSource?
  /// The numbers of the shown columns.
  let columns: [Int]
  /// Whether an option chose the columns.
  let hasChosenColumns: Bool
  /// The only shown section; nil if all are shown.
  let section: Int?
  /// The first row to show.
  let start: IndexPath

  /// The subject of messages: the location, or all locations.
  let subject: String

  /// The provider, or `joined`.
  var provider: String {
    tables.isEmpty ? "tabella" : tables.count == 1 ? tables[0].manifest.id : "joined"
  }

  /// The table that a section belongs to, if several tables are joined and the section belongs to one of them.
  func table(ofSection section: Int) throws(TableError) -> OpenedTable? {
    try joined.map { joined throws(TableError) in
      tables[try joined.sourceNumber(ofSection: section)]
    }
  }

  /// Creates a table over a source of the program, without shaping.
  init(_ source: any TableDataSource, name: String = "table") {
    self.init(source, name: name, columns: Array(source.columns.indices))
  }

  /// Creates a table over a source of the program, with the columns that the command line requests.
  init(
    _ source: any TableDataSource, name: String, _ invocation: Invocation
  ) throws(Failure) {
    let numbers = try invocation.columns.map { text throws(Failure) in
      try Failure.usage { () throws(TableError) in
        try ColumnNames(source.columns).list(text).map(\.column)
      }
    }
    self.init(source, name: name, columns: numbers ?? Array(source.columns.indices))
  }

  private init(_ source: any TableDataSource, name: String, columns: [Int]) {
    self.source = source
    subject = name
    tables = []
    joined = nil
    self.columns = columns
    hasChosenColumns = columns.count != source.columns.count
    section = nil
    start = IndexPath(section: 0, row: 0)
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
    }
    Progress.begin(invocation.operands.map { Location($0.bytes) })
    let tables = try ShapedTable.open(invocation)
    self.tables = tables
    hasChosenColumns = invocation.columns != nil
    let subject = tables.map(\.location.description).joined(separator: " ")
    self.subject = subject
    do throws(Failure) {
      let shape = try Shape(tables, invocation, subject: subject)
      source = shape.source
      joined = invocation.sectionBy == nil ? shape.joined : nil
      columns =
        try invocation.columns.map { text throws(Failure) in
          try Failure.usage { () throws(TableError) in
            try shape.names.list(text).map(\.column)
          }
        } ?? Array(shape.source.columns.indices)
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
    var joined: JoinedSource?
    let names: ColumnNames

    init(
      _ tables: [OpenedTable], _ invocation: Invocation, subject: String
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
      let shape = try Failure.usage { () throws(TableError) in
        var shape = TableShape(search: invocation.search)
        for filter in invocation.filters {
          shape.conditions.append(try Condition(filter.bytes, names))
        }
        shape.grouping = try invocation.sectionBy.map { text throws(TableError) in
          try Grouping(text, names)
        }
        if let text = invocation.sort { shape.order = try SortDescriptor.list(text, names) }
        return shape
      }
      let base = source
      source = try Failure.about(nil) { () throws(TableError) in
        try base.shaped(by: shape) { view in
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
      var own = self
      own.operands = [operand]
      own.options = options.filter { names.contains($0.key) }
      return own
    }
  }
}

/// Opens a location with the options of the command line.
func openTable(
  _ operand: Argument, _ invocation: Invocation, _ host: Host
) throws(Failure) -> OpenedTable {
  try Failure.about(operand.text) { () throws(TableError) in
    try host.open(
      Location(operand.bytes), provider: invocation.provider, options: invocation.options,
      access: invocation.access)
  }
}

extension TableDataSource {
  /// The position that a title of the index leads to.
  fileprivate func indexPath(forTitle title: String) throws(TableError) -> IndexPath {
    let titles = try sectionIndex?.sectionIndexTitles() ?? []
    guard let sectionIndex, !titles.isEmpty else {
      throw TableError(
        .notFound, "the table has no index; use --section TITLE to show one section")
    }
    guard let index = titles.firstIndex(where: { $0.utf8.elementsEqual(title.utf8) }) else {
      let some = titles.prefix(50).joined(separator: ", ")
      throw TableError(.notFound, "there is no index title \(title); the titles are \(some)")
    }
    let path = try sectionIndex.indexPath(forIndexTitle: title, at: index)
    return IndexPath(section: path.section, row: max(0, path.row))
  }
}
