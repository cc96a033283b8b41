/// A regular expression as a program for a machine that follows several steps at once (Thompson).
struct RegexProgram {
  enum Step {
    /// Reads a byte in this range, then continues with the step of this number.
    case byte(ClosedRange<UInt8>, Int)
    case split(Int, Int)
    case check(Check, Int)
    case jump(Int)
    /// Notes the offset as the start or the end of a part. A part has two slots.
    case note(slot: Int, Int)
    case found
  }

  /// A condition between two bytes.
  enum Check { case start, end, wordBorder, noWordBorder }

  private(set) var steps: [Step] = []
  private(set) var checksWords = false
  private(set) var hasChecks = false

  private static let largest = 50_000

  /// Throws ``TableError`` with `.invalidArgument` if the program would be too large.
  init(_ tree: RegexTree) throws(TableError) {
    try add(tree)
    steps.append(.found)
  }

  private mutating func add(_ tree: RegexTree) throws(TableError) {
    guard steps.count < RegexProgram.largest else {
      throw TableError(.invalidArgument, "the pattern is too large: it repeats too much")
    }
    switch tree {
    case .byte(let byte): steps.append(.byte(byte...byte, steps.count + 1))
    case .characters(let ranges): addChoice(ranges.flatMap { utf8Ranges($0) })
    case .start: add(check: .start)
    case .end: add(check: .end)
    case .wordBorder: add(check: .wordBorder)
    case .noWordBorder: add(check: .noWordBorder)
    case .sequence(let parts): for part in parts { try add(part) }
    case .choice(let parts):
      try addChoice(parts.count) { program, number throws(TableError) in
        try program.add(parts[number])
      }
    case .part(let part, let number):
      steps.append(.note(slot: number * 2, steps.count + 1))
      try add(part)
      steps.append(.note(slot: number * 2 + 1, steps.count + 1))
    case .repetition(let part, let least, let most, let isLazy):
      for _ in 0..<least { try add(part) }
      guard let most else { return try addLoop(part, isLazy) }
      var splits: [Int] = []
      for _ in least..<max(least, most) {
        splits.append(steps.count)
        steps.append(.split(steps.count + 1, 0))
        try add(part)
      }
      for split in splits { steps[split] = fork(split + 1, steps.count, isLazy) }
    }
  }

  /// A step that prefers to continue with a copy, or with the end if the repetition is lazy.
  private func fork(_ copy: Int, _ end: Int, _ isLazy: Bool) -> Step {
    isLazy ? .split(end, copy) : .split(copy, end)
  }

  private mutating func add(check: Check) {
    hasChecks = true
    if check == .wordBorder || check == .noWordBorder { checksWords = true }
    steps.append(.check(check, steps.count + 1))
  }

  private mutating func addLoop(_ part: RegexTree, _ isLazy: Bool) throws(TableError) {
    let start = steps.count
    steps.append(.split(start + 1, 0))
    try add(part)
    steps.append(.jump(start))
    steps[start] = fork(start + 1, steps.count, isLazy)
  }

  /// Adds a choice of byte sequences. Without sequences, nothing matches.
  private mutating func addChoice(_ sequences: [[ClosedRange<UInt8>]]) {
    guard !sequences.isEmpty else {
      // A step that leads only to itself never matches.
      steps.append(.jump(steps.count))
      return
    }
    addChoice(sequences.count) { program, number in
      for range in sequences[number] {
        program.steps.append(.byte(range, program.steps.count + 1))
      }
    }
  }

  private mutating func addChoice<E: Error>(
    _ count: Int, _ add: (inout RegexProgram, Int) throws(E) -> Void
  ) throws(E) {
    var jumps: [Int] = []
    for number in 0..<count {
      let split = steps.count
      if number < count - 1 { steps.append(.split(split + 1, 0)) }
      try add(&self, number)
      guard number < count - 1 else { break }
      jumps.append(steps.count)
      steps.append(.jump(0))
      steps[split] = .split(split + 1, steps.count)
    }
    for jump in jumps { steps[jump] = .jump(steps.count) }
  }
}

