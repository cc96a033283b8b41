/// The effect of a batch on one list: the rows of a section, or the sections.
///
/// ``BatchPlan`` makes list plans. An element that neither leaves nor arrives is a survivor. Survivors keep their
/// order.
public struct ListPlan: Hashable, Sendable {
  /// An element that a batch inserts, or moves to this list.
  public struct Arrival: Hashable, Sendable {
    /// The index of the element after the batch.
    public var place: Int
    /// The next survivor after the arrival, as an index before the batch. If no survivor follows, the count before
    /// the batch.
    public var before: Int
    /// The index of the change that brings the element.
    public var change: Int
  }

  /// The number of elements before the batch. If it is an at-least count, each arrival is in front of one of the
  /// counted elements, or directly after them.
  public let count: Count
  /// The indices of deleted and departing elements before the batch, in ascending order.
  public let gone: [Int]
  /// The arrivals, in ascending order of their index after the batch.
  public let arrivals: [Arrival]

  /// Makes a plan. `gone` is in ascending order and contains only existing elements. Throws for a target that does
  /// not exist.
  init(
    count: Count, gone: [Int], arrivals places: [(place: Int, change: Int)],
    naming path: (Int) -> IndexPath
  ) throws(TableError) {
    self.count = count
    self.gone = gone
    var arrivals: [Arrival] = []
    arrivals.reserveCapacity(places.count)
    var passed = 0
    for (number, next) in places.sorted(by: { $0.place < $1.place }).enumerated() {
      guard arrivals.last?.place != next.place else {
        throw TableError(
          .invalidArgument, "\(path(next.place).noun) is the target of two edits of the batch")
      }
      // The number of survivors in front of the arrival.
      let rank = next.place - number
      while passed < gone.count, gone[passed] - passed <= rank { passed += 1 }
      let before = rank.advancedUp(by: passed)
      guard before <= count.value else {
        throw TableError(
          .notFound,
          "\(path(next.place).noun) is not a position after the batch, which leaves "
            + "\(count.value - gone.count + places.count)")
      }
      arrivals.append(Arrival(place: next.place, before: before, change: next.change))
    }
    self.arrivals = arrivals
  }

  /// The number of elements after the batch.
  public var countAfter: Count {
    let value = count.value - gone.count + arrivals.count
    return count.isExact ? .exact(value) : .atLeast(value)
  }

  /// The index of a survivor after the batch. Nil if the element is deleted, moved away or does not exist.
  /// - Complexity: O(log n) in the changes.
  public func place(of element: Int) -> Int? {
    guard element >= 0, !count.isExact || element < count.value else { return nil }
    let goneBefore = gone.partitioningIndex { $0 >= element }
    guard goneBefore == gone.count || gone[goneBefore] != element else { return nil }
    let arrivedBefore = arrivals.partitioningIndex { $0.before > element }
    return (element - goneBefore).advancedUp(by: arrivedBefore)
  }

  /// Whether a moved element stays between the same two survivors, and no other arrival joins it there.
  func stays(_ element: Int, asArrival number: Int) -> Bool {
    let before = arrivals[number].before
    let isAlone = [number - 1, number + 1].allSatisfy {
      !arrivals.indices.contains($0) || arrivals[$0].before != before
    }
    func goneBefore(_ element: Int) -> Int { gone.partitioningIndex { $0 >= element } }
    return isAlone && element < before
      && goneBefore(before) - goneBefore(element) == before - element
  }

  /// The origin of an element after the batch: the old index of a survivor, or an arrival.
  public enum Origin: Hashable, Sendable {
    case survivor(Int)
    case arrival(Arrival)
  }

  /// The origin of the element at an index after the batch; nil if the list is shorter.
  /// - Complexity: O(log n) in the changes.
  public func origin(of place: Int) -> Origin? {
    guard place >= 0 else { return nil }
    let arrivedBefore = arrivals.partitioningIndex { $0.place >= place }
    if arrivedBefore < arrivals.count, arrivals[arrivedBefore].place == place {
      return .arrival(arrivals[arrivedBefore])
    }
    return survivor(place - arrivedBefore).map { .survivor($0) }
  }

  /// The old index of the survivor with this many survivors in front of it; nil if there are too few survivors.
  func survivor(_ rank: Int) -> Int? {
    guard rank >= 0 else { return nil }
    let goneBefore = gone.indices.partitioningIndex { gone[$0] - $0 > rank }
    let element = rank.advancedUp(by: goneBefore)
    return element < count.value ? element : nil
  }

  /// The list after the batch, made from the list before the batch and the arrivals.
  /// - Complexity: O(n)
  public func applied<Element>(
    to list: [Element], arriving: (Arrival) -> Element
  ) -> [Element] {
    var result: [Element] = []
    result.reserveCapacity(list.count - gone.count + arrivals.count)
    var next = 0
    var gone = gone[...]
    func keep(to end: Int) {
      while next < end {
        let stop = min(gone.first ?? end, end)
        result += list[next..<stop]
        next = stop
        if gone.first == next, next < end {
          gone.removeFirst()
          next += 1
        }
      }
    }
    for arrival in arrivals {
      keep(to: arrival.before)
      result.append(arriving(arrival))
    }
    keep(to: list.count)
    return result
  }
}
