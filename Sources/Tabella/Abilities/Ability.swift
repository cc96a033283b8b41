/// The abilities of sources, in the order in which they are listed. Each case has the name of the
/// property of ``TableDataSource`` that is not nil if a source has the ability.
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

  public init(_ ability: Ability) { rawValue = 1 << ability.rawValue }

  /// The abilities that a source has.
  public init(of source: any TableDataSource) {
    self = []
    for ability in Ability.allCases where ability.isOf(source) { insert(AbilitySet(ability)) }
  }

  /// The abilities that a user of the source can use: those that it has, without an index that has no
  /// titles.
  ///
  /// This calls the source for the titles. Pass the number of `sections` as far as it is known: if there
  /// are more than are worth counting, the titles are not asked for and the index stays.
  public init(usableOf source: any TableDataSource, sections: Count = .exact(0)) {
    self.init(of: source)
    guard let index = source.sectionIndex, sections.isExact else { return }
    if (try? index.sectionIndexTitles())?.isEmpty != false { remove(AbilitySet(.sectionIndex)) }
  }

  public func contains(_ ability: Ability) -> Bool { contains(AbilitySet(ability)) }

  /// The abilities, in the order in which they are listed.
  public var abilities: [Ability] { Ability.allCases.filter { contains($0) } }

  /// Their words, in the order in which they are listed.
  public var names: [String] { abilities.map(\.name) }
}
