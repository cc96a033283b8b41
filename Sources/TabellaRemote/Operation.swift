import Tabella
import TabellaConfinement

/// What a host may ask of a worker: the functions of the contract, one each.
public enum Operation: Int32, Hashable, Sendable, CaseIterable {
  // Of the worker
  case load = 1
  case open
  case statistics
  case probe
  // Of a source
  case release
  case version
  case numberOfRows
  case rows
  case numberOfSections
  case title
  case sectionIndexTitles
  case indexPathForTitle
  case indexPathForID
  case gather
  case listen
  case pull
  case editability
  case editableColumns
  case commit
  case movability
  case target
  case undo
  case supplementaryKinds
  case supplementaryElement
  case location
  case willDisplay
  case didEndDisplaying
  case prefetch
  case cancelPrefetching
  case nextDiagnostic
  case sectionEditability
  case canInsertSections

  /// The name in messages, as the contract has it.
  public var name: String {
    switch self {
    case .numberOfRows: "row_count"
    case .numberOfSections: "sections.count"
    case .title: "sections.title"
    case .sectionIndexTitles: "section_index.titles"
    case .indexPathForTitle: "section_index.path"
    case .indexPathForID: "identity.find"
    case .gather: "gathering.rows"
    case .listen: "changes.listen"
    case .pull: "changes.pull"
    case .editability: "editing.editable"
    case .editableColumns: "editing.editable_columns"
    case .commit: "editing.commit"
    case .sectionEditability: "section_editing.editable"
    case .canInsertSections: "section_editing.insertable"
    case .movability: "moving.movable"
    case .target: "moving.target"
    case .undo: "undo.undo"
    case .supplementaryKinds: "supplementary.kinds"
    case .supplementaryElement: "supplementary.element"
    case .location: "accessories.location"
    case .willDisplay: "display.will_display"
    case .didEndDisplaying: "display.did_end_displaying"
    case .prefetch: "prefetching.prefetch"
    case .cancelPrefetching: "prefetching.cancel_prefetch"
    case .nextDiagnostic: "diagnostics.next"
    default: "\(self)"
    }
  }

  /// Whether it may change what the user has: once it is begun, its end must be known.
  public var edits: Bool { self == .commit || self == .undo }
}

extension Operation: WireValue {}

/// What is told of a source when it is opened.
struct SourceDescription: WireValue {
  var number: Int
  var columns: [Column]
  var hasVolatileOrder: Bool
  var canCancel: Bool
  var abilities: Abilities

  /// The abilities that a source has.
  struct Abilities: OptionSet, WireValue {
    var rawValue: Int

    static let sections = Abilities(rawValue: 1 << 0)
    static let sectionIndex = Abilities(rawValue: 1 << 1)
    static let identity = Abilities(rawValue: 1 << 2)
    static let gathering = Abilities(rawValue: 1 << 3)
    static let changes = Abilities(rawValue: 1 << 4)
    static let editing = Abilities(rawValue: 1 << 5)
    static let moving = Abilities(rawValue: 1 << 6)
    static let undoing = Abilities(rawValue: 1 << 7)
    static let supplementary = Abilities(rawValue: 1 << 8)
    static let accessories = Abilities(rawValue: 1 << 9)
    static let display = Abilities(rawValue: 1 << 10)
    static let prefetching = Abilities(rawValue: 1 << 11)
    static let diagnostics = Abilities(rawValue: 1 << 12)
    static let sectionEditing = Abilities(rawValue: 1 << 13)

    init(rawValue: Int) { self.rawValue = rawValue }

    init(of source: any TableDataSource) {
      self = []
      if source.sections != nil { insert(.sections) }
      if source.sectionIndex != nil { insert(.sectionIndex) }
      if source.identity != nil { insert(.identity) }
      if source.gathering != nil { insert(.gathering) }
      if source.changes != nil { insert(.changes) }
      if source.editing != nil { insert(.editing) }
      if source.moving != nil { insert(.moving) }
      if source.undoing != nil { insert(.undoing) }
      if source.supplementary != nil { insert(.supplementary) }
      if source.accessories != nil { insert(.accessories) }
      if source.display != nil { insert(.display) }
      if source.prefetching != nil { insert(.prefetching) }
      if source.diagnostics != nil { insert(.diagnostics) }
      if source.sectionEditing != nil { insert(.sectionEditing) }
    }

    func write(to writer: inout WireWriter) { writer.put(rawValue) }

    static func read(_ reader: inout WireReader) throws(TableError) -> Abilities {
      Abilities(rawValue: try reader.get(Int.self))
    }
  }

  init(_ source: any TableDataSource, number: Int) {
    self.number = number
    columns = source.columns
    hasVolatileOrder = source.hasVolatileOrder
    canCancel = source.cancellation != nil
    abilities = Abilities(of: source)
  }

  private init(
    number: Int, columns: [Column], hasVolatileOrder: Bool, canCancel: Bool, abilities: Abilities
  ) {
    self.number = number
    self.columns = columns
    self.hasVolatileOrder = hasVolatileOrder
    self.canCancel = canCancel
    self.abilities = abilities
  }

  func write(to writer: inout WireWriter) {
    writer.put(number)
    writer.put(columns)
    writer.put(hasVolatileOrder)
    writer.put(canCancel)
    writer.put(abilities)
  }

