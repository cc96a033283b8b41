import Tabella
import TabellaConfinement
import TabellaSystem

@testable import TabellaRemote

/// A value that tests draw at random. Rare values are more frequent than in practice.
protocol Drawn {
  static func drawn(_ generator: inout SeededGenerator) -> Self
}

extension SeededGenerator {
  mutating func chance(_ count: Int) -> Int { Int.random(in: 0..<count, using: &self) }

  mutating func list<V>(_ draw: (inout SeededGenerator) -> V) -> [V] {
    (0..<[0, 1, 2, 5].randomElement(using: &self)!).map { _ in draw(&self) }
  }
}

extension Int: Drawn {
  static func drawn(_ generator: inout SeededGenerator) -> Int {
    switch generator.chance(4) {
    case 0: [0, 1, -1, .max, .min, 1 << 32].randomElement(using: &generator)!
    case 1: .random(in: .min ... .max, using: &generator)
    default: generator.chance(100)
    }
  }
}

extension UInt64: Drawn {
  static func drawn(_ generator: inout SeededGenerator) -> UInt64 {
    UInt64(bitPattern: Int64(Int.drawn(&generator)))
  }
}

extension Bool: Drawn {
  static func drawn(_ generator: inout SeededGenerator) -> Bool { generator.chance(2) == 0 }
}

extension String: Drawn {
  static func drawn(_ generator: inout SeededGenerator) -> String {
    let texts = [
      "", "a", "é", "🙂", "\0", "\u{FEFF}", "a long text, which is in no register", "\r\n",
    ]
    return generator.list { texts.randomElement(using: &$0)! }.joined()
  }
}

extension WireBytes: Drawn, Equatable {
  static func drawn(_ generator: inout SeededGenerator) -> WireBytes {
    WireBytes(generator.list { .random(in: 0...255, using: &$0) })
  }

  public static func == (left: WireBytes, right: WireBytes) -> Bool { left.bytes == right.bytes }
}

extension Optional: Drawn where Wrapped: Drawn {
  static func drawn(_ generator: inout SeededGenerator) -> Wrapped? {
    Bool.drawn(&generator) ? .drawn(&generator) : nil
  }
}

extension Array: Drawn where Element: Drawn {
  static func drawn(_ generator: inout SeededGenerator) -> [Element] {
    generator.list { .drawn(&$0) }
  }
}

extension Dictionary: Drawn where Key: Drawn, Value: Drawn {
  static func drawn(_ generator: inout SeededGenerator) -> [Key: Value] {
    var map: [Key: Value] = [:]
    // Assigning a missing cell with a plain nil would remove the key.
    for _ in 0..<generator.chance(4) {
      map.updateValue(.drawn(&generator), forKey: .drawn(&generator))
    }
    return map
  }
}

/// Open enumerations: known numbers and others.
extension Drawn where Self: RawRepresentable<Int32> {
  fileprivate static func any(_ generator: inout SeededGenerator) -> Self? {
    Self(rawValue: Int32(truncatingIfNeeded: Int.drawn(&generator)))
  }
}

extension TableError.Code: Drawn {
  static func drawn(_ generator: inout SeededGenerator) -> TableError.Code { any(&generator)! }
}

extension StyledText.Style: Drawn {
  static func drawn(_ generator: inout SeededGenerator) -> StyledText.Style { any(&generator)! }
}

/// Closed enumerations.
extension CaseIterable where Self: Drawn {
  static func drawn(_ generator: inout SeededGenerator) -> Self {
    allCases.randomElement(using: &generator)!
  }
}

extension ColumnType: Drawn {}
extension OptionDeclaration.Kind: Drawn {}
extension Operation: Drawn {}

extension TitlePlace: Drawn {}

extension Diagnostic.Severity: Drawn {
  static func drawn(_ generator: inout SeededGenerator) -> Diagnostic.Severity {
    Bool.drawn(&generator) ? .note : .warning
  }
}

// Structures

extension IndexPath: Drawn {
  static func drawn(_ generator: inout SeededGenerator) -> IndexPath {
    IndexPath(section: .drawn(&generator), row: .drawn(&generator))
  }
}

