import Tabella

/// Where rows stand that were inserted or moved. A view, or an order that changes by itself, may place them
/// elsewhere than was asked.
struct EditLanding {
  let table: ShapedTable
  let isDryRun: Bool

  private var source: any TableDataSource { table.source }

  /// Whether rows stand where they were asked for.
  private var keepsPlaces: Bool {
    !source.hasVolatileOrder && table.tables.count == 1 && table.tables[0].source === source
  }

  /// Where the row of an edit stands, or will stand after a dry run; nil if that cannot be told.
  func place(of edit: PlannedEdit, _ outcome: EditResult.Outcome) -> IndexPath? {
    guard outcome.code == nil, let target = edit.target else { return nil }
    if isDryRun { return keepsPlaces || edit.isTargetSure ? target : nil }
    guard let id = outcome.id, let identity = source.identity else {
      return keepsPlaces ? target : nil
    }
    return try? identity.indexPath(forID: id)
  }
}
