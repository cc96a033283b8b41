/// Something that reads bytes of strangers, and what it promises whatever they are.
protocol FuzzTarget {
  /// For the command line.
  static var name: String { get }
  /// How many bytes an input has at most.
  static var inputLimit: Int { get }
  /// Frequent parts of inputs: the bytes of a dictionary's entries.
  static var words: [[UInt8]] { get }
  /// How inputs are changed besides as any bytes are.
  static var shape: InputShape { get }

  init()

  /// Inputs to begin with, made by the code that writes such things.
  func seeds() throws -> [Seed]

  /// Reads an input. A promise that is not kept is a trap. Returns how much of it was accepted, in any
  /// unit: what a seed should reach.
  func run(_ input: UnsafeRawBufferPointer) -> Int
}

extension FuzzTarget {
  static var words: [[UInt8]] { [] }
  static var shape: InputShape { .bytes }
}

/// An input to begin with.
struct Seed {
  var name: String
  var bytes: [UInt8]
  /// The result of ``FuzzTarget/run(_:)`` for it, so that a seed without effect is detected.
  var reaches: Int
}

/// The parts of inputs.
enum InputShape {
  /// Any bytes.
  case bytes
  /// Numbers of 4 and 8 bytes.
  case numbers
  /// Records, as ``Record/all(in:)`` reads them, of such numbers.
  case records
}

/// All targets, in the order in which they run.
let targets: [any (FuzzTarget & SendableMetatype).Type] = [
  AnswerTarget.self, SessionTarget.self, ChannelTarget.self, BatchTarget.self, LibraryTarget.self,
  SideTarget.self,
  JSONTarget.self, ManifestTarget.self,
]

/// Takes what was read, so that reading it is not optimised away.
nonisolated(unsafe) var sink: UInt64 = 0

/// Ends the program, and says so, where a promise is not kept.
func require(_ isKept: Bool, _ failure: @autoclosure () -> String) {
  if !isKept { fatalError("found: \(failure())") }
}
