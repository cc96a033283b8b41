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
    skipJumps()
  }

  /// Lets all steps lead to where jumps lead. So paths that have read the same reach the same step, and become one.
  private mutating func skipJumps() {
    func end(_ place: Int) -> Int {
      var (place, left) = (place, steps.count)
      // A jump can lead to itself.
      while left > 0, case .jump(let target) = steps[place] { (place, left) = (target, left - 1) }
      return place
    }
    for place in steps.indices {
      switch steps[place] {
      case .byte(let range, let target): steps[place] = .byte(range, end(target))
      case .split(let first, let second): steps[place] = .split(end(first), end(second))
      case .check(let check, let target): steps[place] = .check(check, end(target))
      case .jump(let target): steps[place] = .jump(end(target))
      case .note(let slot, let target): steps[place] = .note(slot: slot, end(target))
      case .found: break
      }
    }
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

extension RegexProgram {
  /// The kind of the byte in front of a position, as far as a check needs it.
  enum Before: Hashable { case start, word, other }

  /// The kind in front of the first byte of a text.
  var beforeText: Before { hasChecks ? .start : .other }

  /// The kind of a byte.
  func before(after byte: UInt8) -> Before { checksWords && byte.isWordByte ? .word : .other }
}

extension RegexProgram.Check {
  /// Whether the condition is true between two bytes. `next` is nil at the end of the text.
  func holds(_ before: RegexProgram.Before, _ next: UInt8?) -> Bool {
    let isBorder = (before == .word) != (next?.isWordByte ?? false)
    // Between two bytes of a character there is no position.
    let isInside = next?.continuesCharacter ?? false
    return switch self {
    case .start: before == .start
    case .end: next == nil
    case .wordBorder: isBorder
    case .noWordBorder: !isBorder && !isInside
    }
  }

  /// Whether the condition is true at an offset of a text.
  func holds(_ at: Int, in text: UnsafeRawBufferPointer) -> Bool {
    let before: RegexProgram.Before =
      at == 0 ? .start : text[at - 1].isWordByte ? .word : .other
    return holds(before, at < text.count ? text[at] : nil)
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
