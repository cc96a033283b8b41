/// How a list, the rows of a section or the sections themselves, comes out of a batch.
///
/// ``BatchPlan`` makes it. What neither goes nor arrives survives, and survivors keep their order.
public struct ListPlan: Hashable, Sendable {
  /// An element that is inserted, or moved here.
  public struct Arrival: Hashable, Sendable {
    /// Where it stands after the batch.
    public var place: Int
    /// The survivor that it comes to stand before, as that was numbered before the batch; the count
    /// before the batch if it stands behind all of them.
    public var before: Int
    /// The number of the change that brings it.
    public var change: Int
  }

  /// How many elements there were before the batch. If it is at least a number, what arrives stands
  /// before one of those.
  public let count: Count
  /// What is deleted or moved away, ascending, as numbered before the batch.
  public let gone: [Int]
  /// What arrives, ascending by place.
  public let arrivals: [Arrival]

  /// `gone` ascends and all of it is there; a place that is none throws.
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
      // So many survivors stand before it.
      let rank = next.place - number
      while passed < gone.count, gone[passed] - passed <= rank { passed += 1 }
      let before = rank.advancedUp(by: passed)
      guard before <= count.value else {
        throw TableError(
          .notFound,
          "\(path(next.place).noun) is no place after the batch, which leaves "
            + "\(count.value - gone.count + places.count)")
      }
      arrivals.append(Arrival(place: next.place, before: before, change: next.change))
    }
    self.arrivals = arrivals
  }

  /// How many elements there are after the batch.
  public var countAfter: Count {
    let value = count.value - gone.count + arrivals.count
    return count.isExact ? .exact(value) : .atLeast(value)
  }

  /// Where a survivor stands after the batch; nil if it is deleted or moved away, or is not there.
  /// - Complexity: O(log n) in the changes.
  public func place(of element: Int) -> Int? {
    guard element >= 0, !count.isExact || element < count.value else { return nil }
    let goneBefore = gone.partitioningIndex { $0 >= element }
    guard goneBefore == gone.count || gone[goneBefore] != element else { return nil }
    let arrivedBefore = arrivals.partitioningIndex { $0.before > element }
    return (element - goneBefore).advancedUp(by: arrivedBefore)
  }

  /// Whether an element that is moved comes to stand between the same survivors as before, with nothing
  /// else that arrives there.
  func stays(_ element: Int, asArrival number: Int) -> Bool {
    let before = arrivals[number].before
    let isAlone = [number - 1, number + 1].allSatisfy {
      !arrivals.indices.contains($0) || arrivals[$0].before != before
    }
    func goneBefore(_ element: Int) -> Int { gone.partitioningIndex { $0 >= element } }
    return isAlone && element < before
      && goneBefore(before) - goneBefore(element) == before - element
  }

  /// What stands at a place after the batch: the number of a survivor, or an arrival.
  public enum Origin: Hashable, Sendable {
    case survivor(Int)
    case arrival(Arrival)
  }

  /// What stands at a place after the batch; nil if nothing does.
  /// - Complexity: O(log n) in the changes.
  public func origin(of place: Int) -> Origin? {
    guard place >= 0 else { return nil }
    let arrivedBefore = arrivals.partitioningIndex { $0.place >= place }
    if arrivedBefore < arrivals.count, arrivals[arrivedBefore].place == place {
      return .arrival(arrivals[arrivedBefore])
    }
    return survivor(place - arrivedBefore).map { .survivor($0) }
  }

  /// The survivor before which stand so many others; nil if there are not so many.
  func survivor(_ rank: Int) -> Int? {
    guard rank >= 0 else { return nil }
    let goneBefore = gone.indices.partitioningIndex { gone[$0] - $0 > rank }
    let element = rank.advancedUp(by: goneBefore)
    return element < count.value ? element : nil
  }

  /// The list after the batch, made of the one before it and what arrives.
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
