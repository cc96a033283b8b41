/// What a worker may do. The kernel forbids everything else, as far as it can.
///
/// Nothing is granted at a path where the host found nothing; ``Report/absent`` lists these paths.
/// docs/security.md says what each rule means for a user.
public struct Rules: Hashable, Sendable {
  /// Files that may be read, and folders with everything beneath them.
  public var readable: [Grant] = []
  /// Files that may be rewritten where they are, and folders beneath which everything but symbolic links may be
  /// made, changed and renamed, and everything removed. They may be read as well.
  public var writable: [Grant] = []
  /// Folders beneath which files may be read, made, replaced and removed, and folders not: what saving a
  /// file takes of the folder that it is in.
  public var saving: [Grant] = []
  /// Files and folders that may be read while the library is loaded.
  public var libraries: [Grant] = []
  /// Whether symbolic links may be made and renamed beneath ``writable``.
  public var links = false
  /// Whether other processes may be sent signals and get nice values.
  public var signals = false
  /// Whether there may be IP sockets.
  public var network = false
  /// The most bytes of private memory that the process may write to; 0 for no limit, as for the next three.
  public var memory = 0
  /// The most bytes of addresses. They bound all memory that is mapped: private and shared memory, libraries,
  /// files, and addresses that are only reserved.
  public var addresses = 0
  /// The most open files.
  public var files = 0
  /// The most seconds of processor time.
  public var processorSeconds = 0
  /// The most bytes that a file may get; nil for no limit. With 0 the process can neither make a file with
  /// content nor grow or overwrite one.
  public var fileSize: Int?
  /// Whether the process must not run foreign code if a part of its confinement is missing.
  public var isStrict = false

  public init() {}

  /// Whether anything of the user's may be changed: then modes, owners, times and attributes may be.
  var allowsChanges: Bool { !writable.isEmpty || !saving.isEmpty }
}

/// The permissions that the host granted to a provider, beyond its location.
public struct GrantedPermissions: Hashable, Sendable {
  /// Absolute paths that it reads.
  public var read: [[UInt8]]
  /// Absolute paths that it changes when a location is opened for editing.
  public var write: [[UInt8]]
  /// Whether it makes and renames symbolic links where it changes folders.
  public var links: Bool
  /// Whether it signals other processes when a location is opened for editing.
  public var signals: Bool
  /// Whether it uses the network.
  public var network: Bool
  /// Whether it reads what the system tells of all processes.
  public var processes: Bool

  public init(
    read: [[UInt8]] = [], write: [[UInt8]] = [], links: Bool = false, signals: Bool = false,
    network: Bool = false, processes: Bool = false
  ) {
    self.read = read
    self.write = write
    self.links = links
    self.signals = signals
    self.network = network
    self.processes = processes
  }
}
