import Tabella
import TabellaConfinement
import TabellaSystem

/// The calls that a host can make to a worker: one for each function of the contract.
package enum Operation: Int32, Hashable, Sendable, CaseIterable {
  // Calls of the worker.
  case load = 1
  case open
  case statistics
  case probe
  // Calls of a source.
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

  /// The name in messages, as in the contract.
  package var name: String {
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

  /// The description of the call; nil for operations that each end implements itself.
  var call: (any ServedCall)? {
    switch self {
    case .load, .open, .statistics, .probe, .release, .listen: return nil
    case .version: return Calls.version
    case .numberOfRows: return Calls.numberOfRows
    case .rows: return Calls.rows
    case .numberOfSections: return Calls.numberOfSections
    case .title: return Calls.title
    case .sectionIndexTitles: return Calls.sectionIndexTitles
    case .indexPathForTitle: return Calls.indexPathForTitle
    case .indexPathForID: return Calls.indexPathForID
    case .gather: return Calls.gather
    case .pull: return Calls.pull
    case .editability: return Calls.editability
    case .editableColumns: return Calls.editableColumns
    case .commit: return Calls.commit
    case .movability: return Calls.movability
    case .target: return Calls.target
    case .undo: return Calls.undo
    case .supplementaryKinds: return Calls.supplementaryKinds
    case .supplementaryElement: return Calls.supplementaryElement
    case .location: return Calls.location
    case .willDisplay: return Calls.willDisplay
    case .didEndDisplaying: return Calls.didEndDisplaying
    case .prefetch: return Calls.prefetch
    case .cancelPrefetching: return Calls.cancelPrefetching
    case .nextDiagnostic: return Calls.nextDiagnostic
    case .sectionEditability: return Calls.sectionEditability
    case .canInsertSections: return Calls.canInsertSections
    }
  }

  /// Whether the call can change the user's data. The result of such a call must always be determined.
  package var edits: Bool { self == .commit || self == .undo }
}

extension Operation: WireValue {}

/// The properties of a source that are sent when it is opened.
struct SourceDescription: WireValue {
  var number: Int
  var columns: [Column]
  var hasVolatileOrder: Bool
  var canCancel: Bool
  var abilities: AbilitySet

  init(_ source: any TableDataSource, number: Int) {
    self.number = number
    columns = source.columns
    hasVolatileOrder = source.hasVolatileOrder
    canCancel = source.cancellation != nil
    abilities = AbilitySet(of: source)
  }

  private init(
    number: Int, columns: [Column], hasVolatileOrder: Bool, canCancel: Bool, abilities: AbilitySet
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
      canCancel: try reader.get(Bool.self), abilities: try reader.get(AbilitySet.self))
  }
}

/// The first request to a worker: the library and the permissions.
package struct LoadRequest: Hashable, Sendable {
  /// The library's path, for messages and for the loader. The file itself is the worker's descriptor 6.
  package var library: String
  /// The name of the provider until its id is known.
  package var name: String
  /// Whether the provider sees a host without optional features.
  package var isMinimal: Bool
  /// Whether the worker does not call the entry, because a probe calls it. The reply then has no information.
  package var isProbed: Bool
  /// The permissions of the worker.
  package var rules: WorkerRules

  /// Creates a request.
  package init(
    library: String, name: String, isMinimal: Bool = false, isProbed: Bool = false,
    rules: WorkerRules = WorkerRules()
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
      rules: try reader.get(WorkerRules.self))
  }
}

/// The information that a provider returns about itself when it is loaded.
package struct LoadedProvider: Hashable, Sendable {
  /// The version of the contract with which the provider was compiled, such as `0.9`.
  package var contract: String
  /// The id of the provider.
  package var id: String
  /// The version of the provider.
  package var version: String
  /// The options that the provider's code declares.
  package var options: [OptionDeclaration]
  /// The restrictions of the worker, in words; nil if the provider runs in the host's own process.
  package var confinement: ConfinementReport?

  /// Creates the reply.
  package init(
    contract: String, id: String, version: String, options: [OptionDeclaration],
    confinement: ConfinementReport? = nil
  ) {
    self.contract = contract
    self.id = id
    self.version = version
    self.options = options
    self.confinement = confinement
  }
}

extension LoadedProvider: WireValue {
  func write(to writer: inout WireWriter) {
    writer.put(contract)
    writer.put(id)
    writer.put(version)
    writer.put(options)
    writer.put(confinement)
  }

  static func read(_ reader: inout WireReader) throws(TableError) -> LoadedProvider {
    LoadedProvider(
      contract: try reader.get(String.self), id: try reader.get(String.self),
      version: try reader.get(String.self), options: try reader.get([OptionDeclaration].self),
      confinement: try reader.get(ConfinementReport?.self))
  }
}

extension ResourceUse: WireValue {
  func write(to writer: inout WireWriter) {
    writer.put(heap)
    writer.put(descriptors)
    writer.put(threads)
  }

  static func read(_ reader: inout WireReader) throws(TableError) -> ResourceUse {
    ResourceUse(
      heap: try reader.get(Int.self), descriptors: try reader.get(Int.self),
      threads: try reader.get(Int.self))
  }
}

/// A check that must run in the provider's process.
package struct ProbeRequest: Hashable, Sendable {
  /// The name of the probe or law.
  package var name: String
  /// The seed of the random choices.
  package var seed: UInt64
  /// The location to open, if the probe needs one.
  package var request: OpenRequest?
  /// Whether the probe may attempt edits, all of which are impossible.
  package var mayEdit: Bool

  /// Creates a request.
  package init(name: String, seed: UInt64, request: OpenRequest?, mayEdit: Bool = false) {
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

/// The result of a probe.
package struct ProbeAnswer: Hashable, Sendable {
  /// The kind of the result.
  package enum Kind: Int32, Hashable, Sendable, CaseIterable {
    case passed
    case skipped
    case failed
  }

  /// The kind of the result.
  package var kind: Kind
  /// The reason for skipping, or the fault.
  package var text: String

  /// Creates a result.
  package init(_ kind: Kind, _ text: String = "") {
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
