import Tabella
import TabellaConfinement

// The formats of the protocol's values. Each value is written and read side by side.

extension IndexPath: WireValue {
  static var isPlain: Bool { true }

  func write(to writer: inout WireWriter) {
    writer.put(section)
    writer.put(row)
  }

  static func read(_ reader: inout WireReader) throws(TableError) -> IndexPath {
    IndexPath(section: try reader.get(Int.self), row: try reader.get(Int.self))
  }
}

extension Count: WireValue {
  func write(to writer: inout WireWriter) {
    writer.put(isExact)
    writer.put(value)
  }

  static func read(_ reader: inout WireReader) throws(TableError) -> Count {
    let isExact = try reader.get(Bool.self)
    let value = try reader.get(Int.self)
    return isExact ? .exact(value) : .atLeast(value)
  }
}

extension Version: WireValue {
  func write(to writer: inout WireWriter) { writer.put(token) }

  static func read(_ reader: inout WireReader) throws(TableError) -> Version {
    Version(try reader.get(String.self))
  }
}

extension Column: WireValue {
  func write(to writer: inout WireWriter) {
    writer.put(name)
    writer.put(type)
    writer.put(unit?.rawValue)
    writer.put(reads?.name)
    writer.put(hasDecimalComma)
    writer.put(isOnRequest)
    writer.put(rank)
    writer.put(role?.rawValue)
  }

  static func read(_ reader: inout WireReader) throws(TableError) -> Column {
    Column(
      try reader.get(String.self), try reader.get(ColumnType.self),
      unit: try reader.get(String?.self).flatMap { Unit(rawValue: $0) },
      reads: try reader.get(String?.self).flatMap { name in
        ColumnType.allCases.first { $0.name == name }
      },
      hasDecimalComma: try reader.get(Bool.self), isOnRequest: try reader.get(Bool.self),
      rank: try reader.get(Int?.self),
      role: try reader.get(String?.self).flatMap { ColumnRole(rawValue: $0) })
  }
}

extension TableError: WireValue {
  func write(to writer: inout WireWriter) {
    writer.put(code)
    writer.put(message)
    writer.put(section)
    writer.put(row)
    writer.put(column)
    writer.put(isRetryable)
    writer.put(receipt.map { WireBytes($0) })
    // The other remedies are the host's.
    writer.put(remedies.contains(.acceptWeakIsolation))
  }

  static func read(_ reader: inout WireReader) throws(TableError) -> TableError {
    var error = TableError(try reader.get(TableError.Code.self), try reader.get(String.self))
    error.section = try reader.get(Int?.self)
    error.row = try reader.get(Int?.self)
    error.column = try reader.get(Int?.self)
    error.isRetryable = try reader.get(Bool.self)
    error.receipt = try reader.get(WireBytes?.self)?.bytes
    if try reader.get(Bool.self) { error.remedies = [.acceptWeakIsolation] }
    return error
  }
}

extension OpenRequest: WireValue {
  func write(to writer: inout WireWriter) {
    writer.put(bytes: location)
    writer.put(scheme)
    writer.put(options)
  }

  static func read(_ reader: inout WireReader) throws(TableError) -> OpenRequest {
    OpenRequest(
      location: try reader.get(WireBytes.self).bytes, scheme: try reader.get(String?.self),
      options: try reader.get([String: String].self))
  }
}

extension OptionDeclaration: WireValue {
  func write(to writer: inout WireWriter) {
    writer.put(name)
    writer.put(kind)
    writer.put(defaultValue)
    writer.put(choices)
    writer.put(summary)
  }

  static func read(_ reader: inout WireReader) throws(TableError) -> OptionDeclaration {
    OptionDeclaration(
      try reader.get(String.self), try reader.get(OptionDeclaration.Kind.self),
      default: try reader.get(String?.self), choices: try reader.get([String].self),
      summary: try reader.get(String.self))
  }
}

extension RowRequest: WireValue {
  func write(to writer: inout WireWriter) {
    writer.put(section)
    writer.put(first)
    writer.put(count)
    writer.put(columns)
    writer.put(includesIDs)
  }

  static func read(_ reader: inout WireReader) throws(TableError) -> RowRequest {
    RowRequest(
      section: try reader.get(Int.self), first: try reader.get(Int.self),
      count: try reader.get(Int.self),
      columns: try reader.get([Int].self), includesIDs: try reader.get(Bool.self))
  }
}

extension Diagnostic: WireValue {
  func write(to writer: inout WireWriter) {
    writer.put(severity)
    writer.put(message)
  }

  static func read(_ reader: inout WireReader) throws(TableError) -> Diagnostic {
    Diagnostic(try reader.get(Diagnostic.Severity.self), try reader.get(String.self))
  }
}

