/// What is needed of `/proc/PID/stat`.
struct StatLine {
  /// Where the name stands in the line.
  var command: Range<Int>
  var state: UInt8
  var parent: Int64 = 0
  private var flags: Int64 = 0
  var nice: Int64 = 0
  /// In ticks since the boot.
  var start: Int64 = 0
  /// The time spent on a processor, in ticks.
  private var used = 0.0

  /// Parses a line; nil if it is not as the kernel writes it.
  init?(_ line: UnsafeRawBufferPointer) {
    // A name may hold parentheses, spaces and line ends; the numbers behind it hold none.
    guard let open = line.firstIndex(of: UInt8(ascii: "(")),
      let close = line.lastIndex(of: UInt8(ascii: ")")), open < close
    else { return nil }
    command = open + 1..<close
    var words = Words(UnsafeRawBufferPointer(rebasing: line[(close + 1)...]))
    guard let state = words.next(), state.count == 1 else { return nil }
    self.state = state[0]
    // Counted as in proc(5); the state is the third.
    for field in 4...22 {
      guard let word = words.next() else { return nil }
      guard set(field, word) else { return nil }
    }
    guard start >= 0, used >= 0 else { return nil }
  }

  /// Takes a field, if it is one that is needed; returns whether it was as expected.
  private mutating func set(_ field: Int, _ word: UnsafeRawBufferPointer) -> Bool {
    guard isNeeded(field) else { return true }
    guard let value = decimal(word) else { return false }
    switch field {
    case 4: parent = value
    case 9: flags = value
    case 14, 15: used += Double(value)
    case 19: nice = value
    default: start = value
    }
    return true
  }

  private func isNeeded(_ field: Int) -> Bool {
    switch field {
    case 4, 9, 14, 15, 19, 22: true
    default: false
    }
  }

  /// Whether it is a thread of the kernel: PF_KTHREAD of linux/sched.h, as ps and others read it.
  var isKernelThread: Bool { flags & 0x0020_0000 != 0 }

  /// The part of its life that the process was on a processor, in percent.
  func cpu(at second: Double, ticksPerSecond: Int64) -> Double {
    let life = second * Double(ticksPerSecond) - Double(start)
    // A life of less than a tick would make noise, or worse, of a division.
    return life >= 1 ? 100 * used / life : 0
  }
}

/// The words of a line, apart from the spaces and line ends between them.
struct Words: IteratorProtocol {
  private let line: UnsafeRawBufferPointer
  private var at = 0

  init(_ line: UnsafeRawBufferPointer) { self.line = line }

  mutating func next() -> UnsafeRawBufferPointer? {
    while at < line.count, isSpace(line[at]) { at += 1 }
    let start = at
    while at < line.count, !isSpace(line[at]) { at += 1 }
    return at > start ? UnsafeRawBufferPointer(rebasing: line[start..<at]) : nil
  }

  private func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A }
}

/// The number that decimal digits stand for; nil for anything else, and if it needs over 64 bits.
func decimal(_ digits: some Collection<UInt8>) -> Int64? {
  let isNegative = digits.first == UInt8(ascii: "-")
  let rest = isNegative ? digits.dropFirst() : digits[...]
  if rest.isEmpty { return nil }
  var value: Int64 = 0
  for digit in rest {
    guard case 48...57 = digit else { return nil }
    let (tens, isTooLarge) = value.multipliedReportingOverflow(by: 10)
    let (sum, overflows) = tens.subtractingReportingOverflow(Int64(digit - 48))
    if isTooLarge || overflows { return nil }
    value = sum
  }
  // The negative numbers reach further, so they are what is counted in.
  return isNegative ? value : (value == .min ? nil : -value)
}
