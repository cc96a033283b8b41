import CTabella
import Tabella

extension Column {
  /// The Arrow format of the column across the contract.
  fileprivate var format: StaticString {
    switch type {
    case .text, .binary: "z"
    case .integer: "l"
    case .real: "g"
    case .boolean: "b"
    case .date: "tsn:UTC"
    }
  }
}

private let typeKey = "tabella.type"
private let unitKey = "tabella.unit"
private let readsKey = "tabella.reads"
private let decimalKey = "tabella.decimal"
private let requestKey = "tabella.on-request"
private let rankKey = "tabella.rank"
private let roleKey = "tabella.role"

/// A field of a C schema.
package struct ExportedField {
  /// The Arrow format.
  package var format: String
  package var name: String
  /// Keys and values.
  package var metadata: [(String, String)]
  package var isNullable: Bool

  package init(
    _ name: String, format: String, metadata: [(String, String)] = [], isNullable: Bool = true
  ) {
    (self.name, self.format) = (name, format)
    (self.metadata, self.isNullable) = (metadata, isNullable)
  }
}

/// Fills a schema with these columns.
func exportSchema(_ columns: [Column], to out: UnsafeMutablePointer<ArrowSchema>) {
  let fields = columns.map { column in
    var pairs: [(String, String)] = []
    if column.type == .text { pairs.append((typeKey, "text")) }
    if let unit = column.unit { pairs.append((unitKey, unit.rawValue)) }
    if let reads = column.reads { pairs.append((readsKey, reads.name)) }
    if column.hasDecimalComma { pairs.append((decimalKey, ",")) }
    if column.isOnRequest { pairs.append((requestKey, "true")) }
    if let rank = column.rank { pairs.append((rankKey, "\(rank)")) }
    if let role = column.role { pairs.append((roleKey, role.rawValue)) }
    return ExportedField(column.name, format: column.format.description, metadata: pairs)
  }
  exportSchema(fields, to: out)
}

/// Fills a schema with these fields.
package func exportSchema(_ fields: [ExportedField], to out: UnsafeMutablePointer<ArrowSchema>) {
  let arena = ExportedMemory()
  let children = fields.map { field in
    let child = UnsafeMutablePointer<ArrowSchema>.allocate(capacity: 1)
    child.initialize(
      to: ArrowSchema(
        format: cString(field.format, arena), name: cString(withoutNUL(field.name), arena),
        metadata: metadata(field.metadata, arena),
        flags: field.isNullable ? Int64(ARROW_FLAG_NULLABLE) : 0, n_children: 0,
        children: nil, dictionary: nil, release: { $0.pointee.release = nil },
        private_data: nil))
    return Optional(child)
  }
  out.pointee = ArrowSchema(
    format: cString("+s", arena), name: cString("", arena), metadata: nil, flags: 0,
    n_children: Int64(children.count),
    children: UnsafeMutablePointer(mutating: arena.array(children)), dictionary: nil,
    release: { schema in
      for index in 0..<Int(schema.pointee.n_children) {
        guard let child = schema.pointee.children?[index] else { continue }
        child.pointee.release?(child)
        child.deallocate()
      }
      ExportedMemory.release(schema.pointee.private_data)
      schema.pointee.release = nil
    }, private_data: arena.retained())
}

/// Replaces each NUL in a name, because names cross the contract as C strings.
private func withoutNUL(_ name: String) -> String {
  guard name.utf8.contains(0) else { return name }
  return name.split(separator: "\0", omittingEmptySubsequences: false)
    .joined(separator: "\u{FFFD}")
}

private func cString(_ text: String, _ arena: ExportedMemory) -> UnsafePointer<CChar> {
  arena.array(text.utf8CString)
}

