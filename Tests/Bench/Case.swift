/// A benchmark case: commands with the same result, and the aims for their figures.
struct Case {
  let name: String
  /// A description in one line.
  let about: String
  /// The data that must exist before it runs.
  var needs: [Need] = []
  /// The commands. The floor comes first.
  let commands: [Command]
  /// The label of the command with the reference output; nil for the floor.
  var reference: String?
  let aims: [Aim]
}

/// The data of a case.
enum Need: Equatable {
  case file(DataKind)
  /// A copy of the plain file, to be edited.
  case copy
  /// The plain file with a change in every thousandth row.
  case changed
  /// The provider of cells, and a CSV file with the same cells.
  case cells
  case manyFiles
  case herd
}

/// One command of a case.
struct Command {
  /// The label in tables and aims.
  let label: String
  /// The commands of a pipe; usually one.
  let pipeline: [[String]]
  /// The tool that must be installed for it.
  var tool: String?
  var speed = Speed.near
  /// The part of its output that must equal the reference's; nil if nothing can be compared.
  var check: Reduction?
  /// The commands whose output is compared instead, if the output of `pipeline` is binary.
  var compared: [[String]]?

  /// The same command, whose output is compared in another form.
  func compared(as pipeline: [[String]]) -> Command {
    var command = self
    command.compared = pipeline
    return command
  }

  /// The distance from the floor, which determines the number of rounds.
  enum Speed {
    case near
    /// About ten times slower than the floor: three rounds with large data.
    case slow
    /// About a hundred times slower: one round with large data, without warm-up, and without comparing the output.
    case far

    /// The number of rows from which data counts as large.
    static let large = 500_000

    func rounds(of all: Int, rows: Int) -> Int {
      guard rows > Self.large else { return all }
      switch self {
      case .near: return all
      case .slow: return min(all, 3)
      case .far: return 1
      }
    }
  }
}

/// The goal of one command, absolute or relative to another command.
struct Aim {
  enum Quantity: String {
    case cpu = "CPU"
    case wall
    case peak
  }

  let quantity: Quantity
  /// The highest accepted value: a multiple of the other command's, or bytes.
  let most: Double
  /// The label of the other command; nil if `most` is in bytes.
  var other: String?
  /// The label of the command that has the aim.
  var command = "tabella"

  static func cpu(_ most: Double, of other: String, command: String = "tabella") -> Aim {
    Aim(quantity: .cpu, most: most, other: other, command: command)
  }

  static func wall(_ most: Double, of other: String, command: String = "tabella") -> Aim {
    Aim(quantity: .wall, most: most, other: other, command: command)
  }

  static func peak(mebibytes: Double) -> Aim {
    Aim(quantity: .peak, most: mebibytes * 1_048_576)
  }
}
