import TabellaFiles

/// What a provider in a worker may use before it is ended.
public struct WorkerLimits: Hashable, Sendable {
  /// Seconds without a sign of life in a call: no byte read or written, no line in the log.
  public var silence = 10.0
  /// Seconds that a call may take, signs of life or not.
  public var total = 900.0
  /// Seconds from each step of ending a worker to the next: asking the call to stop, TERM, KILL.
  public var grace = 1.0
  /// Bytes of private memory. Processor time is limited to twice `total` for each core.
  public var memory = 8 << 30
  /// Bytes of addresses, which bound all memory that it maps: private, shared, and files.
  public var addresses = 16 << 30
  /// Threads. The host looks every 50 milliseconds, since no limit of the kernel counts the threads of one
  /// process. A machine with more than 32 processors allows two for each.
  public var threads = max(64, 2 * coreCount)
  /// Open files.
  public var files = 512
  /// Bytes that one answer may have.
  public var answer = 1 << 30
  /// Bytes of output that are passed on; the rest is counted.
  public var output = 64 << 10

  public init() {}
}

/// Something that a provider in a worker printed, logged or was denied.
public struct WorkerOutput: Hashable, Sendable {
  public enum Kind: Hashable, Sendable {
    /// A line that it wrote to its standard output or error.
    case printed
    /// A line that it wrote to the host's log.
    case logged
    /// What its confinement refused.
    case denied
    /// What its confinement lacks on this system. Tabella says this, once for each host and provider.
    case unconfined
  }

  public var provider: String
  public var kind: Kind
  /// One line as it came: any bytes but line ends, to be made safe before it is shown.
  public var text: [UInt8]

  public init(provider: String, kind: Kind, text: [UInt8]) {
    self.provider = provider
    self.kind = kind
    self.text = text
  }
}