extension StyledText: WireValue {
  func write(to writer: inout WireWriter) {
    writer.put(bytes: bytes)
    writer.put(spans)
  }

  static func read(_ reader: inout WireReader) throws(TableError) -> StyledText {
    StyledText(try reader.get(WireBytes.self).bytes, spans: try reader.get([StyledText.Span].self))
  }
}

extension StyledText.Span: WireValue {
  func write(to writer: inout WireWriter) {
    writer.put(bytes.lowerBound)
    writer.put(bytes.count)
    writer.put(style)
  }

  static func read(_ reader: inout WireReader) throws(TableError) -> StyledText.Span {
    let (start, count) = (try reader.get(Int.self), try reader.get(Int.self))
    guard start >= 0, count >= 0, start <= Int.max - count else {
      throw .malformed("a span has \(count) bytes at \(start)")
    }
    return StyledText.Span(start..<start + count, try reader.get(StyledText.Style.self))
  }
}

extension AbilitySet: WireValue {
  func write(to writer: inout WireWriter) { writer.put(rawValue) }

  static func read(_ reader: inout WireReader) throws(TableError) -> AbilitySet {
    AbilitySet(rawValue: try reader.get(Int.self))
  }
}

// Edits and changes.

extension Cell: WireValue {
  func write(to writer: inout WireWriter) {
    writer.put(type)
    switch self {
    case .missing: break
    case .text(let bytes), .binary(let bytes): writer.put(bytes: bytes)
    case .integer(let value): writer.put(Int(value))
    case .real(let value): writer.put(word: value.bitPattern)
    case .boolean(let value): writer.put(value)
    case .date(let value): writer.put(Int(value.nanoseconds))
    }
  }

  static func read(_ reader: inout WireReader) throws(TableError) -> Cell {
    switch try reader.get(ColumnType?.self) {
    case nil: return .missing
    case .text: return .text(try reader.get(WireBytes.self).bytes)
    case .binary: return .binary(try reader.get(WireBytes.self).bytes)
    case .integer: return .integer(Int64(try reader.get(Int.self)))
    case .real: return .real(Double(bitPattern: try reader.word()))
    case .boolean: return .boolean(try reader.get(Bool.self))
    case .date: return .date(Timestamp(nanoseconds: Int64(try reader.get(Int.self))))
    }
  }
}

extension RowReference: WireValue {
  func write(to writer: inout WireWriter) {
    switch self {
    case .id(let id): writer.put(String?.some(id))
    case .path(let path):
      writer.put(String?.none)
      writer.put(path)
    }
  }

  static func read(_ reader: inout WireReader) throws(TableError) -> RowReference {
    if let id = try reader.get(String?.self) { return .id(id) }
    return .path(try reader.get(IndexPath.self))
  }
}

extension EditBatch: WireValue {
  func write(to writer: inout WireWriter) {
    writer.put(version)
    writer.put(isDryRun)
    writer.put(edits)
  }

  static func read(_ reader: inout WireReader) throws(TableError) -> EditBatch {
    let (version, isDryRun) = (try reader.get(Version?.self), try reader.get(Bool.self))
    return EditBatch(try reader.get([EditBatch.Edit].self), version: version, isDryRun: isDryRun)
  }
}

extension EditBatch.Edit: WireValue {
  func write(to writer: inout WireWriter) {
    switch self {
    case .insert(let path, let cells):
      writer.put(0)
      writer.put(path)
      writer.put(cells)
    case .delete(let reference):
      writer.put(1)
      writer.put(reference)
    case .set(let reference, let cells):
      writer.put(2)
      writer.put(reference)
      writer.put(cells)
    case .move(let reference, let path):
      writer.put(3)
      writer.put(reference)
      writer.put(path)
    }
  }

  static func read(_ reader: inout WireReader) throws(TableError) -> EditBatch.Edit {
    switch try reader.get(Int.self) {
    case 0:
      return .insert(at: try reader.get(IndexPath.self), cells: try reader.get([Int: Cell].self))
    case 1: return .delete(try reader.get(RowReference.self))
    case 2: return .set(try reader.get(RowReference.self), cells: try reader.get([Int: Cell].self))
    case 3: return .move(try reader.get(RowReference.self), to: try reader.get(IndexPath.self))
    case let kind: throw .malformed("an edit is of the kind \(kind)")
    }
  }
}

extension EditResult: WireValue {
  func write(to writer: inout WireWriter) {
    writer.put(outcomes)
    writer.put(changes)
    writer.put(receipt.map { WireBytes($0) })
  }

