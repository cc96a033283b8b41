/// An error, as every part of Tabella reports it.
///
/// Callers decide by ``code``. The message is for people: one line that says what failed, where, and what to do.
/// The corresponding C pair is a `TABELLA_*` code and a `tabella_error`.
public struct TableError: Error, Hashable, Sendable {
  /// The kind of an error. It is an open set, so that a new kind breaks no `switch`.
  public struct Code: RawRepresentable, Hashable, Sendable {
    /// The number in `tabella.h`.
    public var rawValue: Int32

    public init(rawValue: Int32) { self.rawValue = rawValue }

    /// The ability or operation does not exist here; nothing was done.
    public static let notSupported = Code(rawValue: 1)
    /// The caller passed an argument that makes no sense.
    public static let invalidArgument = Code(rawValue: 2)
    /// The caller made a call that is not allowed in this state.
    public static let invalidState = Code(rawValue: 3)
    /// The location, section, row, id or title does not exist.
    public static let notFound = Code(rawValue: 4)
    /// The data changed since the version that was read or named; nothing was done.
    public static let conflict = Code(rawValue: 5)
    /// The source, row or cell cannot be changed.
    public static let readOnly = Code(rawValue: 6)
    /// A value or a move breaks a rule of the data; nothing was done.
    public static let constraint = Code(rawValue: 7)
    /// Reading or writing failed.
    public static let io = Code(rawValue: 8)
    /// The caller cancelled the call.
    public static let cancelled = Code(rawValue: 9)
    /// The call took too long.
    public static let timeout = Code(rawValue: 10)
    /// Permissions or trust rules forbid the operation.
    public static let denied = Code(rawValue: 11)
    /// The provider has an internal fault.
    public static let `internal` = Code(rawValue: 12)
    /// The provider broke the contract. Only hosts create this code.
    public static let misbehaved = Code(rawValue: 100)
    /// No provider was found or could be loaded. Only hosts create this code, and it never crosses the contract.
    public static let noProvider = Code(rawValue: 101)
    /// The data has a value that the call cannot use, such as other text in a column that is summed. Only hosts create
    /// this code, and it never crosses the contract.
    public static let wrongData = Code(rawValue: 102)

    /// The code's name in messages and JSON.
    public var name: String {
      switch self {
      case .notSupported: "not-supported"
      case .invalidArgument: "invalid-argument"
      case .invalidState: "invalid-state"
      case .notFound: "not-found"
      case .conflict: "conflict"
      case .readOnly: "read-only"
      case .constraint: "constraint"
      case .io: "io"
      case .cancelled: "cancelled"
      case .timeout: "timeout"
      case .denied: "denied"
      case .internal: "internal"
      case .misbehaved: "misbehaved"
      case .noProvider: "no-provider"
      case .wrongData: "wrong-data"
      default: "code-\(rawValue)"
      }
    }
  }

  /// The kind of the error.
  public var code: Code
  /// One line that says what failed, where, and what to do.
  public var message: String
  /// The section of the error, if the error concerns one.
  public var section: Int?
  /// The row in ``section`` of the error, if the error concerns one.
  public var row: Int?
  /// The column of the error, if the error concerns one.
  public var column: Int?
  /// Whether the same call can succeed later.
  public var isRetryable = false
  /// The id of the provider that reported the error. The host sets it.
  public var provider: String?
  /// A receipt that can undo an edit that was applied although its call threw this error.
  ///
  /// It is set only with ``Code/misbehaved``, if a provider reports something false about an edit. It never crosses
  /// the contract.
  public var receipt: [UInt8]?

  /// The end of a provider's process, after which the source answers no further call.
  public enum ProviderEnd: Hashable, Sendable {
    /// The process crashed, exited, or closed its connection.
    case byItself
    /// The host ended the process, because it broke the contract or exceeded a limit.
    case byHost
  }

  /// How the provider's process ended; nil if it did not end. The host sets it. It never crosses the contract.
  public var providerEnd: ProviderEnd?

  /// Whether the provider's process has ended.
  public var isProviderGone: Bool { providerEnd != nil }

  /// The state of the data after a provider ended during an edit.
  public enum Aftermath: Hashable, Sendable {
    /// The data is as it was before the edit.
    case nothingDone
    /// The edit was applied. There is no receipt.
    case done
    /// The host cannot determine the state.
    case unknown
  }

  /// The state of the data if a provider ended during a commit or an undo; otherwise nil.
  ///
  /// The host sets it. It never crosses the contract.
  public var aftermath: Aftermath?

  /// An action that can remove the cause of an error. A program tells its user about it in its own terms.
  public enum Remedy: Hashable, Sendable {
    /// Choose the provider for the location. `ids` are the providers to choose from.
    case chooseProvider(ids: [String])
    /// Pin the library of a provider again, if the reason for its change is known.
    case pinAgain(provider: String)
    /// Accept that this system cannot confine the provider's process completely.
    case acceptWeakIsolation
    /// Decompress a file, or standard input if `path` is nil, with a command. Then open the output of the command as
    /// standard input, with a provider if the name of the file determines one.
    case decompress(command: String, path: [UInt8]?, provider: String?)
  }

  /// The actions that can remove the cause, in the order of preference. The host sets them. They never cross the
  /// contract.
  public var remedies: [Remedy] = []

  /// Creates an error.
  public init(
    _ code: Code, _ message: String, section: Int? = nil, row: Int? = nil, column: Int? = nil
  ) {
    self.code = code
    self.message = message
    self.section = section
    self.row = row
    self.column = column
  }
}

extension TableError {
  /// The same error with another remedy.
  public func with(_ remedy: Remedy) -> TableError {
    var error = self
    error.remedies.append(remedy)
    return error
  }
}

extension TableError: CustomStringConvertible {
  /// The message, followed by the row if the error has one. The message itself names the column.
  public var description: String {
    var place: [String] = []
    if let section, section != 0 { place.append("section \(section)") }
    if let row { place.append("row \(row)") }
    return place.isEmpty ? message : "\(message) (\(place.joined(separator: ", ")))"
  }
}
