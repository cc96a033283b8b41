import Tabella
import TabellaHost

/// The locations of a command line as one table, in the shape that its options ask for.
struct ShapedTable {
  let source: any TableDataSource
  /// The locations joined, in order; one if nothing is joined.
  let tables: [OpenedTable]
  /// The locations that the sections come from, if they are still the locations' own.
  private let joined: JoinedSource?
  /// The columns shown, by number.
  let columns: [Int]
  /// Whether the columns were chosen, rather than all.
  let hasChosenColumns: Bool
  /// The only section shown; nil if all are.
  let section: Int?
  /// Where showing starts.
  let start: IndexPath

  /// What messages are about: the location, or all of them.
  let subject: String

  /// The provider, or `joined`.
  var provider: String {
    tables.isEmpty ? "tabella" : tables.count == 1 ? tables[0].manifest.id : "joined"
  }

  /// The table that a section comes from, if several are joined and it comes from one.
  func table(ofSection section: Int) throws(TableError) -> OpenedTable? {
    try joined.map { joined throws(TableError) in
      tables[try joined.sourceNumber(ofSection: section)]
    }
  }

  /// A table of ours, all of it.
  init(_ source: any TableDataSource, name: String = "table") {
    self.init(source, name: name, columns: Array(source.columns.indices))
  }

