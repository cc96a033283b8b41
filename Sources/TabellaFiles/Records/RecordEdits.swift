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
    /// The section of a row, as numbered before the batch.
    public var section: Int
  }

  /// Records that stay together in the new text, where sections move; or the heading of a new section.
  public struct Block {
    /// Its section, as numbered before the batch; nil for a new one.
    public var section: Int?
    public var records: Range<Int>
    /// The edit that inserts it; nil for a section that was there.
    public var edit: Int?
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

  /// The order after the batch.
  public let plan: BatchPlan
  /// The sections in the order of the new text; nil if they stay as they are.
  public private(set) var blocks: [Block]?
  /// The titles that the batch gives, by the number that the section has afterwards.
  public private(set) var titles: [Int: String?] = [:]
  /// Whether sections are edited.
  public var ofSections: Bool { plan.sections != nil }

  /// Reads a batch; `record` says which record a row is, and which stands behind the last of a section.
  ///
  /// Throws ``TableError`` with `.notSupported` for edits of sections if there is nobody who knows their
  /// records, and as ``BatchPlan`` does.
  init(
    _ batch: EditBatch, of source: any TableDataSource, _ sectioned: (any SectionedRecords)?,
    record: (IndexPath) throws(TableError) -> Int
  ) throws(TableError) {
    let named = try batch.changes(takingTitles: sectioned != nil) { id throws(TableError) in
      guard let identity = source.identity else {
        throw TableError(.notSupported, "rows have no ids here")
      }
      return try identity.indexPath(forID: id)
    }
    guard sectioned != nil || !named.contains(where: \.isOfSection) else {
      throw TableError(.notSupported, "sections cannot be edited here")
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
      for row in rows.gone { gone.append(try number(row)) }
      for arrival in rows.arrivals {
        var arrived = Arrival(
          place: try number(arrival.before), edit: arrival.change, source: nil, cells: [:],
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
      sets[try path.isSection ? heading(ofSection: path.section, sectioned) : record(path)] =
        (edit, cells)
    }
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
      case .move(let from, let target) where sets[moving[edit] ?? 0] != nil:
        changes += [.delete(from), .insert(target)]
      default: changes.append(change)
      }
    }
  }

  private func heading(
    ofSection section: Int, _ sectioned: (any SectionedRecords)?
  ) throws(TableError) -> Int {
    guard let heading = try sectioned?.heading(ofSection: section) else {
      throw TableError(
        .constraint, "section \(section) has no heading, so that it cannot have another",
        section: section)
    }
    return heading
  }

  /// Puts the sections in order, and notes their titles.
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
    guard !sections.gone.isEmpty || !sections.arrivals.isEmpty else { return }
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

  /// The sections of before that come to stand around a new one, the one before it first, and the record of
  /// before that it comes to stand at.
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

/// A source whose sections are runs of records of a file, with headings that can be edited.
public protocol SectionedRecords: AnyObject {
  /// The records of all sections, headings included: one section begins where the one before it ends.
  func sectionRecords() throws(TableError) -> [Range<Int>]
  /// The record that is a section's heading; nil if it has none.
  func heading(ofSection section: Int) throws(TableError) -> Int?
  /// The bytes of a new heading, like that of the first of these sections that has one.
  func heading(titled title: String?, like sections: [Int]) throws(TableError) -> [UInt8]
  /// The splices that give a heading another title; none if it has that title.
  func splices(
    inHeading number: Int, title: String?
  ) throws(TableError) -> [RecordPlan.Splice]
  /// Throws unless sections may come to stand so, before anything is written.
  func check(_ edits: RecordEdits) throws(TableError)
  /// Throws unless the new bytes read as the sections that the edits make.
  func checkReads(_ bytes: any ByteSource, as edits: RecordEdits) throws(TableError)
}
