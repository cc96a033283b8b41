import Tabella

/// A data source whose abilities are the protocols that it conforms to.
///
/// Conform to the three requirements of ``TableDataSource``, and to the protocols of the abilities that you
/// implement (``TableSections``, ``TableIdentity``, ``TableEditing``, …). The export of a source detects its
/// abilities once.
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