  static func read(_ reader: inout WireReader) throws(TableError) -> SourceDescription {
    SourceDescription(
      number: try reader.get(Int.self), columns: try reader.get([Column].self),
      hasVolatileOrder: try reader.get(Bool.self),
      canCancel: try reader.get(Bool.self), abilities: try reader.get(Abilities.self))
  }
}

/// What a worker is told when it begins: the library and what it may do.
public struct LoadRequest: Hashable, Sendable {
  /// The library's path, for messages and the loader; the file itself is the worker's descriptor 6.
  public var library: String
  /// What to call the provider until its own id is known.
  public var name: String
  /// Whether the provider gets a host that offers nothing.
  public var isMinimal: Bool
  /// Whether the entry is left uncalled, for a probe that does so; what is loaded then says nothing.
  public var isProbed: Bool
  /// What the worker may do.
  public var rules: Rules

  public init(
    library: String, name: String, isMinimal: Bool = false, isProbed: Bool = false,
    rules: Rules = Rules()
  ) {
    self.library = library
    self.name = name
    self.isMinimal = isMinimal
    self.isProbed = isProbed
    self.rules = rules
  }
}

extension LoadRequest: WireValue {
  func write(to writer: inout WireWriter) {
    writer.put(library)
    writer.put(name)
    writer.put(isMinimal)
    writer.put(isProbed)
    writer.put(rules)
  }

  static func read(_ reader: inout WireReader) throws(TableError) -> LoadRequest {
    LoadRequest(
      library: try reader.get(String.self), name: try reader.get(String.self),
      isMinimal: try reader.get(Bool.self), isProbed: try reader.get(Bool.self),
      rules: try reader.get(Rules.self))
  }
}

/// What a provider says of itself once it is loaded.
public struct LoadedProvider: Hashable, Sendable {
  public var id: String
  public var version: String
  public var options: [OptionDeclaration]
  /// What confines the worker, in words; nil in a host's own process.
  public var confinement: Report?

  public init(
    id: String, version: String, options: [OptionDeclaration], confinement: Report? = nil
  ) {
    self.id = id
    self.version = version
    self.options = options
    self.confinement = confinement
  }
}

extension LoadedProvider: WireValue {
  func write(to writer: inout WireWriter) {
    writer.put(id)
    writer.put(version)
    writer.put(options)
    writer.put(confinement)
  }

  static func read(_ reader: inout WireReader) throws(TableError) -> LoadedProvider {
    LoadedProvider(
      id: try reader.get(String.self), version: try reader.get(String.self),
      options: try reader.get([OptionDeclaration].self),
      confinement: try reader.get(Report?.self))
  }
}

/// What a worker uses, for checks of providers.
public struct WorkerStatistics: Hashable, Sendable {
  /// The bytes that malloc has handed out.
  public var heap: Int
  /// The open descriptors.
  public var descriptors: Int
  public var threads: Int

  public init(heap: Int, descriptors: Int, threads: Int) {
    self.heap = heap
    self.descriptors = descriptors
    self.threads = threads
  }
}

extension WorkerStatistics: WireValue {
  func write(to writer: inout WireWriter) {
    writer.put(heap)
    writer.put(descriptors)
    writer.put(threads)
  }

  static func read(_ reader: inout WireReader) throws(TableError) -> WorkerStatistics {
    WorkerStatistics(
      heap: try reader.get(Int.self), descriptors: try reader.get(Int.self),
      threads: try reader.get(Int.self))
  }
}

/// A check that a worker makes by itself, where it must be in the provider's process.
public struct ProbeRequest: Hashable, Sendable {
  /// The probe, or the law.
  public var name: String
  public var seed: UInt64
  /// What is opened, if there is something.
  public var request: OpenRequest?
  /// Whether edits, none of which could be made, may be tried.
  public var mayEdit: Bool

  public init(name: String, seed: UInt64, request: OpenRequest?, mayEdit: Bool = false) {
    self.name = name
    self.seed = seed
    self.request = request
    self.mayEdit = mayEdit
  }
}

extension ProbeRequest: WireValue {
  func write(to writer: inout WireWriter) {
    writer.put(name)
    writer.put(word: seed)
    writer.put(request)
    writer.put(mayEdit)
  }

  static func read(_ reader: inout WireReader) throws(TableError) -> ProbeRequest {
    ProbeRequest(
      name: try reader.get(String.self), seed: try reader.word(),
      request: try reader.get(OpenRequest?.self), mayEdit: try reader.get(Bool.self))
  }
}

/// What became of a probe.
public struct ProbeAnswer: Hashable, Sendable {
  public enum Kind: Int32, Hashable, Sendable, CaseIterable {
    case passed
    case skipped
    case failed
  }

  public var kind: Kind
  /// Why it was skipped, or what was wrong.
  public var text: String

  public init(_ kind: Kind, _ text: String = "") {
    self.kind = kind
    self.text = text
  }
}

extension ProbeAnswer.Kind: WireValue {}

extension ProbeAnswer: WireValue {
  func write(to writer: inout WireWriter) {
    writer.put(kind)
    writer.put(text)
  }

  static func read(_ reader: inout WireReader) throws(TableError) -> ProbeAnswer {
    ProbeAnswer(try reader.get(Kind.self), try reader.get(String.self))
  }
}
