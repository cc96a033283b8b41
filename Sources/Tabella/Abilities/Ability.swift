/// The abilities of sources, in the order in which JSON lists them. Each case has the name of a property
/// of ``TableDataSource``; the property is not nil if a source has the ability.
///
/// The raw value is the number of the ability's bit in an ``AbilitySet``.
public enum Ability: Int, CaseIterable, Hashable, Sendable {
  case sections
  case sectionIndex
  case identity
  case gathering
  case editing
  case sectionEditing
  case moving
  case undoing
  case changes
  case supplementary
  case accessories
  case display
  case prefetching
  case diagnostics

  /// The word for the ability in manifests, in JSON, in `describe` and in traces.
  public var name: String {
    switch self {
    case .sections: "sections"
    case .sectionIndex: "index"
    case .identity: "ids"
    case .gathering: "gather"
    case .editing: "edit"
    case .sectionEditing: "edit-sections"
    case .moving: "move"
    case .undoing: "undo"
    case .changes: "changes"
    case .supplementary: "supplementary"
    case .accessories: "accessories"
    case .display: "display"
    case .prefetching: "prefetch"
    case .diagnostics: "diagnostics"
    }
  }

  /// Whether a source has the ability.
  public func isOf(_ source: any TableDataSource) -> Bool {
    switch self {
    case .sections: source.sections != nil
    case .sectionIndex: source.sectionIndex != nil
    case .identity: source.identity != nil
    case .gathering: source.gathering != nil
    case .editing: source.editing != nil
    case .sectionEditing: source.sectionEditing != nil
    case .moving: source.moving != nil
    case .undoing: source.undoing != nil
    case .changes: source.changes != nil
    case .supplementary: source.supplementary != nil
    case .accessories: source.accessories != nil
    case .display: source.display != nil
    case .prefetching: source.prefetching != nil
    case .diagnostics: source.diagnostics != nil
    }
  }
}

/// A set of abilities.
public struct AbilitySet: OptionSet, Hashable, Sendable {
  public var rawValue: Int

  public init(rawValue: Int) { self.rawValue = rawValue }

  /// The set of these abilities.
  public init(_ abilities: Ability...) {
    rawValue = abilities.reduce(0) { $0 | 1 << $1.rawValue }
  }

  /// The abilities that a source has.
  public init(of source: any TableDataSource) {
    self = []
    for ability in Ability.allCases where ability.isOf(source) { insert(AbilitySet(ability)) }
  }

  /// The abilities that a user can use. An index counts only if it has a title.
  ///
  /// If the number of `sections` is not exact, there are many. Then the index is assumed to have titles,
  /// and the source is not asked for them.
  public init(usableOf source: any TableDataSource, sections: Count = .exact(0)) {
    self.init(of: source)
    guard let index = source.sectionIndex, sections.isExact else { return }
    if (try? index.sectionIndexTitles())?.isEmpty != false { remove(AbilitySet(.sectionIndex)) }
  }

  /// Whether the ability is in the set.
  public func contains(_ ability: Ability) -> Bool { rawValue & 1 << ability.rawValue != 0 }

  /// The abilities, in the order of `Ability.allCases`.
  public var abilities: [Ability] { Ability.allCases.filter { contains($0) } }

  /// The names of the abilities, in the same order.
  public var names: [String] { abilities.map(\.name) }
}

// Sources that implement their abilities themselves.

/// The protocols of all abilities.
package typealias AbilityProtocols = TableSections & TableSectionIndex & TableIdentity
  & TableGathering & TableEditing & TableSectionEditing & TableMoving & TableUndoing
  & TableChanges & TableSupplementary & TableAccessories & TableDisplay & TablePrefetching
  & TableDiagnostics

/// A data source whose abilities are the protocols that it conforms to.
///
/// Conform to the three requirements of ``TableDataSource``, and to the protocols of the abilities that you
/// implement (``TableSections``, ``TableIdentity``, ``TableEditing``, …). Each ability is found by a cast.
public protocol ProviderSource: TableDataSource {}

extension ProviderSource {
  public var sections: (any TableSections)? { self as? any TableSections }
  public var sectionIndex: (any TableSectionIndex)? { self as? any TableSectionIndex }
  public var identity: (any TableIdentity)? { self as? any TableIdentity }
  public var gathering: (any TableGathering)? { self as? any TableGathering }
  public var changes: (any TableChanges)? { self as? any TableChanges }
  public var editing: (any TableEditing)? { self as? any TableEditing }
  public var sectionEditing: (any TableSectionEditing)? { self as? any TableSectionEditing }
  public var moving: (any TableMoving)? { self as? any TableMoving }
  public var undoing: (any TableUndoing)? { self as? any TableUndoing }
  public var supplementary: (any TableSupplementary)? { self as? any TableSupplementary }
  public var accessories: (any TableAccessories)? { self as? any TableAccessories }
  public var display: (any TableDisplay)? { self as? any TableDisplay }
  public var prefetching: (any TablePrefetching)? { self as? any TablePrefetching }
  public var diagnostics: (any TableDiagnostics)? { self as? any TableDiagnostics }
}

/// A source that conforms to the protocols of all abilities, and has only those in a set.
package protocol CompleteSource: TableDataSource, AbilityProtocols {
  /// The abilities that the source has.
  var abilities: AbilitySet { get }
}

extension CompleteSource {
  private func offered(_ ability: Ability) -> Self? { abilities.contains(ability) ? self : nil }

  package var sections: (any TableSections)? { offered(.sections) }
  package var sectionIndex: (any TableSectionIndex)? { offered(.sectionIndex) }
  package var identity: (any TableIdentity)? { offered(.identity) }
  package var gathering: (any TableGathering)? { offered(.gathering) }
  package var editing: (any TableEditing)? { offered(.editing) }
  package var sectionEditing: (any TableSectionEditing)? { offered(.sectionEditing) }
  package var moving: (any TableMoving)? { offered(.moving) }
  package var undoing: (any TableUndoing)? { offered(.undoing) }
  package var changes: (any TableChanges)? { offered(.changes) }
  package var supplementary: (any TableSupplementary)? { offered(.supplementary) }
  package var accessories: (any TableAccessories)? { offered(.accessories) }
  package var display: (any TableDisplay)? { offered(.display) }
  package var prefetching: (any TablePrefetching)? { offered(.prefetching) }
  package var diagnostics: (any TableDiagnostics)? { offered(.diagnostics) }
}
