/// What went wrong, as every part of Tabella reports it.
///
/// A caller decides by ``code``; the message is for people and is one line that says what, where and
/// what to do. The corresponding C pair is a `TABELLA_*` code and a `tabella_error`.
public struct TableError: Error, Hashable, Sendable {
  /// The kind of an error; open, so that a new kind breaks no `switch`.
  public struct Code: RawRepresentable, Hashable, Sendable {
    /// The number in `tabella.h`.
    public var rawValue: Int32

    public init(rawValue: Int32) { self.rawValue = rawValue }

    /// The ability or operation does not exist here; nothing was done.
    public static let notSupported = Code(rawValue: 1)
    /// An argument makes no sense; the caller's fault.
    public static let invalidArgument = Code(rawValue: 2)
    /// The call is not allowed in this state; the caller's fault.
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
    /// The caller cancelled.
    public static let cancelled = Code(rawValue: 9)
    /// It took too long.
    public static let timeout = Code(rawValue: 10)
    /// Permission or trust refused it.
    public static let denied = Code(rawValue: 11)
    /// A fault inside the provider.
    public static let `internal` = Code(rawValue: 12)
    /// The provider broke the contract; made by hosts only.
    public static let misbehaved = Code(rawValue: 100)
    /// No provider could be found or loaded; made by hosts only, never crosses the contract.
    public static let noProvider = Code(rawValue: 101)

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
      default: "code-\(rawValue)"
      }
    }
  }

  public var code: Code
  /// One line: what went wrong, where, and what to do.
  public var message: String
  /// The section that the error is about, if it is about one.
  public var section: Int?
  /// The row in ``section`` that the error is about, if it is about one.
  public var row: Int?
  /// The column that the error is about, if it is about one.
  public var column: Int?
  /// Whether the same call may succeed later.
  public var isRetryable = false
  /// The id of the provider that the error came from; set by the host.
  public var provider: String?
  /// What may take back an edit that was done although this is thrown: only with ``Code/misbehaved``, of
  /// a provider that says of an edit what is not so. Never crosses the contract.
  public var receipt: [UInt8]?

  /// Whether the provider's process has ended, so that no call of this source will ever be answered; set by
  /// the host. Never crosses the contract.
  public var isProviderGone = false

  /// What became of an edit whose provider ended in the middle of it.
  public enum Aftermath: Hashable, Sendable {
    /// The source is as it was before.
    case nothingDone
    /// The source is as the edit was to leave it; there is no receipt.
    case done
    /// Neither can be told.
    case unknown
  }

  /// Set by the host where a provider ended in a commit or an undo; nil everywhere else. Never crosses
  /// the contract.
  public var aftermath: Aftermath?

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

extension TableError: CustomStringConvertible {
  /// The message, then the row where it happened, if that is known; a column is named by the message.
  public var description: String {
    var place: [String] = []
    if let section, section != 0 { place.append("section \(section)") }
    if let row { place.append("row \(row)") }
    return place.isEmpty ? message : "\(message) (\(place.joined(separator: ", ")))"
  }
}