/// Arrow's metadata format: a count, then keys and values, each preceded by its length.
private func metadata(_ pairs: [(String, String)], _ arena: ExportedMemory) -> UnsafePointer<CChar>?
{
  if pairs.isEmpty { return nil }
  var bytes: [UInt8] = []
  bytes.reserveCapacity(64)
  func put(_ number: Int) {
    withUnsafeBytes(of: Int32(number)) { bytes.append(contentsOf: $0) }
  }
  put(pairs.count)
  for (key, value) in pairs {
    for text in [key, value] {
      put(text.utf8.count)
      bytes.append(contentsOf: text.utf8)
    }
  }
  return UnsafeRawPointer(arena.array(bytes)).assumingMemoryBound(to: CChar.self)
}

/// Reads the columns of a schema, and releases the schema. Throws ``TableError`` with `.misbehaved` if it breaks
/// the contract.
func importSchema(
  _ schema: inout ArrowSchema, _ witness: ReleaseWitness
) throws(TableError) -> [Column] {
  guard schema.release != nil else {
    throw TableError(.misbehaved, "schema: returned no release")
  }
  defer {
    schema.release?(&schema)
    witness.released("a schema", isCleared: schema.release == nil)
  }
  guard schema.format.map({ String(cString: $0) }) == "+s" else {
    throw TableError(.misbehaved, "schema: is not a struct of columns")
  }
  guard (0...Int64(Int32.max)).contains(schema.n_children),
    schema.n_children == 0 || schema.children != nil
  else { throw TableError(.misbehaved, "schema: has \(schema.n_children) columns") }
  var columns: [Column] = []
  for index in 0..<Int(schema.n_children) {
    guard let child = schema.children?[index] else {
      throw TableError(.misbehaved, "schema: column \(index) is null")
    }
    columns.append(try importColumn(child.pointee, index))
  }
  return columns
}

private func importColumn(_ field: ArrowSchema, _ index: Int) throws(TableError) -> Column {
  guard field.dictionary == nil, field.n_children == 0, let format = field.format else {
    throw TableError(.misbehaved, "schema: column \(index) is not of a simple type")
  }
  let pairs = try readMetadata(field.metadata, index)
  let formatText = String(cString: format)
  let type: ColumnType
  switch formatText {
  case "z": type = pairs[typeKey] == "text" ? .text : .binary
  case "l": type = .integer
  case "g": type = .real
  case "b": type = .boolean
  case "tsn:UTC": type = .date
  default:
    throw TableError(
      .misbehaved,
      "schema: column \(index) has the Arrow format \(formatText), which is not supported"
    )
  }
  // Only text columns can be read as another type.
  let reads = ColumnType.allCases.first {
    type == .text && !$0.isBytes && $0.name == pairs[readsKey]
  }
  return Column(
    field.name.map { String(cString: $0) } ?? "", type,
    unit: pairs[unitKey].flatMap { Unit(rawValue: $0) }, reads: reads,
    hasDecimalComma: type == .text && pairs[decimalKey] == ",",
    isOnRequest: pairs[requestKey] == "true",
    rank: pairs[rankKey].flatMap { Int($0) },
    role: pairs[roleKey].flatMap { ColumnRole(rawValue: $0) })
}

private func readMetadata(
  _ start: UnsafePointer<CChar>?, _ index: Int
) throws(TableError) -> Metadata {
  guard let start else { return Metadata() }
  var at = UnsafeRawPointer(start)
  func number() throws(TableError) -> Int {
    let value = at.loadUnaligned(as: Int32.self)
    at += 4
    guard 0...1_000_000 ~= value else {
      throw TableError(.misbehaved, "schema: column \(index) has broken metadata")
    }
    return Int(value)
  }
  func string() throws(TableError) -> String {
    let length = try number()
    defer { at += length }
    return String(decoding: UnsafeRawBufferPointer(start: at, count: length), as: UTF8.self)
  }
  var metadata = Metadata()
  for _ in 0..<(try number()) {
    let key = try string()
    metadata.pairs.append((key, try string()))
  }
  return metadata
}

/// The metadata of a column, a few pairs.
private struct Metadata {
  var pairs: [(key: String, value: String)] = []

  /// The value of the last pair with this key.
  subscript(key: String) -> String? { pairs.last { $0.key == key }?.value }
}
