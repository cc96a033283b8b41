/// Searches from each offset of a text alone, instead of from all offsets at once.
///
/// At the pattern `a.{30}b`, the automaton of all offsets has a state for each set of distances to an `a`: more than a
/// cache can hold. The automaton of one offset has 32 states. But long matches that begin everywhere take quadratic time,
/// and `a.{0,30}b.{0,30}c` has many states from one offset, too. So the search gives up if it takes long.
struct RegexTrials {
  /// The number of bytes that may be examined, per byte of the text and for each text.
  private let limits: (perByte: Int, perText: Int)
  private var machine: RegexMachine
  private let beginnings: [Bool]
  /// Whether a search exceeded its limit. All later searches give up, too.
  private(set) var hasGivenUp = false

  init(_ program: RegexProgram, limits: (perByte: Int, perText: Int) = (64, 4096)) {
    machine = RegexMachine(program, isAnchored: true)
    beginnings = machine.beginnings
    self.limits = limits
  }

  /// Whether the pattern matches in a text; nil if the search gives up.
  /// - Complexity: O(bytes)
  mutating func isFound(in text: UnsafeRawBufferPointer) -> Bool? {
    if hasGivenUp { return nil }
    var left = text.count * limits.perByte + limits.perText
    for start in 0...text.count where start == text.count || beginnings[Int(text[start])] {
      var end = start
      if machine.isFound(in: text, at: start, end: &end) { return true }
      left -= end - start
      if left < 0 || machine.isOverwhelmed {
        hasGivenUp = true
        return nil
      }
    }
    return false
  }
}