/// The sequences of byte ranges that are the UTF-8 encoding of a range of characters.
private func utf8Ranges(_ range: ClosedRange<UInt32>) -> [[ClosedRange<UInt8>]] {
  // Surrogates are not characters. Each range contains encodings of one length.
  let parts: [ClosedRange<UInt32>] = [
    0...0x7F, 0x80...0x7FF, 0x800...0xD7FF, 0xE000...0xFFFF, 0x10000...0x10FFFF,
  ]
  return parts.filter { $0.overlaps(range) }.flatMap { part -> [[ClosedRange<UInt8>]] in
    let some = range.clamped(to: part)
    return split(utf8(some.lowerBound), utf8(some.upperBound))
  }
}

private func utf8(_ value: UInt32) -> [UInt8] {
  Unicode.Scalar(value).map { Array(String(Character($0)).utf8) } ?? []
}

/// The sequences of byte ranges between two byte sequences of the same length.
private func split(_ low: [UInt8], _ high: [UInt8]) -> [[ClosedRange<UInt8>]] {
  guard low.count > 1 else { return [[low[0]...high[0]]] }
  let (lowRest, highRest) = (Array(low.dropFirst()), Array(high.dropFirst()))
  if low[0] == high[0] { return split(lowRest, highRest).map { [low[0]...low[0]] + $0 } }
  let least = [UInt8](repeating: 0x80, count: low.count - 1)
  let most = [UInt8](repeating: 0xBF, count: low.count - 1)
  var result: [[ClosedRange<UInt8>]] = []
  var (first, last) = (low[0], high[0])
  if lowRest != least {
    result += split(lowRest, most).map { [first...first] + $0 }
    first += 1
  }
  if highRest != most { last -= 1 }
  if first <= last {
    result.append([first...last] + zip(least, most).map { $0...$1 })
  }
  if highRest != most { result += split(least, highRest).map { [high[0]...high[0]] + $0 } }
  return result
}

/// Runs a program as a lazy automaton.
///
/// It caches, for each set of steps and each class of bytes, the next set. If the cache is full, the machine clears
/// it and continues.
struct RegexMachine {
  /// A set of steps between two bytes, and the kind of the previous byte. Jumps and splits are not followed yet.
  private struct State: Hashable {
    var places: [Int32]
    var before: Before
  }

  /// The kind of the previous byte, as far as a check needs it.
  private enum Before: Hashable { case start, word, other }

  private static let unknown: Int32 = -1
  private static let found: Int32 = -2
  private static let notFound: Int32 = -3
  /// The number of bytes after which a state probably lasts.
  private static let lasting = 8

  private let program: RegexProgram
  private let stateLimit: Int
  /// The class of each byte. All bytes of a class lead from each state to the same next state.
  private var classes = [UInt8](repeating: 0, count: 256)
  /// The number of classes. The end of the text is one additional class.
  private var classCount = 0
  /// One byte of each class.
  private var examples: [UInt8] = []
  /// How many times the cache was cleared.
  private var forgotten = 0
  private var states: [State] = []
  /// A state is numbered by the index of its first entry in ``next``.
  private var numbers: [State: Int32] = [:]
  /// The state in front of the first byte, once it is known.
  private var start: Int32?
  /// The state in which no match has begun, once it is known. Most bytes lead back to it.
  private var home: Int32?
  /// For each state and class, the next state, or one of the constants `unknown`, `found` and
  /// `notFound`.
  private var next: [Int32] = []

  init(_ program: RegexProgram, stateLimit: Int = 2000) {
    self.program = program
    self.stateLimit = stateLimit
    makeClasses()
  }

  private mutating func makeClasses() {
    var isBorder = [Bool](repeating: false, count: 257)
    for case .byte(let range, _) in program.steps {
      isBorder[Int(range.lowerBound)] = true
      isBorder[Int(range.upperBound) + 1] = true
    }
    if program.checksWords {
      for byte in 1..<256
      where RegexMachine.isWord(UInt8(byte)) != RegexMachine.isWord(UInt8(byte - 1)) {
        isBorder[byte] = true
      }
    }
    for byte in 0..<256 {
      if byte == 0 || isBorder[byte] { examples.append(UInt8(byte)) }
      classes[byte] = UInt8(truncatingIfNeeded: examples.count - 1)
    }
    classCount = examples.count
  }

  static func isWord(_ byte: UInt8) -> Bool {
    byte == 95 || byte &- 48 < 10 || (byte | 0x20) &- 97 < 26
  }

