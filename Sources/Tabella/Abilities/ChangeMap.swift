/// Where the rows and sections of one version are in the next, by a list of changes.
///
/// To make one costs the changes, to ask one the logarithm of them.
public struct ChangeMap: Sendable {
  private var sections = Line()
  /// By section, counted before.
  private var leaving: [Int: [Int]] = [:]
  /// By section, counted after.
  private var arriving: [Int: [Int]] = [:]
  private var moved: [IndexPath: IndexPath] = [:]
  private var deleted: Set<IndexPath> = []

  public init(_ changes: [ChangeBatch.Change]) {
    for change in changes {
      switch change {
      case .insert(let path):
        if path.isSection {
          sections.taken.append(path.section)
        } else {
          arriving[path.section, default: []].append(path.row)
        }
      case .delete(let path):
        deleted.insert(path)
        if path.isSection {
          sections.gone.append(path.section)
        } else {
          leaving[path.section, default: []].append(path.row)
        }
      case .move(let from, let to):
        moved[from] = to
        if from.isSection {
          sections.gone.append(from.section)
          sections.taken.append(to.section)
        } else {
          leaving[from.section, default: []].append(from.row)
          arriving[to.section, default: []].append(to.row)
        }
      case .reload, .reconfigure: break
      }
    }
    sections.sort()
    for section in leaving.keys { leaving[section]?.sort() }
    for section in arriving.keys { arriving[section]?.sort() }
  }

  /// Where a section ends up; nil if it is deleted.
  public func section(_ old: Int) -> Int? {
    if deleted.contains(.section(old)) { return nil }
    return moved[.section(old)]?.section ?? sections.place(of: old)
  }

  /// Where a row, or a section, ends up; nil if it is deleted.
  public func path(of old: IndexPath) -> IndexPath? {
    if old.isSection { return section(old.section).map { .section($0) } }
    if let target = moved[old] { return target }
    guard !deleted.contains(old), let section = section(old.section) else { return nil }
    let rows = Line(gone: leaving[old.section] ?? [], taken: arriving[section] ?? [])
    return IndexPath(section: section, row: rows.place(of: old.row))
  }
}

/// Things in a line, some of which leave while others arrive; the rest keep their order.
private struct Line: Sendable {
  /// Rising, counted before.
  var gone: [Int] = []
  /// Rising, counted after.
  var taken: [Int] = []

  mutating func sort() {
    gone.sort()
    taken.sort()
  }

  /// Where one that stays ends up.
  func place(of old: Int) -> Int {
    let rank = old - Line.count(gone.indices) { gone[$0] < old }
    // How many arrive before it: what is taken, less what was taken before that, rises too.
    return rank + Line.count(taken.indices) { taken[$0] - $0 <= rank }
  }

  /// How many indices satisfy a condition that holds up to one of them and not after it.
  private static func count(_ indices: Range<Int>, _ holds: (Int) -> Bool) -> Int {
    var (low, high) = (0, indices.count)
    while low < high {
      let middle = low + (high - low) / 2
      if holds(middle) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
