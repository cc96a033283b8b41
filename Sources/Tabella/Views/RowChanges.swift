/// The changes of a view's rows: collects which rows leave their places and which arrive, and makes a batch of them.
///
/// All other rows of a section of the view keep their order and their cells. A row that returns to its old place among
/// them is not moved.
struct RowChanges {
  private typealias Content = BaseChanges.Content

  private struct Departure {
    var path: IndexPath
    var base: IndexPath
  }

  private struct Arrival {
    var path: IndexPath
    var origin: IndexPath?
    var content: Content
  }

  private var departures: [Departure] = []
  private var arrivals: [Arrival] = []

  /// Adds a row that leaves its place. `path` is the row in the view, and `base` the row in the base, both before the
  /// batch. The batch must keep the row's section in the view.
  mutating func depart(_ path: IndexPath, base: IndexPath) {
    departures.append(Departure(path: path, base: base))
  }

  /// Adds a row that arrives at a path of the view, numbered as after the batch. Its section must be one that existed
  /// before the batch.
  mutating func arrive(_ path: IndexPath, _ row: BaseChanges.Arrival) {
    arrivals.append(Arrival(path: path, origin: row.origin, content: row.content))
  }

  /// The changes. `sectionAfter` is the number after the batch of a section of the view.
  /// - Complexity: O(k log k) for k rows.
  func changes(sectionAfter: (Int) -> Int?) -> [ChangeBatch.Change] {
    let departures = departures.sorted { $0.path < $1.path }
    let arrivals = arrivals.sorted { $0.path < $1.path }
    let places = departures.indices.sorted { departures[$0].base < departures[$1].base }
    let partners = arrivals.map { arrival -> Int? in
      guard let origin = arrival.origin else { return nil }
      let place = places.partitioningIndex { departures[$0].base >= origin }
      return place < places.count && departures[places[place]].base == origin ? places[place] : nil
    }
    let stays = Self.staying(departures, arrivals, partners, sectionAfter)
    var isPaired = [Bool](repeating: false, count: departures.count)
    var changes: [ChangeBatch.Change] = []
    for (number, arrival) in arrivals.enumerated() {
      guard let partner = partners[number], stays[number] || arrival.content != .new else {
        changes.append(.insert(arrival.path))
        continue
      }
      isPaired[partner] = true
      let path = departures[partner].path
      if !stays[number] { changes.append(.move(from: path, to: arrival.path)) }
      switch arrival.content {
      case .same: break
      case .changed: changes.append(.reconfigure(path))
      case .new: changes.append(.reload(path))
      }
    }
    return changes
      + departures.indices.filter { !isPaired[$0] }.map { .delete(departures[$0].path) }
  }

  /// For each arrival, whether its row keeps its place among the rows that neither leave nor arrive.
  private static func staying(
    _ departures: [Departure], _ arrivals: [Arrival], _ partners: [Int?],
    _ sectionAfter: (Int) -> Int?
  ) -> [Bool] {
    let oldGaps = gaps(departures.map(\.path))
    let newGaps = gaps(arrivals.map(\.path))
    var stays = [Bool](repeating: false, count: arrivals.count)
    var candidates: [(arrival: Int, departure: Int32)] = []
    func select() {
      // Several rows can return to one place. Those that keep their order stay.
      for index in longestIncreasing(candidates.map(\.departure)) {
        stays[candidates[index].arrival] = true
      }
      candidates.removeAll(keepingCapacity: true)
    }
    for (number, arrival) in arrivals.enumerated() {
      if number > 0, arrivals[number - 1].path.section != arrival.path.section { select() }
      guard let partner = partners[number], oldGaps[partner] == newGaps[number],
        sectionAfter(departures[partner].path.section) == arrival.path.section
      else { continue }
      candidates.append((number, Int32(truncatingIfNeeded: partner)))
    }
    select()
    return stays
  }

  /// For each of these paths, which ascend, the number of other rows in front of it in its section.
  private static func gaps(_ paths: [IndexPath]) -> [Int] {
    var first = 0
    return paths.enumerated().map { number, path in
      if paths[first].section != path.section { first = number }
      return path.row - (number - first)
    }
  }
}
