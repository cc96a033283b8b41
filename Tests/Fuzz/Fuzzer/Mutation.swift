import LibFuzzer

/// Mutates an input at its numbers: at multiples of 8 or 4, in messages as well as in tables of a library.
///
/// In an input of records, it also mutates whole records, and a record's length together with the counted bytes. In a
/// quarter of the cases, libFuzzer mutates the input instead, at any bytes.
struct InputMutation {
  private let input: UnsafeMutableRawBufferPointer
  private var count: Int
  private var generator: SeededGenerator

  /// `input` has room for the largest input. The first `count` bytes are the present input.
  init(_ input: UnsafeMutableRawBufferPointer, count: Int, seed: UInt32) {
    self.input = input
    self.count = count
    generator = SeededGenerator(seed: UInt64(seed))
  }

  /// Mutates the input. Returns its new length.
  mutating func mutate(_ shape: InputShape) -> Int {
    guard Int.random(in: 0..<4, using: &generator) > 0 else { return anyBytes() }
    switch shape {
    case .bytes: return anyBytes()
    case .numbers: changeNumber(0..<count)
    case .records:
      let records = places()
      guard let record = records.randomElement(using: &generator) else { return anyBytes() }
      change(record, of: records)
    }
    return count
  }

  private mutating func change(_ record: Range<Int>, of records: [Range<Int>]) {
    let other = records.randomElement(using: &generator)!
    switch Int.random(in: 0..<9, using: &generator) {
    case 0: remove(record)
    case 1: insert(Array(input[other]), at: record.lowerBound)
    case 2: resize(record)
    case 3:
      // The tag and the argument.
      input[record.lowerBound + Int.random(in: 0...1, using: &generator)] = .random(
        in: 0...255, using: &generator)
    case 4:
      // Keeps the tag of one record, and takes the content of another.
      let held = Array(input[record].prefix(2)) + Array(input[other].dropFirst(2))
      remove(record)
      insert(held, at: record.lowerBound)
    default: changeNumber(record.lowerBound + Record.headSize..<record.upperBound)
    }
  }

  private mutating func anyBytes() -> Int {
    LLVMFuzzerMutate(
      input.baseAddress!.assumingMemoryBound(to: UInt8.self), count, input.count)
  }

  /// The ranges of complete records.
  private func places() -> [Range<Int>] {
    var places: [Range<Int>] = []
    var at = 0
    while count - at >= Record.headSize {
      let end = at + Record.headSize + Int(input[at + 2]) + Int(input[at + 3]) << 8
      guard end <= count else { break }
      places.append(at..<end)
      at = end
    }
    return places
  }

  private mutating func remove(_ record: Range<Int>) {
    move(from: record.upperBound, to: record.lowerBound)
  }

  private mutating func insert(_ record: [UInt8], at place: Int) {
    guard count + record.count <= input.count else { return }
    move(from: place, to: place + record.count)
    UnsafeMutableRawBufferPointer(rebasing: input[place..<place + record.count])
      .copyBytes(from: record)
  }

  /// Extends or shortens a record by some words at a random word.
  private mutating func resize(_ record: Range<Int>) {
    let words = (record.count - Record.headSize) / 8
    let at = record.lowerBound + Record.headSize + 8 * Int.random(in: 0...words, using: &generator)
    let isLonger = Bool.random(using: &generator)
    let size = min(
      8 * Int.random(in: 1...4, using: &generator),
      isLonger ? input.count - count : record.upperBound - at)
    let length = record.count - Record.headSize + (isLonger ? size : -size)
    guard length >= 0, length <= 0xFFFF else { return }
    if isLonger {
      move(from: at, to: at + size)
      for index in at..<at + size { input[index] = .random(in: 0...255, using: &generator) }
    } else {
      move(from: at + size, to: at)
    }
    input[record.lowerBound + 2] = UInt8(length & 0xFF)
    input[record.lowerBound + 3] = UInt8(length >> 8)
  }

  private mutating func changeNumber(_ place: Range<Int>) {
    let isShort = Int.random(in: 0..<3, using: &generator) == 0
    let size = isShort ? 4 : 8
    guard place.count >= size else { return }
    let at =
      place.lowerBound + size * Int.random(in: 0..<place.count / size, using: &generator)
    let old =
      isShort
      ? Int(input.loadUnaligned(fromByteOffset: at, as: Int32.self))
      : input.loadUnaligned(fromByteOffset: at, as: Int.self)
    let new = number(instead: old, behind: place.upperBound - at - size)
    if isShort {
      input.storeBytes(of: Int32(truncatingIfNeeded: new), toByteOffset: at, as: Int32.self)
    } else {
      input.storeBytes(of: new, toByteOffset: at, as: Int.self)
    }
  }

  /// A number that is probably a boundary value: of a type, of the following bytes, or near the old number.
  private mutating func number(instead old: Int, behind rest: Int) -> Int {
    let near = Int.random(in: -2...2, using: &generator)
    let borders = [
      0, 0, 1, -1, rest, rest / 8, Int(Int32.max), Int(UInt32.max), .max, .min, 1 << 16, old &* 2,
      old / 2, old, old, Int.random(in: 0...64, using: &generator),
      1 << Int.random(in: 0..<63, using: &generator),
      Int.random(in: .min ... .max, using: &generator),
    ]
    return borders.randomElement(using: &generator)! &+ near
  }

  /// Moves all bytes from one offset to another, and the end of the input with them.
  private mutating func move(from source: Int, to target: Int) {
    let length = count - source
    let bytes = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(input)[source..<count])
    if length > 0 {
      UnsafeMutableRawBufferPointer(rebasing: input[target..<target + length])
        .copyMemory(from: bytes)
    }
    count = target + length
  }
}

/// A generator that repeats its numbers for the same seed.
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
