import Glibc

/// Finds the parts of a text that groups cover, with a lazy automaton.
///
/// Several paths through a program are followed at once, in the order of preference. Each path has slots: the offsets where
/// parts start and end. A state is the list of steps that the paths have reached. For each state and each class of bytes,
/// the automaton caches the next state, and how the slots change. Most bytes change no slots, because a path takes
/// notes only when the next byte is known (a tagged automaton with one byte of lookahead: Laurikari, 2000).
///
/// If the cache is full, the machine clears it and continues.
struct PartMachine {
  private struct State: Hashable {
    /// The steps of the paths, in order. Jumps and splits are not followed yet.
    var places: [Int32]
    /// Whether a match can begin here. The path that begins comes after all others.
    var begins: Bool
    var before: RegexProgram.Before
  }

  /// How a path follows from the paths in front of a byte.
  private struct Path {
    /// The number of the path that it continues; ``begins`` if it begins here.
    var source: Int
    /// The slots that receive the offset of the byte.
    var notes: [Int]

    static let begins = -1
  }

  /// How slots change at a byte.
  private struct Update {
    var paths: [Path] = []
    /// The path that has matched in front of the byte.
    var match: Path?

    var isEmpty: Bool {
      match == nil
        && paths.enumerated().allSatisfy {
          $0.offset == $0.element.source && $0.element.notes.isEmpty
        }
    }

    /// The update as a list of numbers, which is fast to follow. Each part begins with its number of entries.
    ///
    /// - The match: its path, and the slots that receive the offset. The number is -1 if there is no match.
    /// - For each path, its row of slots: the number of the path that had the row before. So a path that continues keeps its
    ///   row. There are no entries if all rows stay. Rows without a path have numbers behind those of the paths.
    /// - Pairs of paths with equal slots: the second one receives those of the first one.
    /// - Paths that begin: all their slots are emptied.
    /// - Pairs of a path and a slot that receives the offset.
    ///
    /// `before` is the number of paths in front of the byte.
    func code(pathsBefore before: Int) -> [Int] {
      var code: [Int] = []
      if let match { code += [match.notes.count, match.source] + match.notes } else { code = [-1] }
      var owners: [Int: Int] = [:]
      var (rows, copies, fresh): ([Int?], [Int], [Int]) = ([], [], [])
      for (number, path) in paths.enumerated() {
        if path.source == Path.begins {
          fresh.append(number)
          rows.append(nil)
        } else if let owner = owners[path.source] {
          copies += [owner, number]
          rows.append(nil)
        } else {
          owners[path.source] = number
          rows.append(path.source)
        }
      }
      var free = (0..<max(before, paths.count)).filter { owners[$0] == nil }[...]
      let order = rows.map { $0 ?? free.removeFirst() } + free
      let notes = paths.enumerated().flatMap { path in
        path.element.notes.flatMap { [path.offset, $0] }
      }
      for list in [order == Array(order.indices) ? [] : order, copies, fresh, notes] {
        code += [list.count] + list
      }
      return code
    }
  }

  private struct Transition {
    /// The next state, or `unknown` or `ended`.
    var state: Int32
    /// The offset of an update in `updates`, or `none`.
    var update: Int32

    static let unknown: Int32 = -1
    /// There are no paths left.
    static let ended: Int32 = -2
    static let none: Int32 = -1
  }

  private let program: RegexProgram
  private let opening: [UInt8]
  /// The end of the text is one additional class.
  private let classes: RegexClasses
  private var states: RegexStates<State, Transition>
  /// See ``Update/code(pathsBefore:)``.
  private var updates: [Int] = []

  /// The number of elements of ``updates`` that clears the cache: 8 MiB. Updates of many paths are long.
  private static let updateLimit = 1 << 20

  /// The slots of the match: the start and the end of each part, or -1.
  private(set) var slots: [Int]
  /// The slots of paths, in rows.
  private var values: [Int] = []
  /// For each path, where its row begins in ``values``.
  private var rows: [Int] = []

  /// Every match begins with the text `opening`.
  init(_ program: RegexProgram, opening: [UInt8] = [], parts: Int, stateLimit: Int = 2000) {
    (self.program, self.opening) = (program, opening)
    classes = RegexClasses(program)
    states = RegexStates(
      width: classes.count + 1, limit: stateLimit,
      unknown: Transition(state: Transition.unknown, update: Transition.none))
    slots = Array(repeating: -1, count: parts * 2)
  }

  /// Finds the first match in a text. Returns whether there is one; ``slots`` then belong to it.
  /// - Complexity: O(bytes), if the states are known
  mutating func match(_ text: UnsafeRawBufferPointer) -> Bool {
    guard var at = begin(in: text) else { return false }
    var isFound = false
    var state = states.start ?? first()
    while true {
      var transition = run(text, &at, &state)
      if transition.state == Transition.unknown {
        transition = learn(state, at < text.count ? Int(classes.numbers[Int(text[at])]) : nil)
      }
      if transition.update != Transition.none, update(Int(transition.update), at) { isFound = true }
      if transition.state == Transition.ended { return isFound }
      state = transition.state
      at += 1
    }
  }

  /// The offset to begin at: the byte in front of the first place where a match can begin, because some steps look at that
  /// byte; nil if there is no such place.
  private func begin(in text: UnsafeRawBufferPointer) -> Int? {
    guard let first = opening.first else { return 0 }
    return opening.withUnsafeBytes { opening in
      var at = 0
      while at + opening.count <= text.count,
        let found = memchr(
          text.baseAddress! + at, Int32(first), text.count - opening.count + 1 - at)
      {
        if memcmp(found, opening.baseAddress!, opening.count) == 0 {
          return max(0, UnsafeRawPointer(found) - text.baseAddress! - 1)
        }
        at = UnsafeRawPointer(found) - text.baseAddress! + 1
      }
      return nil
    }
  }

