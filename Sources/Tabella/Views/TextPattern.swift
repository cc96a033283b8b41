/// A regular expression whose named groups are parts of a text: `took (?<took>\d+)ms`.
///
/// The syntax is that of ``ByteRegex``, with `(?<NAME>…)`. Groups without a name only group. Of several matches the first
/// one counts, with the usual preferences: the first alternative, and long repetitions unless they are lazy (`.*?`). The
/// time is proportional to the length of the text, for every pattern.
///
/// Matching changes the pattern, because it caches states and reuses memory.
public struct TextPattern {
  /// The names of the groups, in order.
  public let names: [String]
  /// Decides quickly whether there is a match.
  private var machine: RegexMachine
  private let program: RegexProgram
  private var now: Threads
  private var next: Threads
  /// The slots of the match: the start and the end of each part, or -1.
  private var slots: [Int]

  /// Throws ``TableError`` with `.invalidArgument` that names the fault in the pattern and its position.
  public init(_ pattern: [UInt8]) throws(TableError) {
    var parser = RegexParser(pattern, hasNames: true)
    program = try RegexProgram(try parser.parse())
    names = parser.names ?? []
    machine = RegexMachine(program)
    slots = Array(repeating: -1, count: names.count * 2)
    now = Threads(steps: program.steps.count, slots: slots.count)
    next = now
  }

  /// Finds the first match in a text. Returns whether there is one; ``part(_:)`` then returns its parts.
  /// - Complexity: O(bytes × size of the pattern)
  public mutating func match(_ text: UnsafeRawBufferPointer) -> Bool {
    guard machine.isFound(in: text) else { return false }
    guard !names.isEmpty else { return true }
    now.clear()
    var isFound = false
    for at in 0...text.count {
      if !isFound {
        // A match that begins later has less preference.
        follow(0, at, text, Array(repeating: -1, count: slots.count), in: &now)
      }
      if now.places.isEmpty { break }
      next.clear()
      search: for place in now.places {
        switch program.steps[place] {
        case .found:
          slots = now.slots(of: place)
          isFound = true
          break search
        case .byte(let range, let target):
          if at < text.count, range.contains(text[at]) {
            follow(target, at + 1, text, now.slots(of: place), in: &next)
          }
        default: break
        }
      }
      swap(&now, &next)
    }
    return isFound
  }

  /// The part of the last match that a group covers; nil if the match does not use the group.
  public func part(_ group: Int) -> Range<Int>? {
    let (start, end) = (slots[group * 2], slots[group * 2 + 1])
    return start >= 0 && end >= start ? start..<end : nil
  }

  /// Adds the steps that can be reached without reading a byte, in the order of preference.
  private func follow(
    _ place: Int, _ at: Int, _ text: UnsafeRawBufferPointer, _ slots: [Int],
    in threads: inout Threads
  ) {
    var slots = slots
    var open: [Open] = [.place(place)]
    while let item = open.popLast() {
      guard case .place(let place) = item else {
        if case .restore(let slot, let value) = item { slots[slot] = value }
        continue
      }
      guard threads.insert(place, slots) else { continue }
      switch program.steps[place] {
      case .byte, .found: break
      case .jump(let target): open.append(.place(target))
      case .split(let first, let second): open += [.place(second), .place(first)]
      case .note(let slot, let target):
        open += [.restore(slot, slots[slot]), .place(target)]
        slots[slot] = at
      case .check(let check, let target):
        if check.holds(at, in: text) { open.append(.place(target)) }
      }
    }
  }

  private enum Open {
    case place(Int)
    /// Sets a slot back after the steps behind it.
    case restore(Int, Int)
  }

  /// The steps that wait for the same byte, in the order of preference, each with its slots.
  private struct Threads {
    private(set) var places: [Int] = []
    private var isPresent: [Bool]
    private var values: [Int]
    private let count: Int

    init(steps: Int, slots count: Int) {
      isPresent = Array(repeating: false, count: steps)
      values = Array(repeating: -1, count: steps * count)
      self.count = count
    }

    mutating func clear() {
      for place in places { isPresent[place] = false }
      places.removeAll(keepingCapacity: true)
    }

    mutating func insert(_ place: Int, _ slots: [Int]) -> Bool {
      if isPresent[place] { return false }
      isPresent[place] = true
      places.append(place)
      for (index, slot) in slots.enumerated() { values[place * count + index] = slot }
      return true
    }

    func slots(of place: Int) -> [Int] { Array(values[place * count..<(place + 1) * count]) }
  }
}

extension RegexProgram.Check {
  /// Whether the condition is true at an offset of a text.
  func holds(_ at: Int, in text: UnsafeRawBufferPointer) -> Bool {
    let before = at > 0 && RegexMachine.isWord(text[at - 1])
    let after = at < text.count && RegexMachine.isWord(text[at])
    return switch self {
    case .start: at == 0
    case .end: at == text.count
    case .wordBorder: before != after
    case .noWordBorder: before == after
    }
  }
}
