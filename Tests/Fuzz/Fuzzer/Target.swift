/// A fuzz target: a reader of untrusted bytes, with its promises for all inputs.
protocol FuzzTarget {
  /// The name for the command line.
  static var name: String { get }
  /// The maximum length of an input in bytes.
  static var inputLimit: Int { get }
  /// Frequent parts of inputs: the bytes of a dictionary's entries.
  static var words: [[UInt8]] { get }
  /// The structure of inputs, for mutations other than random bytes.
  static var shape: InputShape { get }

  init()

  /// The initial inputs, created by the code that normally writes such data.
  func seeds() throws -> [Seed]

  /// Reads an input. A broken promise traps. Returns how much of the input was accepted, in any unit; ``Seed/reaches``
  /// is the expected value for a seed.
  func run(_ input: UnsafeRawBufferPointer) -> Int
}

extension FuzzTarget {
  static var words: [[UInt8]] { [] }
  static var shape: InputShape { .bytes }
}

/// An initial input.
struct Seed {
  var name: String
  var bytes: [UInt8]
  /// The result of ``FuzzTarget/run(_:)`` for it, so that a seed without effect is detected.
  var reaches: Int
}

/// The parts of inputs.
enum InputShape {
  /// Arbitrary bytes.
  case bytes
  /// Numbers of 4 and 8 bytes.
  case numbers
  /// Records of such numbers, as ``Record/all(in:)`` reads them.
  case records
}

/// All targets in the order of execution.
let targets: [any (FuzzTarget & SendableMetatype).Type] = [
  AnswerTarget.self, SessionTarget.self, ChannelTarget.self, BatchTarget.self, LibraryTarget.self,
  SideTarget.self,
  JSONTarget.self, ManifestTarget.self,
]

/// Receives all values that were read, so that the optimiser cannot remove the reads.
nonisolated(unsafe) var sink: UInt64 = 0

/// Ends the program with a message if a promise is broken.
func require(_ isKept: Bool, _ failure: @autoclosure () -> String) {
  if !isKept { fatalError("found: \(failure())") }
}
