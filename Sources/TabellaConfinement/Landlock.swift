import CTabellaSystem
import Tabella
import TabellaFiles
import TabellaSystem

/// A set of Landlock rules; see landlock(7). Everything that no rule allows is forbidden.
struct Landlock: ~Copyable {
  /// The rights that a rule can allow for a file or a folder.
  struct Rights: OptionSet {
    let rawValue: UInt64

    static let execute = Rights(rawValue: 1 << 0)
    static let write = Rights(rawValue: 1 << 1)
    static let read = Rights(rawValue: 1 << 2)
    static let list = Rights(rawValue: 1 << 3)
    static let removeFolder = Rights(rawValue: 1 << 4)
    static let removeFile = Rights(rawValue: 1 << 5)
    static let makeFile = Rights(rawValue: 1 << 8)
    /// Creating files, folders, devices, sockets and pipes, but not symbolic links.
    static let make = Rights(rawValue: 0b1111_1100_0000)
    /// Creating, renaming, linking and exchanging symbolic links.
    static let makeLink = Rights(rawValue: 1 << 12)
    /// Moving or linking entries between folders. Since version 2.
    static let refer = Rights(rawValue: 1 << 13)
    /// Truncating files. Since version 3; before, everyone who may open a file may truncate it.
    static let truncate = Rights(rawValue: 1 << 14)
    /// Controlling devices with `ioctl`. Since version 5.
    static let control = Rights(rawValue: 1 << 15)

    static let reading: Rights = [.read, .list]
    static let saving: Rights = [.read, .list, .write, .truncate, .makeFile, .removeFile]
    /// Excludes links, because a later command or a path of a permission may follow them.
    static let changing: Rights = [
      .read, .list, .write, .truncate, .make, .removeFile, .removeFolder, .refer,
    ]
    /// The rights that apply to files other than folders.
    static let ofFiles: Rights = [.execute, .write, .read, .truncate, .control]

    /// All rights that a version knows.
    static func all(_ version: Int) -> Rights {
      var rights = Rights(rawValue: (1 << 13) - 1)
      if version >= 2 { rights.insert(.refer) }
      if version >= 3 { rights.insert(.truncate) }
      if version >= 5 { rights.insert(.control) }
      return rights
    }
  }

  private let rules: Descriptor
  private let handled: Rights

  /// Creates rules that forbid everything that a version can forbid. Throws ``TableError``.
  init(version: Int, _ rules: WorkerRules) throws(TableError) {
    handled = .all(version)
    // Network: binding and connecting TCP sockets. Scopes: abstract sockets, and signals to processes outside these
    // rules.
    let network: UInt64 = version >= 4 && !rules.network ? 0b11 : 0
    let scopes: UInt64 = version >= 6 ? (rules.signals ? 0b01 : 0b11) : 0
    let made = tabella_landlock_make(handled.rawValue, network, scopes)
    guard let ruleset = Descriptor(made) else { throw Confinement.failed("Landlock", made) }
    self.rules = ruleset
  }

  /// The descriptor of the rules.
  var descriptor: Int32 { rules.raw }

  /// Allows rights for a granted file and everything below it. Returns whether the host found the file.
  ///
  /// Throws ``TableError``: `.conflict` if another file is there now, or the error of Landlock.
  func allow(_ rights: Rights, for grant: Grant) throws(TableError) -> Bool {
    guard let identity = grant.identity else { return false }
    guard try allow(rights, at: grant.path, identity) else {
      throw Confinement.replaced(grant.path)
    }
    return true
  }

  /// Allows rights for the file at a path and everything below it. Returns whether the file exists. With `identity`,
  /// only a file with that identity counts.
  ///
  /// Throws ``TableError`` if the file exists but Landlock fails.
  func allow(
    _ rights: Rights, at path: [UInt8], _ identity: Grant.Identity? = nil
  ) throws(TableError) -> Bool {
    guard let place = Descriptor(locating: path) else { return false }
    // `/proc` creates its objects on demand. The object must stay open, or a new one without the rule would replace it.
    guard path.starts(with: "/proc".utf8) else {
      return try allow(rights, for: place.raw, identity)
    }
    return try allow(rights, for: place.release(), identity)
  }

  private func allow(
    _ rights: Rights, for place: Int32, _ identity: Grant.Identity?
  ) throws(TableError) -> Bool {
    guard let status = stat(of: place), identity == nil || identity == Grant.Identity(status) else {
      return false
    }
    var granted = rights.intersection(handled)
    if status.kind != S_IFDIR { granted.formIntersection(.ofFiles) }
    let result = tabella_landlock_allow(descriptor, place, granted.rawValue)
    // Landlock does not guard this kind of file, such as a pipe.
    guard result == 0 || result == -EBADFD else { throw Confinement.failed("Landlock", result) }
    return true
  }
}
