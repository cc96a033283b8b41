import Tabella

/// The edits of a batch by the numbers of the records that they are about.
///
/// ``BatchPlan`` computes the places and finds what makes no sense together; this is its answer for rows
/// that are records of a file.
public struct RecordEdits {
  /// A row that comes to stand somewhere: a new one, or one that moves there.
  public struct Arrival {
    /// The record that it comes to stand before, as numbered before the batch.
    public var place: Int
    /// Which edit of the batch it is.
    public var edit: Int
    /// The record that moves; nil for a new one.
    public var source: Int?
    public var cells: [Int: Cell]
  }

  /// The records that leave their places, in order.
  public private(set) var gone: [Int] = []
  /// The edits that set cells, by record.
  public private(set) var sets: [Int: (edit: Int, cells: [Int: Cell])] = [:]
  /// In the order in which they will stand.
  public private(set) var arrivals: [Arrival] = []
  /// The row that each edit is about: a new one where it comes to stand, any other where it stood.
  public private(set) var places: [IndexPath] = []
  /// The batch as a change of the table: exactly what was asked. A record's id says what is in it and
  /// where it begins, so that one that was set is another.
  public private(set) var changes: [ChangeBatch.Change] = []

  /// Reads a batch; `record` says which record a row is, and which stands behind the last of a section.
  ///
  /// Throws ``TableError`` with `.notSupported` for edits of sections, and as ``BatchPlan`` does.
  init(
    _ batch: EditBatch, of source: any TableDataSource,
    record: (IndexPath) throws(TableError) -> Int
  ) throws(TableError) {
    let named = try batch.changes { id throws(TableError) in
      guard let identity = source.identity else {
        throw TableError(.notSupported, "rows have no ids here")
      }
      return try identity.indexPath(forID: id)
    }
    guard !named.contains(where: \.isOfSection) else {
      throw TableError(.notSupported, "sections cannot be edited here")
    }
    let plan = try BatchPlan(named, of: source)
    places = named.map { change in
      switch change {
      case .insert(let path), .delete(let path), .reload(let path), .reconfigure(let path),
        .move(let path, _):
        path
      }
    }
    for (section, rows) in plan.rows.sorted(by: { $0.key < $1.key }) {
      func number(_ row: Int) throws(TableError) -> Int {
        try record(IndexPath(section: section, row: row))
      }
      for row in rows.gone { gone.append(try number(row)) }
      for arrival in rows.arrivals {
        var arrived = Arrival(
          place: try number(arrival.before), edit: arrival.change, source: nil, cells: [:])
        if case .insert(_, let cells) = batch.edits[arrival.change] { arrived.cells = cells }
        arrivals.append(arrived)
      }
    }
    var moving: [Int: Int] = [:]
    for (edit, change) in named.enumerated() {
      guard case .move(let from, _) = change else { continue }
      moving[edit] = try record(from)
    }
    for index in arrivals.indices { arrivals[index].source = moving[arrivals[index].edit] }
    for (edit, change) in named.enumerated() {
      guard case .reconfigure(let path) = change, case .set(_, let cells) = batch.edits[edit]
      else { continue }
      sets[try record(path)] = (edit, cells)
    }
    let moved = Set(moving.values)
    for (edit, change) in named.enumerated() {
      switch change {
      case .reconfigure(let path):
        if !moved.contains(try record(path)) { changes.append(.reload(path)) }
      case .move(let from, let target) where sets[moving[edit] ?? 0] != nil:
        changes += [.delete(from), .insert(target)]
      default: changes.append(change)
      }
    }
  }
}
