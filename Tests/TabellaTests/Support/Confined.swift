import Foundation

/// The output of `tabella-confined`: a provider in a confined process, without a host.
struct Confined {
  struct Denial {
    var call: String
    var error: Int32
    var isByMode: Bool
    var isLast: Bool
    var text: String
  }

  var status: Int32
  var rows: [[String]] = []
  var inForce: [String] = []
  var lacking: [String] = []
  var absent: [String] = []
  var outcomes: [[String]] = []
  var denials: [Denial] = []
  /// The code and message of the final error, if there was one.
  var error: [String] = []

  /// The user of the process.
  enum User: String, CaseIterable, Sendable {
    case ourselves, nobody

    /// The possible users: only root can become another user.
    static let all: [User] = canBeNobody ? allCases : [.ourselves]

    private static let canBeNobody: Bool = {
      guard geteuid() == 0, let test = try? findProgram("test") else { return false }
      let words = User.nobody.command + [test, "-x", Confined.program]
      return (try? TabellaTestSupport.run(words[0], Array(words.dropFirst())).status) == 0
    }()

    /// The command that runs a program as that user.
    var command: [String] {
      guard self == .nobody, let setpriv = try? findProgram("setpriv") else { return [] }
      return [setpriv, "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
    }
  }

  static let program = buildFolder + "/tabella-confined"

  /// Runs the program with these words to its end.
  ///
  /// With `isPiped`, its output goes through a pipe, for a process that may write to no file; its status is then
  /// unknown.
  init(
    _ words: [String], as user: User = .ourselves, environment: [String: String] = [:],
    isPiped: Bool = false
  ) throws {
    let pipe = isPiped ? ["/bin/sh", "-c", "\"$@\" | cat", "sh"] : []
    let all = pipe + user.command + [Confined.program] + words
    let result = try run(all[0], Array(all.dropFirst()), environment: environment)
    status = result.status
    for line in result.text.split(separator: "\n") {
      var fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
      let kind = fields.removeFirst()
      switch kind {
      case "row": rows.append(fields)
      case "in force": inForce.append(fields[0])
      case "lacking": lacking.append(fields[0])
      case "absent": absent.append(fields[0])
      case "outcome": outcomes.append(fields)
      case "error": error = fields
      case "denied":
        denials.append(
          Denial(
            call: fields[0], error: Int32(fields[1]) ?? 0, isByMode: !fields[2].isEmpty,
            isLast: !fields[3].isEmpty, text: fields[4]))
      default: throw MissingTool("a line that is understood: \(line)")
      }
    }
  }

  /// The result of an act, in a table of two columns.
  subscript(what: String) -> String? { rows.first { $0[0] == what }?.last }
}

extension Need {
  static let nobody = Need("root, with a build that nobody may read") {
    Confined.User.all.contains(.nobody)
  }
}
