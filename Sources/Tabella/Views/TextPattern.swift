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
  /// Whether a match can begin with a byte.
  private let canBegin: [Bool]
  private var now: Threads
  private var next: Threads
  /// The steps to follow, kept to reuse its memory.
  private var open: [Open] = []
  /// The slots of the match: the start and the end of each part, or -1.
  private var slots: [Int]

  /// Throws ``TableError`` with `.invalidArgument` that names the fault in the pattern and its position.
  public init(_ pattern: [UInt8]) throws(TableError) {
    var parser = RegexParser(pattern, hasNames: true)
    program = try RegexProgram(try parser.parse())
    names = parser.names ?? []
    machine = RegexMachine(program)
    canBegin = program.firstBytes
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
    var at = 0
    while at <= text.count {
      if !isFound {
        if now.places.isEmpty {
          now.clear()
          while at < text.count, !canBegin[Int(text[at])] { at += 1 }
        }
        if at == text.count || canBegin[Int(text[at])] {
          // A match that begins later has less preference.
          now.startSlots()
          TextPattern.follow(0, at, text, program, &open, &now)
        }
      }
      if now.places.isEmpty, isFound { break }
      next.clear()
      search: for place in now.places {
        switch program.steps[place] {
        case .found:
          now.copySlots(of: place, to: &slots)
          isFound = true
          break search
        case .byte(_, let target):
          next.takeSlots(of: place, from: now)
          TextPattern.follow(target, at + 1, text, program, &open, &next)
        default: break
        }
      }
      swap(&now, &next)
      at += 1
    }
    return isFound
  }

  /// The part of the last match that a group covers; nil if the match does not use the group.
  public func part(_ group: Int) -> Range<Int>? {
    let (start, end) = (slots[group * 2], slots[group * 2 + 1])
    return start >= 0 && end >= start ? start..<end : nil
  }

  /// Adds the steps that can be reached without reading a byte, in the order of preference, with the current slots of
  /// `threads`.
  private static func follow(
    _ place: Int, _ at: Int, _ text: UnsafeRawBufferPointer, _ program: RegexProgram,
    _ open: inout [Open], _ threads: inout Threads
  ) {
    open.append(.place(place))
    while let item = open.popLast() {
      guard case .place(let place) = item else {
        if case .restore(let slot, let value) = item { threads.current[slot] = value }
        continue
      }
      guard threads.mark(place) else { continue }
      switch program.steps[place] {
      case .byte(let range, _):
        // A step that does not accept the next byte leads nowhere.
        if at < text.count, range.contains(text[at]) { threads.add(place) }
      case .found: threads.add(place)
      case .jump(let target): open.append(.place(target))
      case .split(let first, let second):
        open.append(.place(second))
        open.append(.place(first))
      case .note(let slot, let target):
        open.append(.restore(slot, threads.current[slot]))
        open.append(.place(target))
        threads.current[slot] = at
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
    /// The steps that were reached, with those that read no byte.
    private var marked: [Int] = []
    private var isMarked: [Bool]
    private var values: [Int]
    /// The slots of the steps that are added.
    var current: [Int]

    init(steps: Int, slots count: Int) {
      isMarked = Array(repeating: false, count: steps)
      values = Array(repeating: -1, count: steps * count)
      current = Array(repeating: -1, count: count)
    }

    mutating func clear() {
      for place in marked { isMarked[place] = false }
      marked.removeAll(keepingCapacity: true)
      places.removeAll(keepingCapacity: true)
    }

    mutating func startSlots() { for slot in current.indices { current[slot] = -1 } }

    mutating func takeSlots(of place: Int, from other: Threads) {
      other.copySlots(of: place, to: &current)
    }

    /// Marks a step as reached. Returns false if it was reached before, with a greater preference.
    mutating func mark(_ place: Int) -> Bool {
      if isMarked[place] { return false }
      isMarked[place] = true
      marked.append(place)
      return true
    }

    /// Adds a step with the current slots.
    mutating func add(_ place: Int) {
      places.append(place)
      for slot in current.indices { values[place * current.count + slot] = current[slot] }
    }

    func copySlots(of place: Int, to slots: inout [Int]) {
      for slot in slots.indices { slots[slot] = values[place * slots.count + slot] }
    }
  }
}

extension RegexProgram {
  /// For each byte, whether a match can begin with it. A match without bytes can begin anywhere.
  fileprivate var firstBytes: [Bool] {
    var firsts = Array(repeating: false, count: 256)
    var (open, seen) = ([0], Set<Int>())
    while let place = open.popLast() {
      guard seen.insert(place).inserted else { continue }
      switch steps[place] {
      case .byte(let range, _): for byte in range { firsts[Int(byte)] = true }
      case .found: return Array(repeating: true, count: 256)
      case .jump(let target), .note(_, let target), .check(_, let target): open.append(target)
      case .split(let first, let second): open += [first, second]
      }
    }
    return firsts
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
