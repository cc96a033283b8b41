/// The rules for edits through a view.
///
/// The mapping of a view says which base row is shown at an index path. The policy says which edits are possible, and
/// where rows arrive in the base. It has no state: the data belong to the view. The default implementations suit a
/// view that shows the base's sections and whose rows cannot be moved.
///
/// The functions run inside a public call of the view and must not start another one.
protocol EditPolicy {
  associatedtype View: MappedSource
  /// The view whose edits have these rules.
  var view: View { get }

  /// The reason why sections cannot be edited; nil if they are edited as in the base.
  var sectionRefusal: TableError? { get }

  /// Throws unless the view shows every row of a base section, so that the section can be deleted through the view.
  func checkShowsAll(ofSection section: Int) throws(TableError)

  /// Whether the view shows every row of the base.
  var showsEveryRow: Bool { get }

  /// Whether sections are groups by value, so that a move to another section sets a cell of the base.
  var hasGroups: Bool { get }

  /// Whether the view has the ability to move rows.
  var allowsMoves: Bool { get }

  /// Whether each of these existing rows can be moved. `elsewhere` means to another section.
  func movable(_ paths: [IndexPath], elsewhere: Bool) throws(TableError) -> [Bool]

  /// The target in the base of an arrival in a section of the view.
  ///
  /// The default is the end of the base's section.
  func baseTarget(
    ofArrival index: Int, inSection section: Int, _ rows: ListPlan,
    _ changes: [ChangeBatch.Change]
  ) throws(TableError) -> BaseTarget

  /// The path in the view of a row that has moved to a target in the base.
  func path(
    ofBaseTarget target: IndexPath, from source: IndexPath, proposed: IndexPath
  ) throws(TableError) -> IndexPath

  /// The path in the view of a row that keeps its position in the base and moves within the view.
  func path(
    ofBase path: IndexPath, proposed: IndexPath
  ) throws(TableError) -> IndexPath

  /// The cells to insert into the base for a row that is inserted at a path of the view.
  func baseCells(
    _ cells: [Int: Cell], insertedAt target: IndexPath
  ) throws(TableError) -> [Int: Cell]
}

/// The target in the base of a row that is inserted or moved in a view.
enum BaseTarget {
  /// In front of this base row, numbered as before the batch, or at the end of a section.
  case before(IndexPath)
  /// The row keeps its position in the base, and these cells are set.
  case stays([Int: Cell])

  var base: IndexPath? {
    if case .before(let path) = self { path } else { nil }
  }

  var cells: [Int: Cell]? {
    if case .stays(let cells) = self { cells } else { nil }
  }
}

/// The policy of a view without rules of its own.
struct DefaultEditPolicy: EditPolicy {
  let view: MappedSource
}

extension EditPolicy {
  var base: any TableDataSource { view.base }

  /// The policy of the base; nil if the base is not a view with a policy.
  var basePolicy: (any EditPolicy)? { (base as? MappedSource)?.editPolicy }

  var sectionRefusal: TableError? { basePolicy?.sectionRefusal }

  func checkShowsAll(ofSection section: Int) throws(TableError) {
    try basePolicy?.checkShowsAll(ofSection: section)
  }

  var showsEveryRow: Bool { true }
  var hasGroups: Bool { basePolicy?.hasGroups ?? false }
  var allowsMoves: Bool { false }

  func movable(_ paths: [IndexPath], elsewhere: Bool) throws(TableError) -> [Bool] {
    try movableInBase(paths, elsewhere: elsewhere)
  }

  func baseTarget(
    ofArrival index: Int, inSection section: Int, _ rows: ListPlan,
    _ changes: [ChangeBatch.Change]
  ) throws(TableError) -> BaseTarget { .before(try baseEnd(ofSection: section)) }

  func path(
    ofBaseTarget target: IndexPath, from source: IndexPath, proposed: IndexPath
  ) throws(TableError) -> IndexPath { proposed }

  func path(
    ofBase path: IndexPath, proposed: IndexPath
  ) throws(TableError) -> IndexPath { proposed }

  func baseCells(
    _ cells: [Int: Cell], insertedAt target: IndexPath
  ) throws(TableError) -> [Int: Cell] { cells }

  // Answers that several policies share.

  /// Whether the base can move each of these existing rows of the view. `elsewhere` means to another section.
  func movableInBase(_ paths: [IndexPath], elsewhere: Bool) throws(TableError) -> [Bool] {
    let paths = try view.basePaths(of: paths)
    if elsewhere, let basePolicy { return try basePolicy.movable(paths, elsewhere: true) }
    return try base.movability(at: paths)
  }

  /// The end of a section of the base.
  func baseEnd(ofSection section: Int) throws(TableError) -> IndexPath {
    IndexPath(section: section, row: try base.exactNumberOfRows(inSection: section))
  }
}