  mutating func isFound(in text: UnsafeRawBufferPointer) -> Bool {
    var at = 0
    var state = start ?? first()
    while true {
      // Known states need no change of the cache.
      let follower = run(text, &at, &state)
      if follower == RegexMachine.found { return true }
      if follower == RegexMachine.notFound { return false }
      let kind = at < text.count ? Int(classes[Int(text[at])]) : classCount
      let learned = learn(state, kind)
      if learned == RegexMachine.found { return true }
      if learned == RegexMachine.notFound { return false }
      state = learned
      at += 1
    }
  }

  /// Follows known states from an offset on. Returns the first answer that is no state.
  private func run(
    _ text: UnsafeRawBufferPointer, _ at: inout Int, _ state: inout Int32
  ) -> Int32 {
    next.withUnsafeBufferPointer { next in
      classes.withUnsafeBufferPointer { classes in
        var (place, now) = (at, Int(state))
        let home = Int(home ?? RegexMachine.unknown)
        var stays = 0
        defer { (at, state) = (place, Int32(truncatingIfNeeded: now)) }
        while place < text.count {
          var follower = next[now &+ Int(classes[Int(text[place])])]
          // Within one state, the steps do not depend on each other, so the processor takes several at a time. That
          // pays off if the state lasts.
          stays = now == home ? stays &+ 1 : 0
          if stays == RegexMachine.lasting {
            stays = 0
            while Int(follower) == home {
              place &+= 1
              guard place < text.count else { return next[now &+ classCount] }
              follower = next[now &+ Int(classes[Int(text[place])])]
            }
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
    let number = number(of: State(places: [0], before: program.hasChecks ? .start : .other))
    start = number
    return number
  }

  /// Returns the number of a state, and adds the state to the cache.
  private mutating func number(of state: State) -> Int32 {
    if let number = numbers[state] { return number }
    if states.count >= stateLimit {
      forgotten += 1
      (start, home) = (nil, nil)
      states.removeAll()
      numbers.removeAll()
      next.removeAll(keepingCapacity: true)
    }
    let number = Int32(truncatingIfNeeded: states.count * (classCount + 1))
    if state.places == [0], state.before == .other { home = number }
    states.append(state)
    numbers[state] = number
    next += repeatElement(RegexMachine.unknown, count: classCount + 1)
    return number
  }

  /// Computes and caches the next state from a state, for a class of bytes or the end of the text.
  private mutating func learn(_ from: Int32, _ kind: Int) -> Int32 {
    let state = states[Int(from) / (classCount + 1)]
    let byte = kind < classCount ? examples[kind] : nil
    var places: Set<Int> = []
    guard !follow(state, next: byte, into: &places) else {
      next[Int(from) + kind] = RegexMachine.found
      return RegexMachine.found
    }
    guard let byte else {
      next[Int(from) + kind] = RegexMachine.notFound
      return RegexMachine.notFound
    }
    // A match can begin after every byte.
    var followers: Set<Int32> = [0]
    for case .byte(let range, let target) in places.map({ program.steps[$0] })
    where range.contains(byte) {
      followers.insert(Int32(truncatingIfNeeded: target))
    }
    let context: Before = program.checksWords && RegexMachine.isWord(byte) ? .word : .other
    let before = forgotten
    let to = number(of: State(places: followers.sorted(), before: context))
    // If the cache was cleared, it no longer contains the old state.
    if forgotten == before { next[Int(from) + kind] = to }
    return to
  }

  /// Collects the steps that can be reached without reading a byte. Returns whether one of them is the end.
  private func follow(_ state: State, next byte: UInt8?, into places: inout Set<Int>) -> Bool {
    var open = state.places.map { Int($0) }
    while let place = open.popLast() {
      guard places.insert(place).inserted else { continue }
      switch program.steps[place] {
      case .byte: break
      case .found: return true
      case .jump(let target), .note(_, let target): open.append(target)
      case .split(let first, let second):
        open.append(first)
        open.append(second)
      case .check(let check, let target):
        if holds(check, state.before, byte) { open.append(target) }
      }
    }
    return false
  }

  private func holds(_ check: RegexProgram.Check, _ before: Before, _ byte: UInt8?) -> Bool {
    let isBorder = (before == .word) != (byte.map { RegexMachine.isWord($0) } ?? false)
    return switch check {
    case .start: before == .start
    case .end: byte == nil
    case .wordBorder: isBorder
    case .noWordBorder: !isBorder
    }
  }
}
