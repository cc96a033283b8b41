import Tabella

/// The edits of a batch by the numbers of the records that they are about, once it is sure that they
/// make sense together: what UIKit's rules ask of a batch of rows.
public struct RecordEdits {
  /// A row that comes to stand somewhere: a new one, or one that moves there.
  public struct Arrival {
    public var target: IndexPath
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
  /// In the order of their targets.
  public private(set) var arrivals: [Arrival] = []
  /// The record that each edit names; nil for insertions.
  public private(set) var numbers: [Int?] = []

  /// Reads a batch; `number` finds the record that a reference names.
  ///
  /// Throws ``TableError`` with `.notSupported` for edits of sections, with `.invalidArgument` for
  /// edits that contradict each other, and as `number` does.
  public init(
    _ batch: EditBatch, number: (RowReference) throws(TableError) -> Int
  ) throws(TableError) {
    var leaving: Set<Int> = []
    for (edit, what) in batch.edits.enumerated() {
      switch what {
      case .delete(let reference):
        try leave(try find(reference, number), &leaving)
      case .set(let reference, let cells):
        let record = try find(reference, number)
        guard sets.updateValue((edit, cells), forKey: record) == nil else {
          throw TableError(.invalidArgument, "row \(record) is set twice in one batch")
        }
      case .move(let reference, let target):
        let record = try find(reference, number)
        try leave(record, &leaving)
        arrivals.append(Arrival(target: target, edit: edit, source: record, cells: [:]))
      case .insert(let target, let cells):
        numbers.append(nil)
        arrivals.append(Arrival(target: target, edit: edit, source: nil, cells: cells))
      }
    }
    gone = leaving.sorted()
    arrivals.sort { $0.target < $1.target }
    for (arrival, next) in zip(arrivals, arrivals.dropFirst()) where arrival.target == next.target {
      throw TableError(.invalidArgument, "two rows would end up at \(arrival.target)")
    }
    if let path = arrivals.first(where: { $0.target.isSection || $0.target.row < 0 })?.target {
      throw TableError(.notSupported, "sections cannot be edited here (\(path))")
    }
    let moving = Set(arrivals.compactMap(\.source))
    if let record = sets.keys.first(where: { leaving.contains($0) && !moving.contains($0) }) {
      throw TableError(.invalidArgument, "row \(record) is set and deleted in one batch")
    }
  }

  private mutating func find(
    _ reference: RowReference, _ number: (RowReference) throws(TableError) -> Int
  ) throws(TableError) -> Int {
    guard !reference.isSection else {
      throw TableError(.notSupported, "sections cannot be edited here")
    }
    let record = try number(reference)
    numbers.append(record)
    return record
  }

  private func leave(_ record: Int, _ leaving: inout Set<Int>) throws(TableError) {
    guard leaving.insert(record).inserted else {
      throw TableError(.invalidArgument, "row \(record) is deleted or moved twice in one batch")
    }
  }

  /// Before which row each target is put: targets count in the result, rows before the batch. Both
  /// are in order and without repetition; what comes out may be beyond the last row.
  public static func places(of targets: [Int], without gone: some Collection<Int>) -> [Int] {
    var gone = gone.makeIterator()
    var next = gone.next()
    var skipped = 0
    return targets.enumerated().map { number, target in
      let survivors = target - number
      while let row = next, row <= survivors + skipped {
        skipped += 1
        next = gone.next()
      }
      return survivors + skipped
    }
  }

  /// The batch as a change of a table with one section: exactly what was asked. A record's id says
  /// what is in it and where it begins, so that one that was set is another.
  public func changes(of batch: EditBatch) -> [ChangeBatch.Change] {
    var changes: [ChangeBatch.Change] = []
    func path(_ edit: Int) -> IndexPath { IndexPath(section: 0, row: numbers[edit] ?? 0) }
    let moving = Set(arrivals.compactMap(\.source))
    for (edit, what) in batch.edits.enumerated() {
      switch what {
      case .insert(let target, _): changes.append(.insert(target))
      case .delete: changes.append(.delete(path(edit)))
      case .set:
        if !moving.contains(numbers[edit] ?? 0) { changes.append(.reload(path(edit))) }
      case .move(_, let target):
        if sets[numbers[edit] ?? 0] == nil {
          changes.append(.move(from: path(edit), to: target))
        } else {
          changes += [.delete(path(edit)), .insert(target)]
        }
      }
    }
    return changes
  }
}