  /// The columns of a table of ours that a command line asks for.
  init(
    _ source: any TableDataSource, name: String, _ invocation: Invocation
  ) throws(Failure) {
    let numbers = try invocation.columns.map { text throws(Failure) in
      try ColumnNames(source.columns).list(text).map(\.column)
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

  /// Opens the locations of a command and shapes them, in the order that the help gives.
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
          try shape.names.list(text).map(\.column)
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

  /// Opens all locations. Of several each gets the options that its provider has.
  private static func open(_ invocation: Invocation) throws(Failure) -> [OpenedTable] {
    let host = Host(invocation)
    guard invocation.operands.count > 1 else {
      return [try openTable(invocation.operands[0], invocation, host)]
    }
    let declared = try invocation.operands.map { operand throws(Failure) in
      try Failure.about(operand.text) { () throws(TableError) in
        Set(
          try host.manifest(for: Location(operand.bytes), provider: invocation.provider).options
            .map(\.name))
      }
    }
    let known = declared.reduce(into: Set<String>()) { $0.formUnion($1) }
    if let name = invocation.options.keys.sorted().first(where: { !known.contains($0) }) {
      throw .usage(
        "no provider of these locations has the option \(name); they have \(known.sorted().joined(separator: ", "))"
      )
    }
    return try zip(invocation.operands, declared).map { pair throws(Failure) in
      var own = invocation
      own.options = invocation.options.filter { pair.1.contains($0.key) }
      return try openTable(pair.0, own, host)
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
      names = ColumnNames(source.columns)
      let conditions = try invocation.filters.map { filter throws(Failure) in
        try Shape.condition(filter, names)
      }
      let grouping = try invocation.sectionBy.map { text throws(Failure) in
        try Shape.grouping(text, names)
      }
      let order = try invocation.sort.map { text throws(Failure) in
        try Shape.order(text, names)
      }
      try Failure.about(nil) { () throws(TableError) in
        if !conditions.isEmpty || invocation.search != nil {
          let view = try source.filtered(by: conditions, search: invocation.search)
          view.onProgress = { Progress.passed($0) }
          source = view
        }
        if let grouping { source = arranged(try source.grouped(by: grouping)) }
        if let order { source = arranged(try source.sorted(by: order)) }
      }
    }

    /// A view that tells how far it is.
    private func arranged(_ view: MappedSource) -> MappedSource {
      view.onProgress = { Progress.arranged($0) }
      return view
    }

    /// `COLUMN OP VALUE`.
    private static func condition(
      _ argument: Argument, _ names: ColumnNames
    ) throws(Failure) -> Condition {
      var rest = argument.text[...]
      // Longer ones first: `<=` is not `<` with a value that begins with `=`.
      let operators = Condition.Comparison.allCases.sorted { $0.rawValue.count > $1.rawValue.count }
      func comparison(_ rest: Substring) -> Condition.Comparison? {
        let rest = rest.drop { $0 == " " }
        return operators.first { rest.hasPrefix($0.rawValue) }
      }
      guard let column = names.take(from: &rest, where: { comparison($0) != nil }),
        let comparison = comparison(rest)
      else {
        let name = argument.text.prefix { !"=!<>~".contains($0) }
        if name.utf8.count < argument.text.utf8.count,
          let meant = Suggestion.nearest(to: name.trimmed, among: names.names),
          meant != name.trimmed
        {
          throw names.unknown(name.trimmed)
        }
        let signs = Condition.Comparison.allCases.map(\.rawValue).joined(separator: " ")
        throw .usage(
          "--filter \(argument.text): must be COLUMN OP VALUE, with a column of \(names.list) and one of \(signs)"
        )
      }
      // The value is the argument's own bytes, which need not be UTF-8.
      var value = argument.bytes[...]
      if argument.text.utf8.elementsEqual(argument.bytes) {
        value = Array(rest.utf8)[...].drop { $0 == 32 }.dropFirst(comparison.rawValue.utf8.count)
      } else if let sign = value.firstIndex(of: comparison.rawValue.utf8.first ?? 0) {
        value = value[(sign + comparison.rawValue.utf8.count)...]
      }
      // `==` and `<>` are no operators here, and a value like that would be found nowhere.
      if let sign = value.first, "=<>~!".utf8.contains(sign) {
        let signs = String(decoding: value.prefix { "=<>~!".utf8.contains($0) }, as: UTF8.self)
        throw .usage(
          "--filter \(argument.text): there is no operator \(comparison.rawValue)\(signs); put a blank before a value that begins with \(signs)"
        )
      }
      value = value.drop { $0 == 32 }
      while value.last == 32 { value.removeLast() }
      if value.count >= 2, value.first == value.last,
        value.first == UInt8(ascii: "\"") || value.first == UInt8(ascii: "'")
      {
        value = value.dropFirst().dropLast()
      }
      return Condition(column: column, comparison: comparison, value: Array(value))
    }

    /// `COLUMN[:CLASS]`.
    private static func grouping(
      _ text: String, _ names: ColumnNames
    ) throws(Failure) -> Grouping {
      let classes = Grouping.Class.allCases.map { ":\($0.rawValue)" }
      let items = try names.list(text, suffixes: classes)
      guard items.count == 1, let item = items.first else {
        throw .usage("--section-by \(text): must be one column")
      }
      let kind = item.suffix.flatMap { Grouping.Class(rawValue: String($0.dropFirst())) }
      return Grouping(column: item.column, by: kind ?? .value)
    }

    /// `COLUMN[:desc][,…]`.
    private static func order(
      _ text: String, _ names: ColumnNames
    ) throws(Failure) -> [SortDescriptor] {
      try names.list(text, suffixes: [":desc", ":asc"]).map {
        SortDescriptor(column: $0.column, isDescending: $0.suffix == ":desc")
      }
    }
  }
}

extension Substring {
  /// The text without blanks around it.
  fileprivate var trimmed: String {
    var text = drop { $0 == " " }
    while text.last == " " { text.removeLast() }
    return String(text)
  }
}

/// Opens a location as the options say.
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
  /// Where a title of the index leads.
  fileprivate func indexPath(forTitle title: String) throws(TableError) -> IndexPath {
    let titles = try sectionIndex?.sectionIndexTitles() ?? []
    guard let sectionIndex, !titles.isEmpty else {
      throw TableError(
        .notFound, "the table has no index; --section TITLE shows the section with a title")
    }
    guard let index = titles.firstIndex(where: { $0.utf8.elementsEqual(title.utf8) }) else {
      let some = titles.prefix(50).joined(separator: ", ")
      throw TableError(.notFound, "there is no index title \(title); there are \(some)")
    }
    let path = try sectionIndex.indexPath(forIndexTitle: title, at: index)
    return IndexPath(section: path.section, row: max(0, path.row))
  }
}