  static func read(_ reader: inout WireReader) throws(TableError) -> EditResult {
    EditResult(
      outcomes: try reader.get([EditResult.Outcome].self),
      changes: try reader.get(ChangeBatch.self),
      receipt: try reader.get(WireBytes?.self)?.bytes)
  }
}

extension EditResult.Outcome: WireValue {
  func write(to writer: inout WireWriter) {
    writer.put(code)
    writer.put(message)
    writer.put(id)
    writer.put(isFinal)
  }

  static func read(_ reader: inout WireReader) throws(TableError) -> EditResult.Outcome {
    EditResult.Outcome(
      code: try reader.get(TableError.Code?.self), message: try reader.get(String?.self),
      id: try reader.get(String?.self), isFinal: try reader.get(Bool.self))
  }
}

extension ChangeBatch: WireValue {
  func write(to writer: inout WireWriter) {
    writer.put(from)
    writer.put(to)
    writer.put(changes)
  }

  static func read(_ reader: inout WireReader) throws(TableError) -> ChangeBatch {
    ChangeBatch(
      from: try reader.get(Version?.self), to: try reader.get(Version?.self),
      changes: try reader.get([ChangeBatch.Change]?.self))
  }
}

extension ChangeBatch.Change: WireValue {
  func write(to writer: inout WireWriter) {
    let none = IndexPath(section: -1, row: -1)
    let (kind, from, target): (Int, IndexPath, IndexPath) =
      switch self {
      case .insert(let path): (0, none, path)
      case .delete(let path): (1, path, none)
      case .move(let from, let target): (2, from, target)
      case .reload(let path): (3, path, none)
      case .reconfigure(let path): (4, path, none)
      }
    writer.put(kind)
    writer.put(from)
    writer.put(target)
  }

  static func read(_ reader: inout WireReader) throws(TableError) -> ChangeBatch.Change {
    let kind = try reader.get(Int.self)
    let (from, target) = (try reader.get(IndexPath.self), try reader.get(IndexPath.self))
    switch kind {
    case 0: return .insert(target)
    case 1: return .delete(from)
    case 2: return .move(from: from, to: target)
    case 3: return .reload(from)
    case 4: return .reconfigure(from)
    default: throw .malformed("a change is of the kind \(kind)")
    }
  }
}

// Confinement.

extension WorkerRules: WireValue {
  func write(to writer: inout WireWriter) {
    for grants in [readable, writable, saving, libraries] { writer.put(grants) }
    for right in [links, signals, network] { writer.put(right) }
    for limit in [memory, addresses, files, processorSeconds] { writer.put(limit) }
    writer.put(fileSize)
    writer.put(isStrict)
  }

  static func read(_ reader: inout WireReader) throws(TableError) -> WorkerRules {
    var rules = WorkerRules()
    rules.readable = try reader.get([Grant].self)
    rules.writable = try reader.get([Grant].self)
    rules.saving = try reader.get([Grant].self)
    rules.libraries = try reader.get([Grant].self)
    rules.links = try reader.get(Bool.self)
    rules.signals = try reader.get(Bool.self)
    rules.network = try reader.get(Bool.self)
    rules.memory = try reader.get(Int.self)
    rules.addresses = try reader.get(Int.self)
    rules.files = try reader.get(Int.self)
    rules.processorSeconds = try reader.get(Int.self)
    rules.fileSize = try reader.get(Int?.self)
    rules.isStrict = try reader.get(Bool.self)
    return rules
  }
}

extension Grant: WireValue {
  func write(to writer: inout WireWriter) {
    writer.put(bytes: path)
    writer.put(identity)
  }

  static func read(_ reader: inout WireReader) throws(TableError) -> Grant {
    Grant(
      path: try reader.get(WireBytes.self).bytes, identity: try reader.get(Grant.Identity?.self))
  }
}

extension Grant.Identity: WireValue {
  func write(to writer: inout WireWriter) {
    writer.put(word: device)
    writer.put(word: inode)
  }

  static func read(_ reader: inout WireReader) throws(TableError) -> Grant.Identity {
    Grant.Identity(device: try reader.word(), inode: try reader.word())
  }
}

extension ConfinementReport: WireValue {
  func write(to writer: inout WireWriter) {
    writer.put(inForce)
    writer.put(lacking)
    writer.put(absent.map { WireBytes($0) })
  }

  static func read(_ reader: inout WireReader) throws(TableError) -> ConfinementReport {
    var report = ConfinementReport()
    report.inForce = try reader.get([String].self)
    report.lacking = try reader.get([String].self)
    report.absent = try paths(&reader)
    return report
  }
}

private func paths(_ reader: inout WireReader) throws(TableError) -> [[UInt8]] {
  try reader.get([WireBytes].self).map(\.bytes)
}
