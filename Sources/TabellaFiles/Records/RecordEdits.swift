import Tabella

/// The edits of a batch in terms of records.
///
/// ``BatchPlan`` computes the positions and finds contradictions. This type translates its result to rows that are
/// records of a file.
public struct RecordEdits {
  /// A record in which an edit sets cells.
  public struct CellEdit {
    /// The number of the record.
    public var record: Int
    /// The index of the edit in the batch.
    public var edit: Int
    /// The cells.
    public var cells: [Int: Cell]
  }

  /// A row that is inserted, or moved to a new position.
  public struct Arrival {
    /// The record in front of which the row arrives, numbered as before the batch.
    public var place: Int
    /// The index of the edit in the batch.
    public var edit: Int
    /// The record that moves; nil for a new row.
    public var source: Int?
    /// The cells of a new row.
    public var cells: [Int: Cell]
    /// The section of the row, numbered as before the batch.
    public var section: Int
  }

  /// Records that stay together when sections move, or the heading of a new section.
  public struct Block {
    /// The number of the section before the batch; nil for a new section.
    public var section: Int?
    /// The records of the block.
    public var records: Range<Int>
    /// The index of the edit that inserts the section; nil for an existing section.
    public var edit: Int?
  }

  /// The records that are deleted or moved away, in ascending order.
  public private(set) var gone: [Int] = []
  /// The edits that set cells, in the order of their records.
  public private(set) var sets: [CellEdit] = []
  /// The arrivals in the order of the new text.
  public private(set) var arrivals: [Arrival] = []
  /// The path of the row of each edit: the new path of an inserted row, the old path of any other row.
  public private(set) var places: [IndexPath] = []
  /// The batch as changes of the table, exactly as requested.
  ///
  /// The id of a record contains a digest and the offset of the record. A record that was set therefore gets
  /// another id.
  public private(set) var changes: [ChangeBatch.Change] = []

  /// The order after the batch.
  public let plan: BatchPlan
  /// The sections in the order of the new text; nil if their order does not change.
  public private(set) var blocks: [Block]?
  /// The titles that the batch sets. The key is the number of the section after the batch.
  public private(set) var titles: [Int: String?] = [:]
  /// Whether the batch edits sections.
  public var ofSections: Bool { plan.sections != nil }

