/// The display notices that a base has received, so that each end notice names the same runs.
struct ShownRuns<Runs> {
  private struct Notice: Hashable {
    var section: Int
    var rows: Range<Int>
  }

  private var told: [Notice: [Runs]] = [:]

  /// All notices that have not ended.
  var all: [(rows: Range<Int>, runs: Runs)] {
    told.flatMap { notice, all in all.map { (notice.rows, $0) } }
  }

  mutating func begin(_ rows: Range<Int>, _ section: Int, _ runs: Runs) {
    told[Notice(section: section, rows: rows), default: []].append(runs)
  }

  /// Removes and returns the runs of the begin notice; nil if there was none.
  mutating func end(_ rows: Range<Int>, _ section: Int) -> Runs? {
    let notice = Notice(section: section, rows: rows)
    guard var runs = told.removeValue(forKey: notice) else { return nil }
    let last = runs.popLast()
    if !runs.isEmpty { told[notice] = runs }
    return last
  }
}
