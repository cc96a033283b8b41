/// The needed fields of `/proc/PID/stat`.
struct StatLine {
  /// The range of the name in the line.
  var command: Range<Int>
  var state: UInt8
  var parent: Int64 = 0
  private var flags: Int64 = 0
  var nice: Int64 = 0
  /// The start time in ticks since the boot.
  var start: Int64 = 0
  /// The processor time in ticks.
  private var used = 0.0

  /// Parses a line. Returns nil if it does not have the kernel's format.
  init?(_ line: UnsafeRawBufferPointer) {
    // A name may contain parentheses, spaces and line ends. The numbers after it contain none.
    guard let open = line.firstIndex(of: UInt8(ascii: "(")),
      let close = line.lastIndex(of: UInt8(ascii: ")")), open < close
    else { return nil }
    command = open + 1..<close
    var words = Words(UnsafeRawBufferPointer(rebasing: line[(close + 1)...]))
    guard let state = words.next(), state.count == 1 else { return nil }
    self.state = state[0]
    // The numbering of proc(5), in which the state is field 3.
    for field in 4...22 {
      guard let word = words.next() else { return nil }
      guard set(field, word) else { return nil }
    }
    guard start >= 0, used >= 0 else { return nil }
  }

  /// Stores a field if it is needed. Returns false if it is malformed.
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

  /// Whether the process is a kernel thread, by the flag `PF_KTHREAD` of linux/sched.h, which ps reads, too.
  var isKernelThread: Bool { flags & 0x0020_0000 != 0 }

  /// The processor time as a percentage of the lifetime.
  func cpu(at second: Double, ticksPerSecond: Int64) -> Double {
    let life = second * Double(ticksPerSecond) - Double(start)
    // Division by a lifetime of less than a tick would return a meaningless value.
    return life >= 1 ? 100 * used / life : 0
  }
}

/// The words of a line, which spaces and line ends separate.
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

/// Parses a decimal number. Returns nil for other text and for values that need more than 64 bits.
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
  // The sum is negative, because the range of negative numbers is larger.
  return isNegative ? value : (value == .min ? nil : -value)
}