extension Count: Drawn {
  static func drawn(_ generator: inout SeededGenerator) -> Count {
    Bool.drawn(&generator) ? .exact(.drawn(&generator)) : .atLeast(.drawn(&generator))
  }
}

extension Version: Drawn {
  static func drawn(_ generator: inout SeededGenerator) -> Version { Version(.drawn(&generator)) }
}

extension Column: Drawn {
  static func drawn(_ generator: inout SeededGenerator) -> Column {
    let units: [Unit?] = Unit.allCases + [nil]
    let readings: [ColumnType?] = ColumnType.allCases + [nil]
    return Column(
      .drawn(&generator), .drawn(&generator), unit: units.randomElement(using: &generator)!,
      reads: readings.randomElement(using: &generator)!, hasDecimalComma: .drawn(&generator),
      isOnRequest: .drawn(&generator),
      rank: .drawn(&generator),
      role: (ColumnRole.allCases + [nil]).randomElement(using: &generator)!)
  }
}

extension TableError: Drawn {
  static func drawn(_ generator: inout SeededGenerator) -> TableError {
    var error = TableError(
      .drawn(&generator), .drawn(&generator), section: .drawn(&generator), row: .drawn(&generator),
      column: .drawn(&generator))
    error.isRetryable = .drawn(&generator)
    error.receipt = WireBytes?.drawn(&generator)?.bytes
    return error
  }
}

extension OpenRequest: Drawn {
  static func drawn(_ generator: inout SeededGenerator) -> OpenRequest {
    OpenRequest(
      location: WireBytes.drawn(&generator).bytes, scheme: .drawn(&generator),
      options: .drawn(&generator))
  }
}

extension OptionDeclaration: Drawn {
  static func drawn(_ generator: inout SeededGenerator) -> OptionDeclaration {
    OptionDeclaration(
      .drawn(&generator), .drawn(&generator), default: .drawn(&generator),
      choices: .drawn(&generator), summary: .drawn(&generator))
  }
}

extension RowRequest: Drawn {
  static func drawn(_ generator: inout SeededGenerator) -> RowRequest {
    RowRequest(
      section: .drawn(&generator), first: .drawn(&generator), count: .drawn(&generator),
      columns: .drawn(&generator), includesIDs: .drawn(&generator))
  }
}

extension Diagnostic: Drawn {
  static func drawn(_ generator: inout SeededGenerator) -> Diagnostic {
    Diagnostic(.drawn(&generator), .drawn(&generator))
  }
}

extension StyledText: Drawn {
  static func drawn(_ generator: inout SeededGenerator) -> StyledText {
    StyledText(WireBytes.drawn(&generator).bytes, spans: .drawn(&generator))
  }
}

extension StyledText.Span: Drawn {
  static func drawn(_ generator: inout SeededGenerator) -> StyledText.Span {
    let start = abs(max(Int.drawn(&generator), -.max))
    let count = abs(max(Int.drawn(&generator), -.max))
    return StyledText.Span(start..<start + min(count, .max - start), .drawn(&generator))
  }
}

// Edits and changes

extension Cell: Drawn {
  static func drawn(_ generator: inout SeededGenerator) -> Cell {
    switch generator.chance(8) {
    case 0: .missing
    case 1: .text(WireBytes.drawn(&generator).bytes)
    case 2: .binary(WireBytes.drawn(&generator).bytes)
    case 3: .integer(Int64(Int.drawn(&generator)))
    case 4: .real([0, -0.0, 1.5, .infinity, -.pi].randomElement(using: &generator)!)
    case 5: .boolean(.drawn(&generator))
    case 6: .date(Timestamp(nanoseconds: Int64(Int.drawn(&generator))))
    default: .integer(0)
    }
  }
}

extension RowReference: Drawn {
  static func drawn(_ generator: inout SeededGenerator) -> RowReference {
    Bool.drawn(&generator) ? .id(.drawn(&generator)) : .path(.drawn(&generator))
  }
}

extension EditBatch.Edit: Drawn {
  static func drawn(_ generator: inout SeededGenerator) -> EditBatch.Edit {
    switch generator.chance(4) {
    case 0: .insert(at: .drawn(&generator), cells: .drawn(&generator))
    case 1: .delete(.drawn(&generator))
    case 2: .set(.drawn(&generator), cells: .drawn(&generator))
    default: .move(.drawn(&generator), to: .drawn(&generator))
    }
  }
}