  /// Translates a batch. `record` returns the record of a row, or the record after the last row of a section.
  ///
  /// Throws ``TableError`` with `.notSupported` for edits of sections if `sectioned` is nil. Throws the errors of
  /// ``BatchPlan``.
  init(
    _ batch: EditBatch, of source: any TableDataSource, _ sectioned: (any SectionedRecords)?,
    record: (IndexPath) throws(TableError) -> Int
  ) throws(TableError) {
    let named = try batch.changes(takingTitles: sectioned != nil) { id throws(TableError) in
      guard let identity = source.identity else {
        throw TableError(.notSupported, "the rows have no ids")
      }
      return try identity.indexPath(forID: id)
    }
    guard sectioned != nil || !named.contains(where: \.isOfSection) else {
      throw TableError(.notSupported, "the sections cannot be edited")
    }
    plan = try BatchPlan(named, of: source)
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
      for row in rows.departed { gone.append(try number(row)) }
      for arrival in rows.arrivals {
        var arrived = Arrival(
          place: try number(arrival.nextSurvivor), edit: arrival.change, source: nil, cells: [:],
          section: section)
        if case .insert(_, let cells) = batch.edits[arrival.change] { arrived.cells = cells }
        arrivals.append(arrived)
      }
    }
    var moving: [Int: Int] = [:]
    for (edit, change) in named.enumerated() {
      guard case .move(let from, _) = change, !from.isSection else { continue }
      moving[edit] = try record(from)
    }
    for index in arrivals.indices { arrivals[index].source = moving[arrivals[index].edit] }
    for (edit, change) in named.enumerated() {
      guard case .reconfigure(let path) = change, case .set(_, let cells) = batch.edits[edit]
      else { continue }
      let number =
        try path.isSection ? heading(ofSection: path.section, sectioned) : record(path)
      sets.append(CellEdit(record: number, edit: edit, cells: cells))
    }
    sets.sort { $0.record < $1.record }
    if let sections = plan.sections {
      try readSections(sections, batch, named, sectioned)
      changes = named
      return
    }
    let moved = Set(moving.values)
    for (edit, change) in named.enumerated() {
      switch change {
      case .reconfigure(let path):
        if !moved.contains(try record(path)) { changes.append(.reload(path)) }
      case .move(let from, let target) where setsCells(ofRecord: moving[edit] ?? 0):
        changes += [.delete(from), .insert(target)]
      default: changes.append(change)
      }
    }
  }

  private func setsCells(ofRecord number: Int) -> Bool {
    let index = sets.partitioningIndex { $0.record >= number }
    return index < sets.count && sets[index].record == number
  }

  private func heading(
    ofSection section: Int, _ sectioned: (any SectionedRecords)?
  ) throws(TableError) -> Int {
    guard let heading = try sectioned?.heading(ofSection: section) else {
      throw TableError(
        .constraint, "section \(section) has no heading, so its title cannot be changed",
        section: section)
    }
    return heading
  }

  /// Determines the order of the sections, and records their titles.
  private mutating func readSections(
    _ sections: ListPlan, _ batch: EditBatch, _ named: [ChangeBatch.Change],
    _ sectioned: (any SectionedRecords)?
  ) throws(TableError) {
    guard let sectioned else { return }
    for (edit, change) in zip(batch.edits, named) where edit.givesTitle {
      switch change {
      case .reconfigure(let path): plan.path(of: path).map { titles[$0.section] = edit.title }
      case .insert(let path): titles[path.section] = edit.title
      case .delete, .move, .reload: break
      }
    }
    for case .insert(let path) in named where path.isSection && titles[path.section] == nil {
      titles[path.section] = .some(nil)
    }
    guard !sections.departed.isEmpty || !sections.arrivals.isEmpty else { return }
    let old = try sectioned.sectionRecords().enumerated().map { number, records in
      Block(section: number, records: records, edit: nil)
    }
    blocks = sections.applied(to: old) { arrival in
      guard case .move(let from, _) = named[arrival.change] else {
        return Block(section: nil, records: 0..<0, edit: arrival.change)
      }
      return old[from.section]
    }
  }

  /// The old sections around a new one, with the preceding section first, and the old record at which it is
  /// inserted.
  func neighbours(ofBlock number: Int) -> (sections: [Int], record: Int) {
    guard let blocks else { return ([], 0) }
    let before = blocks[..<number].last { $0.section != nil }
    let behind = blocks[number...].first { $0.section != nil }
    return (
      [before, behind].compactMap { $0?.section },
      before?.records.upperBound ?? behind?.records.lowerBound ?? 0
    )
  }
}

/// A source whose sections are runs of records, with headings that can be edited.
public protocol SectionedRecords: AnyObject {
  /// The records of each section, including its heading. Each section begins at the end of the previous one.
  func sectionRecords() throws(TableError) -> [Range<Int>]
  /// The record that is a section's heading; nil if the section has none.
  func heading(ofSection section: Int) throws(TableError) -> Int?
  /// The bytes of a new heading. It has the style of the first heading in `sections`.
  func heading(titled title: String?, like sections: [Int]) throws(TableError) -> [UInt8]
  /// The splices that change the title of a heading; empty if it already has that title.
  func splices(
    inHeading number: Int, title: String?
  ) throws(TableError) -> [RecordPlan.Splice]
  /// Throws if sections cannot be in this order. It runs before anything is written.
  func check(_ edits: RecordEdits) throws(TableError)
  /// Throws unless the new bytes read as the sections that the edits request.
  func checkReads(_ bytes: any ByteSource, as edits: RecordEdits) throws(TableError)
}
