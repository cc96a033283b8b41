/// The permissions of a worker. The kernel forbids everything else, as far as its version can.
///
/// Nothing is granted at a path where the host found no file; ``ConfinementReport/absent`` lists these paths.
/// docs/security.md explains the effect of each rule for a user.
package struct WorkerRules: Hashable, Sendable {
  /// Files that may be read, and folders with everything below them.
  package var readable: [Grant] = []
  /// Files that may be read and overwritten, and folders with everything below them. In such a folder, everything may
  /// be read, created, changed, renamed and removed, except that symbolic links may only be removed.
  package var writable: [Grant] = []
  /// Folders in which files, but not folders, may be read, created, replaced and removed. Saving a file needs this
  /// right for its folder.
  package var saving: [Grant] = []
  /// Files and folders that may be read while the library is loaded.
  package var libraries: [Grant] = []
  /// Whether symbolic links below ``writable`` may be created and renamed.
  package var links = false
  /// Whether other processes may receive signals and nice values.
  package var signals = false
  /// Whether IP sockets are allowed.
  package var network = false
  /// The maximum private writable memory in bytes. For this limit and the next three, 0 means no limit.
  package var memory = 0
  /// The maximum address space in bytes. It bounds private and shared memory, libraries, mapped files and reserved
  /// addresses.
  package var addresses = 0
  /// The maximum number of open files.
  package var files = 0
  /// The maximum processor time in seconds.
  package var processorSeconds = 0
  /// The maximum size of a file in bytes; nil means no limit. With 0, the process cannot write to any file.
  package var fileSize: Int?
  /// Whether the process must not run foreign code if a part of its confinement is missing.
  package var isStrict = false

  /// Rules that grant nothing and set no limits.
  package init() {}

  /// Whether any file of the user may be changed. Then modes, owners, times and attributes may be changed, too.
  var allowsChanges: Bool { !writable.isEmpty || !saving.isEmpty }
}

/// The permissions that the host granted to a provider in addition to its location.
package struct GrantedPermissions: Hashable, Sendable {
  /// Absolute paths that it may read.
  package var read: [[UInt8]]
  /// Absolute paths that it may change if a location is opened for editing. One that ends in `/` is a folder that the
  /// host then makes.
  package var write: [[UInt8]]
  /// Whether it may create and rename symbolic links below ``write``.
  package var links: Bool
  /// Whether it may signal other processes if a location is opened for editing.
  package var signals: Bool
  /// Whether it may use the network.
  package var network: Bool
  /// Whether it may read `/proc` of all processes.
  package var processes: Bool

  /// Creates permissions; none by default.
  package init(
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
