import Tabella

/// A batch for one section of rows, and its naive result for an array, by UIKit's rules.
struct RandomBatch<Row> {
  enum Edit {
    case insert(Row, at: Int)
    case delete(Int)
    case set(Int)
    case move(Int, to: Int)
  }

  private(set) var edits: [Edit] = []

  /// Draws compatible edits, at most `most` of them.
  init(
    of count: Int, most: Int = 4, _ generator: inout SeededGenerator,
    new: (inout SeededGenerator) -> Row
  ) {
    var rows = Array((0..<count).shuffled(using: &generator))
    var (left, arrivals) = (count, 0)
    var pending: [(source: Int?, row: Row?)] = []
    for _ in 0..<Int.random(in: 1...most, using: &generator) {
      switch Int.random(in: 0..<4, using: &generator) {
      case 0:
        pending.append((nil, new(&generator)))
        arrivals += 1
      case 1:
        guard let row = rows.popLast() else { continue }
        edits.append(.delete(row))
        left -= 1
      case 2:
        guard let row = rows.popLast() else { continue }
        edits.append(.set(row))
        // A row may be set and moved.
        if Int.random(in: 0..<4, using: &generator) == 0 {
          pending.append((row, nil))
          left -= 1
          arrivals += 1
        }
      default:
        guard let row = rows.popLast() else { continue }
        pending.append((row, nil))
        left -= 1
        arrivals += 1
      }
    }
    let targets = (0..<left + arrivals).shuffled(using: &generator).prefix(arrivals)
    for (one, target) in zip(pending, targets) {
      if let source = one.source {
        edits.append(.move(source, to: target))
      } else if let row = one.row {
        edits.append(.insert(row, at: target))
      }
    }
    edits.shuffle(using: &generator)
  }

  init(_ edits: [Edit]) { self.edits = edits }

  /// The same batch for rows of another kind.
  func mapped<Other>(_ body: (Row) -> Other) -> RandomBatch<Other> {
    RandomBatch<Other>(
      edits.map { edit in
        switch edit {
        case .insert(let row, let target): .insert(body(row), at: target)
        case .delete(let row): .delete(row)
        case .set(let row): .set(row)
        case .move(let row, let target): .move(row, to: target)
        }
      })
  }

  /// The resulting array. `set` changes the rows that are set.
  func applied(to rows: [Row], set: (Int, inout Row) -> Void) -> [Row] {
    var old: [Row?] = rows
    var arrivals: [(target: Int, row: Row)] = []
    for case .set(let row) in edits {
      var changed = rows[row]
      set(row, &changed)
      old[row] = changed
    }
    var gone: Set<Int> = []
    for edit in edits {
      switch edit {
      case .insert(let row, let target): arrivals.append((target, row))
      case .delete(let row): gone.insert(row)
      case .move(let row, let target):
        gone.insert(row)
        if let moved = old[row] { arrivals.append((target, moved)) }
      case .set: break
      }
    }
    var result = old.indices.filter { !gone.contains($0) }.compactMap { old[$0] }
    for (target, row) in arrivals.sorted(by: { $0.target < $1.target }) {
      result.insert(row, at: target)
    }
    return result
  }
}