  /// Follows known transitions without updates from an offset on. Returns the first other one.
  private func run(
    _ text: UnsafeRawBufferPointer, _ at: inout Int, _ state: inout Int32
  ) -> Transition {
    let count = classes.count
    return states.entries.withUnsafeBufferPointer { transitions in
      classes.numbers.withUnsafeBufferPointer { classes in
        var (place, now) = (at, state)
        defer { (at, state) = (place, now) }
        while place < text.count {
          let transition = transitions[Int(now) &+ Int(classes[Int(text[place])])]
          if transition.state < 0 || transition.update != Transition.none { return transition }
          now = transition.state
          place &+= 1
        }
        return transitions[Int(now) &+ count]
      }
    }
  }

  /// Changes the slots at an offset, by the update at an index. Returns whether a path has matched.
  private mutating func update(_ index: Int, _ at: Int) -> Bool {
    let count = slots.count
    return updates.withUnsafeBufferPointer { updates in
      rows.withUnsafeMutableBufferPointer { rows in
        values.withUnsafeMutableBufferPointer { values in
          var code = Code(updates: updates, index: index)
          let matchNotes = code.next()
          if matchNotes >= 0 {
            let path = code.next()
            for slot in 0..<count {
              slots[slot] = path == Path.begins ? -1 : values[rows[path] + slot]
            }
            for _ in 0..<matchNotes { slots[code.next()] = at }
          }
          let moved = code.next()
          if moved > 0 {
            withUnsafeTemporaryAllocation(of: Int.self, capacity: moved) { old in
              for path in 0..<moved { old[path] = rows[path] }
              for path in 0..<moved { rows[path] = old[code.next()] }
            }
          }
          for _ in 0..<code.next() / 2 {
            let (from, to) = (rows[code.next()], rows[code.next()])
            for slot in 0..<count { values[to + slot] = values[from + slot] }
          }
          for _ in 0..<code.next() {
            let row = rows[code.next()]
            for slot in 0..<count { values[row + slot] = -1 }
          }
          for _ in 0..<code.next() / 2 {
            let row = rows[code.next()]
            values[row + code.next()] = at
          }
          return matchNotes >= 0
        }
      }
    }
  }

  /// A place in ``updates``.
  private struct Code {
    let updates: UnsafeBufferPointer<Int>
    var index: Int

    @inline(__always)
    mutating func next() -> Int {
      defer { index += 1 }
      return updates[index]
    }
  }

  // The cache

  /// The number of states in the cache.
  var stateCount: Int { states.count }

  /// Returns the state in front of the first byte.
  private mutating func first() -> Int32 {
    let number = states.number(of: State(places: [], begins: true, before: program.beforeText))
    states.start = number
    return number
  }

  /// Computes and caches the transition from a state, for a class of bytes or, if `kind` is nil, the end of the text.
  private mutating func learn(_ from: Int32, _ kind: Int?) -> Transition {
    let (state, before) = (states.state(from), states.clears)
    let (follower, update) = follower(of: state, kind)
    if updates.count >= PartMachine.updateLimit { states.clear() }
    var transition = Transition(
      state: follower.map { states.number(of: $0) } ?? Transition.ended, update: Transition.none)
    // If the cache was cleared, it no longer contains the old state, and no transition uses an update.
    let isCleared = states.clears != before
    if isCleared { updates.removeAll(keepingCapacity: true) }
    if !update.isEmpty {
      transition.update = Int32(truncatingIfNeeded: updates.count)
      updates += update.code(pathsBefore: state.places.count)
      for _ in rows.count..<max(rows.count, update.paths.count) {
        rows.append(values.count)
        values += repeatElement(-1, count: slots.count)
      }
    }
    if !isCleared { states.entries[Int(from) + (kind ?? classes.count)] = transition }
    return transition
  }

  /// Computes the next state from a state, for a class of bytes or the end of the text; nil if no path is left.
  private func follower(of state: State, _ kind: Int?) -> (state: State?, update: Update) {
    let byte = kind.map { classes.examples[$0] }
    var seen: Set<Int> = []
    var places: [Int32] = []
    var update = Update()
    var sources = state.places.enumerated().map { (number: $0.offset, place: Int($0.element)) }
    if state.begins { sources.append((Path.begins, 0)) }
    paths: for source in sources {
      var open: [(place: Int, notes: [Int])] = [(source.place, [])]
      while let (place, notes) = open.popLast() {
        // A step that was reached before is part of a path with a greater preference.
        guard seen.insert(place).inserted else { continue }
        let path = Path(source: source.number, notes: notes)
        switch program.steps[place] {
        case .byte(let range, let target):
          let target = Int32(truncatingIfNeeded: target)
          guard let byte, range.contains(byte), !places.contains(target) else { continue }
          places.append(target)
          update.paths.append(path)
        case .found:
          // The paths behind it have less preference.
          update.match = path
          break paths
        case .jump(let target): open.append((target, notes))
        case .split(let first, let second):
          open.append((second, notes))
          open.append((first, notes))
        case .note(let slot, let target): open.append((target, notes + [slot]))
        case .check(let check, let target):
          if check.holds(state.before, byte) { open.append((target, notes)) }
        }
      }
    }
    let begins = state.begins && update.match == nil
    guard let byte, begins || !places.isEmpty else { return (nil, update) }
    return (
      State(places: places, begins: begins, before: program.before(after: byte)), update
    )
  }
}
