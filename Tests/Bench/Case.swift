/// Something that is measured: commands for the same result, what must hold between them.
struct Case {
  let name: String
  /// One line for a reader.
  let about: String
  /// The data that must exist before it runs.
  var needs: [Need] = []
  /// The floor first.
  let commands: [Command]
  /// The label of the command whose output is right; the floor's unless told otherwise.
  var reference: String?
  let aims: [Aim]
}

/// The data of a case.
enum Need: Equatable {
  case file(DataKind)
  /// A copy of the plain file, to be edited.
  case copy
  /// The provider of cells, and a CSV file of the same cells.
  case cells
  case manyFiles
  case herd
}

/// One command of a case.
struct Command {
  /// How its row is called, and what an aim says.
  let label: String
  /// The commands of a pipe; mostly one.
  let pipeline: [[String]]
  /// The tool that must be installed for it.
  var tool: String?
  var speed = Speed.near
  /// The part of its output that must equal the reference's; nil if nothing can be compared.
  var check: Reduction?

  /// How far a command is from the floor, which says how often a long one is run.
  enum Speed {
    case near
    /// Some ten times slower: three rounds of large data.
    case slow
    /// A hundred times slower: one round of large data, not warmed up, its output not compared.
    case far

    /// Above this many rows it matters.
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
  /// The most that is right: a multiple of the other's, or bytes.
  let most: Double
  /// The label of the command that it is compared with; nil where `most` is bytes.
  var other: String?
  /// The label of the command that it is about.
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
