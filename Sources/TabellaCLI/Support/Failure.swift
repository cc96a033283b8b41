import Tabella

/// The error that ends a command.
struct Failure: Error {
  let status: ExitStatus
  /// The location or command that the error is about; nil for the program itself.
  let subject: String?
  let code: String
  /// The message without the reference to the help.
  let text: String
  /// The number of the column that the error is about, for programs; the message contains its name.
  var column: Int?
  /// The page of the help that explains the command line; nil if the error is not about it.
  private(set) var help: HelpPage?

  /// A page of the help.
  enum HelpPage: Hashable {
    case overview
    case command(String)
  }

  init(
    status: ExitStatus, subject: String?, code: String, message: String, column: Int? = nil
  ) {
    self.status = status
    self.subject = subject
    self.code = code
    text = message
    self.column = column
  }

  /// The message for people, with the reference to the help.
  var message: String {
    switch help {
    case nil: text
    case .overview: "\(text) (see: tabella help)"
    case .command(let name): "\(text) (see: tabella help \(name))"
    }
  }

  /// An error of the command line, with a reference to the help.
  static func usage(_ message: String, command: String? = nil) -> Failure {
    var failure = Failure(status: .usage, subject: command, code: "usage", message: message)
    failure.help = command.map { .command($0) } ?? .overview
    return failure
  }

  /// The same error with the name of the command.
  func about(command: String) -> Failure {
    var failure = Failure(status: status, subject: command, code: code, message: text)
    failure.help = help == .overview ? .command(command) : help
    return failure
  }

  /// The program that read the output ended. There is no message, only an exit status.
  static func readerLeft(_ status: ExitStatus) -> Failure {
    Failure(
      status: status, subject: nil, code: "reader-left", message: "the reader of the output ended")
  }

  /// Whether there is no message.
  var isSilent: Bool { code == "reader-left" }

  static func of(_ error: TableError, subject: String?) -> Failure {
    Failure(
      status: .of(error), subject: subject, code: error.code.name, message: error.text,
      column: error.column)
  }

  /// The failure for an error in the middle of a table.
  static func of(_ error: any Error, in table: ShapedTable) -> Failure {
    switch error {
    case let failure as Failure: return failure
    case var error as TableError:
      if error.code == .misbehaved, error.provider == nil {
        error.message = "provider \(table.provider) broke the contract: \(error.message)"
      }
      return .of(error, subject: table.subject)
    default:
      return Failure(
        status: .failed, subject: table.subject, code: "internal", message: "\(error)")
    }
  }

  /// The error as JSON: `{"error":{"code":…,"message":…,"subject":…,"status":…}}`.
  var json: JSONValue {
    var members: JSONObject = [
      "code": .string(code), "message": .string(Messages.shortened(message)),
      "subject": subject.map { .string($0) } ?? .null, "status": .number("\(status.code)"),
    ]
    if let column { members["column"] = .number("\(column)") }
    return .object(members)
  }
}

extension TableError {
  /// The description of the error and of its remedies.
  var text: String { remedies.reduce(description) { "\($0); \($1.text)" } }
}

extension TableError.Remedy {
  /// The remedy as advice about the command line.
  fileprivate var text: String {
    switch self {
    case .chooseProvider(let ids):
      "choose a provider with --provider (\(ids.joined(separator: ", ")))"
    case .pinAgain(let provider): "if you know why it changed: tabella providers --pin \(provider)"
    case .acceptWeakIsolation: "use --weak-isolation to edit anyway"
    case .decompress(let command, let path, let provider):
      "run: \(Self.start(command, path)) | \(Self.showingInput(provider))"
    }
  }
}

extension TableError.Remedy {
  /// The start of a shell line that passes a file, or the input, to a command.
  private static func start(_ command: String, _ path: [UInt8]?) -> String {
    guard let path else { return "… | \(command)" }
    // A name must not look like an option.
    let prefix = path.first == UInt8(ascii: "-") ? Array("./".utf8) : []
    return "\(command) \(ShellWords.quoted(Argument(prefix + path)))"
  }

  /// The command that shows standard input with a provider.
  private static func showingInput(_ provider: String?) -> String {
    (["tabella", "show", "-"] + (provider.map { ["--provider", $0] } ?? []))
      .joined(separator: " ")
  }
}

extension Failure {
  /// Runs `body`, and converts its error into a failure about `subject`.
  static func about<R>(
    _ subject: String?, _ body: () throws(TableError) -> R
  ) throws(Failure) -> R {
    do throws(TableError) { return try body() } catch { throw .of(error, subject: subject) }
  }

  /// Runs `body`, which parses text of the command line. Errors of the library become errors of the command line.
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
