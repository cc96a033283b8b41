/// The effect of a batch on one list: the rows of a section, or the sections.
///
/// ``BatchPlan`` makes list plans. An element that neither leaves nor arrives is a survivor. Survivors keep their
/// order.
public struct ListPlan: Hashable, Sendable {
  /// An element that a batch inserts, or moves to this list.
  public struct Arrival: Hashable, Sendable {
    /// The index of the element after the batch.
    public var indexAfter: Int
    /// The next survivor after the arrival, as an index before the batch. If no survivor follows, the count before
    /// the batch.
    public var nextSurvivor: Int
    /// The index of the change that brings the element.
    public var change: Int
  }

  /// The number of elements before the batch. If it is an at-least count, each arrival is in front of one of the
  /// counted elements, or directly after them.
  public let count: Count
  /// The indices of deleted and departing elements before the batch, in ascending order.
  public let departed: [Int]
  /// The arrivals, in ascending order of their index after the batch.
  public let arrivals: [Arrival]

  /// Makes a plan. `departed` is in ascending order and contains only existing elements. Throws for a target that does
  /// not exist.
  init(
    count: Count, departed: [Int], arrivals targets: [(indexAfter: Int, change: Int)],
    naming path: (Int) -> IndexPath
  ) throws(TableError) {
    self.count = count
    self.departed = departed
    var arrivals: [Arrival] = []
    arrivals.reserveCapacity(targets.count)
    var passed = 0
    for (number, next) in targets.sorted(by: { $0.indexAfter < $1.indexAfter }).enumerated() {
      guard arrivals.last?.indexAfter != next.indexAfter else {
        throw TableError(
          .invalidArgument, "\(path(next.indexAfter).noun) is the target of two edits of the batch")
      }
      // The number of survivors in front of the arrival.
      let rank = next.indexAfter - number
      while passed < departed.count, departed[passed] - passed <= rank { passed += 1 }
      let nextSurvivor = rank.advancedUp(by: passed)
      guard nextSurvivor <= count.value else {
        throw TableError(
          .notFound,
          "\(path(next.indexAfter).noun) is not a position after the batch, which leaves "
            + "\(count.value - departed.count + targets.count)")
      }
      arrivals.append(
        Arrival(indexAfter: next.indexAfter, nextSurvivor: nextSurvivor, change: next.change))
    }
    self.arrivals = arrivals
  }

  /// The number of elements after the batch.
  public var countAfter: Count {
    let value = count.value - departed.count + arrivals.count
    return count.isExact ? .exact(value) : .atLeast(value)
  }

  /// The index of a survivor after the batch. Nil if the element is deleted, moved away or does not exist.
  /// - Complexity: O(log n) in the changes.
  public func indexAfter(of element: Int) -> Int? {
    guard element >= 0, !count.isExact || element < count.value else { return nil }
    let departedBefore = departed.partitioningIndex { $0 >= element }
    guard departedBefore == departed.count || departed[departedBefore] != element else {
      return nil
    }
    let arrivedBefore = arrivals.partitioningIndex { $0.nextSurvivor > element }
    return (element - departedBefore).advancedUp(by: arrivedBefore)
  }

  /// For each arrival, whether it is a moved element that stays between the same two survivors. Such elements also keep
  /// their order. `element` returns the old index of an arrival that moves within the list, and nil for others.
  /// - Complexity: O(n log n) in the changes.
  func stays(_ element: (Arrival) -> Int?) -> [Bool] {
    func departedBefore(_ element: Int) -> Int { departed.partitioningIndex { $0 >= element } }
    var stays = [Bool](repeating: false, count: arrivals.count)
    var first = 0
    while first < arrivals.count {
      let nextSurvivor = arrivals[first].nextSurvivor
      let next = departedBefore(nextSurvivor)
      /// The arrivals whose elements were between the two survivors, and the places of these among all departed ones.
      var (numbers, places): ([Int], [Int32]) = ([], [])
      while first < arrivals.count, arrivals[first].nextSurvivor == nextSurvivor {
        if let element = element(arrivals[first]), element < nextSurvivor {
          let place = departedBefore(element)
          if next - place == nextSurvivor - element {
            numbers.append(first)
            places.append(Int32(truncatingIfNeeded: place))
          }
        }
        first += 1
      }
      for index in longestIncreasing(places) { stays[numbers[index]] = true }
    }
    return stays
  }

  /// The origin of an element after the batch: the old index of a survivor, or an arrival.
  public enum Origin: Hashable, Sendable {
    case survivor(Int)
    case arrival(Arrival)
  }

  /// The origin of the element at an index after the batch; nil if the list is shorter.
  /// - Complexity: O(log n) in the changes.
  public func origin(of indexAfter: Int) -> Origin? {
    guard indexAfter >= 0 else { return nil }
    let arrivedBefore = arrivals.partitioningIndex { $0.indexAfter >= indexAfter }
    if arrivedBefore < arrivals.count, arrivals[arrivedBefore].indexAfter == indexAfter {
      return .arrival(arrivals[arrivedBefore])
    }
    return survivor(indexAfter - arrivedBefore).map { .survivor($0) }
  }

  /// The old index of the survivor with this many survivors in front of it; nil if there are too few survivors.
  func survivor(_ rank: Int) -> Int? {
    guard rank >= 0 else { return nil }
    let departedBefore = departed.indices.partitioningIndex { departed[$0] - $0 > rank }
    let element = rank.advancedUp(by: departedBefore)
    return element < count.value ? element : nil
  }

  /// The list after the batch, made from the list before the batch and the arrivals.
  /// - Complexity: O(n)
  public func applied<Element>(
    to list: [Element], arriving: (Arrival) -> Element
  ) -> [Element] {
    var result: [Element] = []
    result.reserveCapacity(list.count - departed.count + arrivals.count)
    var next = 0
    var departed = departed[...]
    func keep(to end: Int) {
      while next < end {
        let stop = min(departed.first ?? end, end)
        result += list[next..<stop]
        next = stop
        if departed.first == next, next < end {
          departed.removeFirst()
          next += 1
        }
      }
    }
    for arrival in arrivals {
      keep(to: arrival.nextSurvivor)
      result.append(arriving(arrival))
    }
    keep(to: list.count)
    return result
  }
}