extension EditBatch: Drawn {
  static func drawn(_ generator: inout SeededGenerator) -> EditBatch {
    EditBatch(.drawn(&generator), version: .drawn(&generator), isDryRun: .drawn(&generator))
  }
}

extension EditResult.Outcome: Drawn {
  static func drawn(_ generator: inout SeededGenerator) -> EditResult.Outcome {
    EditResult.Outcome(
      code: .drawn(&generator), message: .drawn(&generator), id: .drawn(&generator),
      isFinal: .drawn(&generator))
  }
}

extension EditResult: Drawn {
  static func drawn(_ generator: inout SeededGenerator) -> EditResult {
    EditResult(
      outcomes: .drawn(&generator), changes: .drawn(&generator),
      receipt: WireBytes?.drawn(&generator)?.bytes)
  }
}

extension ChangeBatch.Change: Drawn {
  static func drawn(_ generator: inout SeededGenerator) -> ChangeBatch.Change {
    switch generator.chance(5) {
    case 0: .insert(.drawn(&generator))
    case 1: .delete(.drawn(&generator))
    case 2: .move(from: .drawn(&generator), to: .drawn(&generator))
    case 3: .reload(.drawn(&generator))
    default: .reconfigure(.drawn(&generator))
    }
  }
}

extension ChangeBatch: Drawn {
  static func drawn(_ generator: inout SeededGenerator) -> ChangeBatch {
    ChangeBatch(from: .drawn(&generator), to: .drawn(&generator), changes: .drawn(&generator))
  }
}

// Between host and worker only

extension LoadRequest: Drawn {
  static func drawn(_ generator: inout SeededGenerator) -> LoadRequest {
    LoadRequest(
      library: .drawn(&generator), name: .drawn(&generator), isMinimal: .drawn(&generator),
      isProbed: .drawn(&generator), rules: .drawn(&generator))
  }
}

extension LoadedProvider: Drawn {
  static func drawn(_ generator: inout SeededGenerator) -> LoadedProvider {
    LoadedProvider(
      contract: .drawn(&generator), id: .drawn(&generator), version: .drawn(&generator),
      options: .drawn(&generator),
      confinement: Bool.drawn(&generator) ? ConfinementReport.drawn(&generator) : nil)
  }
}

extension WorkerRules: Drawn {
  static func drawn(_ generator: inout SeededGenerator) -> WorkerRules {
    func grants() -> [Grant] {
      [String].drawn(&generator).map { path in
        let identity = Grant.Identity(
          device: UInt64.random(in: 0 ... .max, using: &generator),
          inode: UInt64.random(in: 0 ... .max, using: &generator))
        return Grant(
          path: Array(path.utf8), identity: Bool.drawn(&generator) ? identity : nil)
      }
    }
    var rules = WorkerRules()
    (rules.readable, rules.writable) = (grants(), grants())
    (rules.saving, rules.libraries) = (grants(), grants())
    (rules.signals, rules.network) = (.drawn(&generator), .drawn(&generator))
    (rules.memory, rules.addresses) = (.drawn(&generator), .drawn(&generator))
    (rules.files, rules.processorSeconds) = (.drawn(&generator), .drawn(&generator))
    rules.fileSize = Bool.drawn(&generator) ? Int.drawn(&generator) : nil
    rules.isStrict = .drawn(&generator)
    return rules
  }
}

extension ConfinementReport: Drawn {
  static func drawn(_ generator: inout SeededGenerator) -> ConfinementReport {
    var report = ConfinementReport()
    (report.inForce, report.lacking) = (.drawn(&generator), .drawn(&generator))
    report.absent = [String].drawn(&generator).map { Array($0.utf8) }
    return report
  }
}

extension ResourceUse: Drawn {
  static func drawn(_ generator: inout SeededGenerator) -> ResourceUse {
    ResourceUse(
      heap: .drawn(&generator), descriptors: .drawn(&generator), threads: .drawn(&generator))
  }
}
