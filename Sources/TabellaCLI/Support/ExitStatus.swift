import Tabella

/// What the process says when it ends; scripts rely on these.
struct ExitStatus: Hashable {
  let code: Int32

  /// Done, and durable.
  static let done = ExitStatus(code: 0)
  /// Failed, or done in part, or there are findings.
  static let failed = ExitStatus(code: 1)
  /// The command line was wrong: an unknown command, option or column.
  static let usage = ExitStatus(code: 2)
  /// A provider could not be found or loaded, or misbehaved.
  static let provider = ExitStatus(code: 3)
  /// Refused: by the provider, by permission, by trust.
  static let refused = ExitStatus(code: 4)
  /// The source changed meanwhile; nothing was done.
  static let conflict = ExitStatus(code: 5)
  /// The reader of the output went away, as after `| head`.
  static let brokenPipe = ExitStatus(code: 141)

  static func of(_ error: TableError) -> ExitStatus {
    switch error.code {
    case .invalidArgument: .usage
    case .noProvider, .misbehaved, .timeout: .provider
    case .denied, .readOnly, .constraint, .notSupported: .refused
    case .conflict: .conflict
    default: .failed
    }
  }
}
