import Tabella

/// Why a command ends without having done its work.
struct Failure: Error {
  let status: ExitStatus
  /// What the error is about: a location, a command; nil for the program as such.
  let subject: String?
  let code: String
  let message: String
  /// The column that it is about, if it is about one: the message names it, programs get its number.
  var column: Int?

  /// An error of the command line, with a pointer to the help.
  static func usage(_ message: String, command: String? = nil) -> Failure {
    Failure(
      status: .usage, subject: command, code: "usage",
      message: "\(message) (see: tabella help\(command.map { " \($0)" } ?? ""))")
  }

  /// The same error of a command line, about one of its command.
  func about(command: String) -> Failure {
    Failure(
      status: status, subject: command, code: code,
      message: message.hasSuffix("(see: tabella help)")
        ? "\(message.dropLast(1)) \(command))" : message)
  }

  /// The reader of the output went away: nobody is told, and only the status remains.
  static func readerLeft(_ status: ExitStatus) -> Failure {
    Failure(
      status: status, subject: nil, code: "reader-left", message: "the reader of the output ended")
  }

  /// Whether nobody is told.
  var isSilent: Bool { code == "reader-left" }

  static func of(_ error: TableError, subject: String?) -> Failure {
    Failure(
      status: .of(error), subject: subject, code: error.code.name, message: error.description,
      column: error.column)
  }

  /// The error as JSON: `{"error":{"code":…,"message":…,"subject":…,"status":…}}`.
  var json: JSONValue {
    var members: [String: JSONValue] = [
      "code": .string(code), "message": .string(Messages.shortened(message)),
      "subject": subject.map { .string($0) } ?? .null, "status": .number("\(status.code)"),
    ]
    if let column { members["column"] = .number("\(column)") }
    return .object(members)
  }
}

extension Failure {
  /// Runs `body`; what it throws becomes a failure about `subject`.
  static func about<R>(
    _ subject: String?, _ body: () throws(TableError) -> R
  ) throws(Failure) -> R {
    do throws(TableError) { return try body() } catch { throw .of(error, subject: subject) }
  }

  /// Runs `body`, which reads a text of the command line. An error of the library becomes an error of the command line.
  static func usage<R>(
    command: String? = nil, _ body: () throws(TableError) -> R
  ) throws(Failure) -> R {
    do throws(TableError) {
      return try body()
    } catch {
      throw .usage(error.message, command: command)
    }
  }
}
