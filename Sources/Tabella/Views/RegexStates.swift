/// The known states of a lazy automaton, and for each state its entries: one for each class of bytes, and maybe others.
///
/// If there are too many states, the cache is cleared. Numbers of states are then no longer valid.
struct RegexStates<State: Hashable, Entry> {
  /// The number of entries of a state.
  let width: Int
  private let limit: Int
  private let unknown: Entry
  private var states: [State] = []
  private var numbers: [State: Int32] = [:]
  /// The entries of all states.
  var entries: [Entry] = []
  /// The state in front of the first byte, once it is known.
  var start: Int32?
  /// How many times the cache was cleared.
  private(set) var clears = 0

  /// The entries of a new state are `unknown`.
  init(width: Int, limit: Int, unknown: Entry) {
    (self.width, self.limit, self.unknown) = (width, limit, unknown)
  }

  /// The number of states.
  var count: Int { states.count }

  /// The state with a number.
  func state(_ number: Int32) -> State { states[Int(number) / width] }

  /// The number of a state, which is the index of its first entry. Adds the state if it is not known.
  mutating func number(of state: State) -> Int32 {
    if let number = numbers[state] { return number }
    if states.count >= limit { clear() }
    let number = Int32(truncatingIfNeeded: entries.count)
    states.append(state)
    numbers[state] = number
    entries += repeatElement(unknown, count: width)
    return number
  }

  mutating func clear() {
    clears += 1
    start = nil
    states.removeAll()
    numbers.removeAll()
    entries.removeAll(keepingCapacity: true)
  }
}
