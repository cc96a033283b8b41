// swift-format-ignore-file: AlwaysUseLowerCamelCase
// The names of the functions are those of the header.

import CTabella
import CTabellaEmbed
import Tabella
import TabellaBridge
import TabellaHost

// The functions that make tables, and that read them as sources.

@c @implementation
public func tabella_embed_open(
  _ host: OpaquePointer, _ request: UnsafePointer<tabella_embed_request>,
  _ out: UnsafeMutablePointer<OpaquePointer?>, _ error: UnsafeMutablePointer<tabella_error>
) -> Int32 {
  let host: EmbeddedHost = object(host)
  return answer(error, on: host, into: out) { () throws(TableError) in
    let request = request.pointee
    let location = try request.location.locationArgument()
    let isEditable = request.flags & TABELLA_EMBED_EDITING != 0
    try request.flags.check(onlyBits: TABELLA_EMBED_EDITING)
    try request.reserved.checkReserved()
    let provider = try request.provider.textArgument("the provider")
    let options = try options(request)
    let table = try about(location.description) { () throws(TableError) in
      try host.host.open(
        location, provider: provider, options: options, access: isEditable ? .editing : .reading)
    }
    return EmbeddedTable(table, isEditable: isEditable, of: host)
  }
}

private func options(_ request: tabella_embed_request) throws(TableError) -> [String: String] {
  var options: [String: String] = [:]
  for option in try list(request.options, request.option_count, "options") {
    guard let name = try option.name.textArgument("the name of an option") else {
      throw TableError(.invalidArgument, "an option has no name")
    }
    let value = try option.value.textArgument("the option \(name)") ?? ""
    guard options.updateValue(value, forKey: name) == nil else {
      throw TableError(.invalidArgument, "the option \(name) is given twice")
    }
  }
  return options
}

@c @implementation
public func tabella_embed_join(
  _ tables: UnsafePointer<OpaquePointer>, _ count: Int64,
  _ out: UnsafeMutablePointer<OpaquePointer?>, _ error: UnsafeMutablePointer<tabella_error>
) -> Int32 {
  let host = count > 0 ? object(tables[0], EmbeddedTable.self).host : nil
  return answer(error, on: host, into: out) { () throws(TableError) in
    guard let host else {
      throw TableError(.invalidArgument, "\(count) tables cannot be joined")
    }
    let tables = try list(tables, count, "tables").map { object($0, EmbeddedTable.self) }
    var sources: [SharedSource] = []
    for (number, table) in tables.enumerated() {
      guard !tables[..<number].contains(where: { $0.source === table.source }) else {
        // Its changes would reach only one of its places.
        throw TableError(
          .invalidArgument, "\(table.name) is given twice; open its location again for another copy"
        )
      }
      guard table.host === host else {
        throw TableError(.invalidArgument, "the tables belong to different hosts")
      }
      try about(table.name) { () throws(TableError) in try table.position.check() }
      for source in table.position.sources where !sources.contains(where: { $0 === source }) {
        sources.append(source)
      }
    }
    let view = joined(tables.map { ($0.name, $0.source) })
    return EmbeddedTable(
      view, provider: "joined", name: tables.map(\.name).joined(separator: " "),
      sharing: sources, of: host)
  }
}

@c @implementation
public func tabella_embed_shaped(
  _ table: OpaquePointer, _ shape: UnsafePointer<tabella_embed_shape>,
  _ out: UnsafeMutablePointer<OpaquePointer?>, _ error: UnsafeMutablePointer<tabella_error>
) -> Int32 {
  let table: EmbeddedTable = object(table)
  return answer(error, on: table, into: out) { () throws(TableError) in
    try table.position.check()
    try shape.pointee.reserved.checkReserved()
    let view = try table.source.shaped(
      by: TableShape(shape.pointee, ColumnNames(table.source.columns)),
      dates: DateContext(flags: shape.pointee.flags))
    return EmbeddedTable(view, of: table)
  }
}

extension DateContext {
  /// The dates that the flags of a request ask for.
  fileprivate init(flags: UInt32) throws(TableError) {
    try flags.check(onlyBits: TABELLA_EMBED_LOCAL_DATES)
    self.init(zone: flags & TABELLA_EMBED_LOCAL_DATES != 0 ? .local : .utc, now: .now)
  }
}

extension TableShape {
  /// Reads the texts of a shape.
  fileprivate init(_ raw: tabella_embed_shape, _ names: ColumnNames) throws(TableError) {
    self.init()
    for filter in try list(raw.filters, raw.filter_count, "filters") {
      guard let text = try filter.argument("a filter") else { continue }
      conditions.append(try Condition(text, names))
    }
    if let text = try raw.search.argument("the search"), !text.isEmpty { searches = [text] }
    if let text = try raw.section_by.textArgument("section_by") {
      groupings = try Grouping.list(text, names)
    }
    if let text = try raw.sort.textArgument("sort") {
      order = try SortDescriptor.list(text, names)
    }
    if let text = try raw.sections_by.textArgument("sections_by") {
      sectionOrder = try SectionOrder(text, names)
    }
  }
}

@c @implementation
public func tabella_embed_summarize(
  _ table: OpaquePointer, _ by: tabella_string, _ compute: tabella_string, _ flags: UInt32,
  _ out: UnsafeMutablePointer<OpaquePointer?>, _ error: UnsafeMutablePointer<tabella_error>
) -> Int32 {
  let table: EmbeddedTable = object(table)
  return answer(error, on: table, into: out) { () throws(TableError) in
    try table.position.check()
    let names = ColumnNames(table.source.columns)
    let groupings = try by.textArgument("by").map { text throws(TableError) in
      try Grouping.list(text, names)
    }
    let aggregates = try compute.textArgument("compute").map { text throws(TableError) in
      try Aggregate.list(text, names)
    }
    let summary = try table.source.summarized(
      by: groupings ?? [], computing: aggregates ?? [.rows], in: DateContext(flags: flags).zone,
      flag: table.cancellations.flag)
    return EmbeddedTable(
      summary, provider: "summary", name: "summary of \(table.name)",
      sharing: table.position.sources, of: table.host)
  }
}

@c @implementation
public func tabella_embed_table_release(_ table: OpaquePointer?) {
  release(table, EmbeddedTable.self, \.host)
}

@c @implementation
public func tabella_embed_cancel(_ table: OpaquePointer) {
  guard !ProcessUse.isInherited else { return }
  object(table, EmbeddedTable.self).cancellations.cancel()
}

@c @implementation
public func tabella_embed_provider(_ table: OpaquePointer) -> tabella_string {
  object(table, EmbeddedTable.self).provider
}

@c @implementation
public func tabella_embed_source(
  _ table: OpaquePointer, _ out: UnsafeMutablePointer<tabella_source>,
  _ error: UnsafeMutablePointer<tabella_error>
) -> Int32 {
  out.pointee = tabella_source()
  let table: EmbeddedTable = object(table)
  return answer(error, on: table) { () throws(TableError) in
    out.pointee = table.exported()
  }
}
