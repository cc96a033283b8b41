import TabellaFiles
import TabellaSystem
import TabellaThreads

/// The limits of a provider in a worker. The host ends a worker that exceeds one.
public struct WorkerLimits: Hashable, Sendable {
  /// The maximum time of a call without a sign of life, in seconds. Reading, writing and log lines are signs of life.
  public var silence = 10.0
  /// The maximum duration of a call in seconds.
  public var total = 900.0
  /// The seconds between the steps of ending a worker: asking the call to stop, SIGTERM, SIGKILL.
  public var grace = 1.0
  /// The maximum private memory in bytes. The limit of processor time is twice ``total`` for each core.
  public var memory = 8 << 30
  /// The maximum address space in bytes. It bounds all mapped memory: private, shared and files.
  public var addresses = 16 << 30
  /// The maximum number of threads. A machine with more than 32 processors allows two for each.
  ///
  /// The host counts every 50 milliseconds, because the kernel has no such limit for a single process.
  public var threads = max(64, 2 * Cores.usable)
  /// The maximum number of open files.
  public var files = 512
  /// The maximum size of one answer in bytes.
  public var answer = 1 << 30
  /// The maximum size of output that is passed on, in bytes. Further bytes are only counted.
  public var output = 64 << 10

  /// The default limits.
  public init() {}
}

/// A line that a provider in a worker printed or logged, or a denial by its confinement.
public struct WorkerOutput: Hashable, Sendable {
  /// The kind of output.
  public enum Kind: Hashable, Sendable {
    /// A line on its standard output or standard error.
    case printed
    /// A line in the host's log.
    case logged
    /// An act that the confinement refused.
    case denied
    /// A part of the confinement that this system lacks. Tabella reports it once per host and provider.
    case unconfined
    /// The error of a process that ended while it released a source, when no call can throw an error.
    case ended
  }

  /// The id of the provider.
  public var provider: String
  /// The kind of the output.
  public var kind: Kind
  /// One line without line ends. It may contain any other bytes, so make it safe before you show it.
  public var text: [UInt8]

  /// Creates an output line.
  public init(provider: String, kind: Kind, text: [UInt8]) {
    self.provider = provider
    self.kind = kind
    self.text = text
  }
}
