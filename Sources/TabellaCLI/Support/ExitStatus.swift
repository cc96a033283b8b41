import Tabella

/// The exit status of the process. Scripts rely on the values.
struct ExitStatus: Hashable {
  let code: Int32

  /// Done and stored durably.
  static let done = ExitStatus(code: 0)
  /// Failed, or done in part, or there are findings.
  static let failed = ExitStatus(code: 1)
  /// The command line is wrong, such as an unknown command, option or column.
  static let usage = ExitStatus(code: 2)
  /// A provider could not be found or loaded, or it broke the contract.
  static let provider = ExitStatus(code: 3)
  /// Refused by the provider, by permissions or by trust.
  static let refused = ExitStatus(code: 4)
  /// The source changed in the meantime; nothing was done.
  static let conflict = ExitStatus(code: 5)
  /// The program that read the output ended first, as in `| head`.
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
