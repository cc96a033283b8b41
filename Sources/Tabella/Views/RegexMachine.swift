/// Runs a program as a lazy automaton.
///
/// It caches, for each set of steps and each class of bytes, the next set. If the cache is full, the machine clears
/// it and continues.
struct RegexMachine {
  /// A set of steps between two bytes, and the kind of the previous byte. Jumps and splits are not followed yet.
  private struct State: Hashable {
    var places: [Int32]
    var before: RegexProgram.Before
  }

  private static let unknown: Int32 = -1
  private static let found: Int32 = -2
  private static let notFound: Int32 = -3
  /// An answer of ``run(_:_:_:)``: the exits of a lasting state are not known yet.
  private static let needsExits: Int32 = -4
  /// An entry instead of exits: there are too many.
  private static let many: Int32 = -5
  /// The number of bytes after which a state probably lasts.
  private static let lasting = 8

  let program: RegexProgram
  /// Whether a match begins only where the search begins.
  private let isAnchored: Bool
  /// The end of the text is one additional class.
  private let classes: RegexClasses
  /// The entries of a state are the next states, or one of the constants `unknown`, `found` and `notFound`. The last one is
  /// the code of its ``RegexExits``, or `unknown`, or `many`.
  private var states: RegexStates<State, Int32>

  /// The number of examined bytes, and of computed entries.
  private var (examined, learned) = (0, 0)

  init(_ program: RegexProgram, isAnchored: Bool = false, stateLimit: Int = 2000) {
    self.program = program
    self.isAnchored = isAnchored
    classes = RegexClasses(program)
    states = RegexStates(
      width: classes.count + 2, limit: stateLimit, unknown: RegexMachine.unknown)
  }

  /// Whether the cache was full, and each entry was used only a few times. Then most of the time goes into entries.
  var isOverwhelmed: Bool { states.clears > 0 && examined / 256 < learned }

  mutating func isFound(in text: UnsafeRawBufferPointer) -> Bool {
    isFound(in: text, stopsIfOverwhelmed: false) == true
  }

  /// Whether the pattern matches in a text. With `stopsIfOverwhelmed`, the answer is nil if the machine is overwhelmed.
  mutating func isFound(
    in text: UnsafeRawBufferPointer, stopsIfOverwhelmed: Bool
  ) -> Bool? {
    var at = 0
    let state = states.start ?? first()
    return search(text, &at, state, stopsIfOverwhelmed: stopsIfOverwhelmed)
  }

  /// Whether the pattern matches at an offset of a text, for an anchored machine. `end` is the offset behind the last
  /// examined byte.
  mutating func isFound(
    in text: UnsafeRawBufferPointer, at start: Int, end: inout Int
  ) -> Bool {
    end = start
    return search(text, &end, begin(at: start, of: text), stopsIfOverwhelmed: false) == true
  }

  /// For each byte, whether a match can begin with it.
  var beginnings: [Bool] {
    let kinds = (0..<classes.count).map { kind in
      [RegexProgram.Before.start, .word, .other].contains { before in
        follower(of: State(places: [0], before: before), kind)?.places.isEmpty != true
      }
    }
    return classes.numbers.map { kinds[Int($0)] }
  }

  /// The state in front of a byte where a match can begin.
  private mutating func begin(at start: Int, of text: UnsafeRawBufferPointer) -> Int32 {
    let before = start == 0 ? program.beforeText : program.before(after: text[start - 1])
    if before == program.beforeText { return states.start ?? first() }
    return states.number(of: State(places: [0], before: before))
  }

  /// Runs from a state and an offset on, until it is known whether there is a match.
  private mutating func search(
    _ text: UnsafeRawBufferPointer, _ at: inout Int, _ start: Int32, stopsIfOverwhelmed: Bool
  ) -> Bool? {
    var state = start
    let begin = at
    defer { examined += at - begin }
    while true {
      // Known states need no change of the cache.
      let known = run(text, &at, &state)
      if known == RegexMachine.found { return true }
      if known == RegexMachine.notFound { return false }
      if known == RegexMachine.needsExits {
        states.entries[Int(state) + classes.count + 1] = exits(of: state)?.code ?? RegexMachine.many
        continue
      }
      let kind = at < text.count ? Int(classes.numbers[Int(text[at])]) : classes.count
      let follower = learn(state, kind)
      if follower == RegexMachine.found { return true }
      if follower == RegexMachine.notFound { return false }
      state = follower
      at += 1
      if stopsIfOverwhelmed, isOverwhelmed { return nil }
    }
  }

