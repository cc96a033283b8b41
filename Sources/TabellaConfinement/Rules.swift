/// What a worker may do: everything that is not said here is forbidden, as far as the kernel can.
///
/// Paths are absolute bytes without NUL. What is not there when the rules come into force cannot be granted,
/// and ``Report/absent`` says so. docs/security.md has what each of these means for a user.
public struct Rules: Hashable, Sendable {
  /// Files that may be read, and folders with everything beneath them.
  public var readable: [[UInt8]] = []
  /// Files that may be rewritten where they are, and folders beneath which everything may be made, changed,
  /// renamed and removed. They may be read as well.
  public var writable: [[UInt8]] = []
  /// Folders beneath which files may be read, made, replaced and removed, and folders not: what saving a
  /// file takes of the folder that it is in.
  public var saving: [[UInt8]] = []
  /// Folders for temporary files, like ``writable``; but modes and times of what else may be read stay as
  /// they are.
  public var temporary: [[UInt8]] = []
  /// Files and folders that may be read while the library is loaded.
  public var libraries: [[UInt8]] = []
  /// Whether other processes may be sent signals and get nice values.
  public var signals = false
  /// Whether there may be IP sockets.
  public var network = false
  /// How many bytes of memory of its own the process may have that it can write to; 0 for no limit, as below.
  public var memory = 0
  /// How many bytes of addresses it may use: for libraries, for what is shared, and for what is only kept
  /// free, of which some languages keep a lot.
  public var addresses = 0
  /// How many files may be open.
  public var files = 0
  /// How many bytes a file may get, also one in memory.
  public var fileSize = 0
  /// How many seconds of processor time there are.
  public var processorSeconds = 0

  public init() {}

  /// Whether anything of the user's may be changed: then modes, owners, times and attributes may be.
  var allowsChanges: Bool { !writable.isEmpty || !saving.isEmpty }
}

/// What a provider needs beyond its location: what its manifest asks for and the user granted.
public struct Wishes: Hashable, Sendable {
  /// Absolute paths that it reads.
  public var read: [[UInt8]]
  /// Absolute paths that it changes when a location is opened for editing.
  public var write: [[UInt8]]
  /// Whether it signals other processes when a location is opened for editing.
  public var signals: Bool
  /// Whether it uses the network.
  public var network: Bool
  /// Whether it reads what the system tells of all processes.
  public var processes: Bool

  public init(
    read: [[UInt8]] = [], write: [[UInt8]] = [], signals: Bool = false, network: Bool = false,
    processes: Bool = false
  ) {
    self.read = read
    self.write = write
    self.signals = signals
    self.network = network
    self.processes = processes
  }
}