  /// Follows known states from an offset on. Returns the first answer that is no state.
  private func run(
    _ text: UnsafeRawBufferPointer, _ at: inout Int, _ state: inout Int32
  ) -> Int32 {
    let classCount = classes.count
    return states.entries.withUnsafeBufferPointer { next in
      classes.numbers.withUnsafeBufferPointer { classes in
        var (place, now) = (at, Int(state))
        defer { (at, state) = (place, Int32(truncatingIfNeeded: now)) }
        while place < text.count {
          let exits = next[now &+ classCount &+ 1]
          if exits >= 0 {
            place = RegexExits(code: exits).first(in: text, from: place)
            if place == text.count { break }
          }
          let begin = place
          var follower = next[now &+ Int(classes[Int(text[place])])]
          // Within one state, the steps do not depend on each other, so the processor takes several at a time.
          while Int(follower) == now {
            place &+= 1
            guard place < text.count else { return next[now &+ classCount] }
            follower = next[now &+ Int(classes[Int(text[place])])]
          }
          if exits == RegexMachine.unknown, place &- begin >= RegexMachine.lasting {
            return RegexMachine.needsExits
          }
          if follower < 0 { return follower }
          now = Int(follower)
          place &+= 1
        }
        return next[now &+ classCount]
      }
    }
  }

  /// Returns the state in front of the first byte.
  private mutating func first() -> Int32 {
    let number = states.number(of: State(places: [0], before: program.beforeText))
    states.start = number
    return number
  }

  /// Computes and caches the next state from a state, for a class of bytes or the end of the text.
  private mutating func learn(_ from: Int32, _ kind: Int) -> Int32 {
    learned += 1
    guard let follower = follower(of: states.state(from), kind) else {
      states.entries[Int(from) + kind] = RegexMachine.found
      return RegexMachine.found
    }
    guard kind < classes.count, !follower.places.isEmpty else {
      states.entries[Int(from) + kind] = RegexMachine.notFound
      return RegexMachine.notFound
    }
    let before = states.clears
    let to = states.number(of: follower)
    // If the cache was cleared, it no longer contains the old state.
    if states.clears == before { states.entries[Int(from) + kind] = to }
    return to
  }

  /// Computes the next state from a state, for a class of bytes; nil if there is a match. At the end of the text there is
  /// no next state, so any state means that there is no match.
  private func follower(of state: State, _ kind: Int) -> State? {
    let byte = kind < classes.count ? classes.examples[kind] : nil
    var places: [Int] = []
    guard !follow(state, next: byte, into: &places) else { return nil }
    guard let byte else { return state }
    var isIn = [Bool](repeating: false, count: program.steps.count)
    var followers: [Int32] = []
    // A match can begin after every byte.
    if !isAnchored {
      isIn[0] = true
      followers.append(0)
    }
    for place in places {
      guard case .byte(let range, let target) = program.steps[place], range.contains(byte),
        !isIn[target]
      else { continue }
      isIn[target] = true
      followers.append(Int32(truncatingIfNeeded: target))
    }
    followers.sort()
    return State(places: followers, before: program.before(after: byte))
  }

  /// The texts that lead from a state to another one, or to a match; nil if they are too many.
  private func exits(of number: Int32) -> RegexExits? {
    let state = states.state(number)
    guard let bytes = fewBytes(where: { follower(of: state, $0) != state }) else { return nil }
    if bytes.count == 1 {
      let kind = Int(classes.numbers[Int(bytes[0])])
      // A pair must follow if any other byte after its first one leads back.
      if let first = follower(of: state, kind),
        let others = fewBytes(where: {
          let next = follower(of: first, $0)
          return next != state && !($0 == kind && next == first)
        }), others.count == 1
      {
        return RegexExits(pair: bytes[0], others[0])
      }
    }
    return RegexExits(bytes: bytes)
  }

  /// The bytes of the classes that satisfy a condition; nil if there are too many for ``RegexExits``.
  private func fewBytes(where holds: (Int) -> Bool) -> [UInt8]? {
    var bytes: [UInt8] = []
    let firsts = classes.examples
    for kind in firsts.indices where holds(kind) {
      let last = kind + 1 < firsts.count ? firsts[kind + 1] - 1 : 255
      guard bytes.count + Int(last - firsts[kind]) < RegexExits.most else { return nil }
      bytes += firsts[kind]...last
    }
    return bytes
  }

  /// Collects the steps that can be reached without reading a byte. Returns whether one of them is the end.
  private func follow(_ state: State, next byte: UInt8?, into places: inout [Int]) -> Bool {
    var isIn = [Bool](repeating: false, count: program.steps.count)
    var open = state.places.map { Int($0) }
    while let place = open.popLast() {
      guard !isIn[place] else { continue }
      isIn[place] = true
      places.append(place)
      switch program.steps[place] {
      case .byte: break
      case .found: return true
      case .jump(let target), .note(_, let target): open.append(target)
      case .split(let first, let second):
        open.append(first)
        open.append(second)
      case .check(let check, let target):
        if check.holds(state.before, byte) { open.append(target) }
      }
    }
    return false
  }
}
