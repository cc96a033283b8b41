import CTabellaSystem
import Tabella
import TabellaFiles

/// A set of rules of Landlock: landlock(7). What none of them allows is forbidden.
struct Landlock: ~Copyable {
  /// What can be allowed for a file or a folder.
  struct Rights: OptionSet {
    let rawValue: UInt64

    static let execute = Rights(rawValue: 1 << 0)
    static let write = Rights(rawValue: 1 << 1)
    static let read = Rights(rawValue: 1 << 2)
    static let list = Rights(rawValue: 1 << 3)
    static let removeFolder = Rights(rawValue: 1 << 4)
    static let removeFile = Rights(rawValue: 1 << 5)
    static let makeFile = Rights(rawValue: 1 << 8)
    /// Everything from a device to a pipe, but no link.
    static let make = Rights(rawValue: 0b1111_1100_0000)
    /// A symbolic link. Renaming one, giving it another name and exchanging it need this right too.
    static let makeLink = Rights(rawValue: 1 << 12)
    /// To give what is in one folder a name in another; since version 2.
    static let refer = Rights(rawValue: 1 << 13)
    /// Since version 3; before that whoever may open a file may cut it.
    static let truncate = Rights(rawValue: 1 << 14)
    /// To ask devices for more than their bytes; since version 5.
    static let control = Rights(rawValue: 1 << 15)

    static let reading: Rights = [.read, .list]
    static let saving: Rights = [.read, .list, .write, .truncate, .makeFile, .removeFile]
    /// Without links: the path of a later command, or of a permission, may lead through them.
    static let changing: Rights = [
      .read, .list, .write, .truncate, .make, .removeFile, .removeFolder, .refer,
    ]
    /// What means something for what is no folder.
    static let ofFiles: Rights = [.execute, .write, .read, .truncate, .control]

    /// All that a version knows.
    static func all(_ version: Int) -> Rights {
      var rights = Rights(rawValue: (1 << 13) - 1)
      if version >= 2 { rights.insert(.refer) }
      if version >= 3 { rights.insert(.truncate) }
      if version >= 5 { rights.insert(.control) }
      return rights
    }
  }

  let descriptor: Int32
  private let handled: Rights

  /// Makes rules that forbid all that a version can forbid. Throws ``TableError``.
  init(version: Int, _ rules: Rules) throws(TableError) {
    handled = .all(version)
    // TCP's bind and connect; sockets with abstract names, and signals to processes that are not under the
    // same rules.
    let network: UInt64 = version >= 4 && !rules.network ? 0b11 : 0
    let scopes: UInt64 = version >= 6 ? (rules.signals ? 0b01 : 0b11) : 0
    descriptor = tabella_landlock_make(handled.rawValue, network, scopes)
    guard descriptor >= 0 else { throw Confinement.failed("Landlock", descriptor) }
  }

  deinit { close(descriptor) }

  /// Allows something for what the host found at a path, and for all beneath it; returns whether the host found
  /// anything.
  ///
  /// Throws ``TableError``: `.conflict` if something else is there now, and whatever keeps it from being
  /// granted.
  func allow(_ rights: Rights, for grant: Grant) throws(TableError) -> Bool {
    guard let identity = grant.identity else { return false }
    guard try allow(rights, at: grant.path, identity) else {
      throw Confinement.replaced(grant.path)
    }
    return true
  }

  /// Allows something for what a path leads to, and for all beneath it; returns whether that is there. If an
  /// `identity` is given, only what has it counts.
  ///
  /// Throws ``TableError`` if it is there and could not be granted.
  func allow(
    _ rights: Rights, at path: [UInt8], _ identity: Grant.Identity? = nil
  ) throws(TableError) -> Bool {
    let place = path.withCString { tabella_open_place($0) }
    guard place >= 0 else { return false }
    // In /proc what a path leads to is made when it is asked for: it must not be made anew.
    let stays = path.starts(with: "/proc".utf8)
    defer { if !stays { close(place) } }
    var status = stat()
    guard fstat(place, &status) == 0, identity == nil || identity == Grant.Identity(status) else {
      return false
    }
    var granted = rights.intersection(handled)
    if status.st_mode & S_IFMT != S_IFDIR { granted.formIntersection(.ofFiles) }
    let result = tabella_landlock_allow(descriptor, place, granted.rawValue)
    // A pipe, say, which it does not guard.
    guard result == 0 || result == -EBADFD else { throw Confinement.failed("Landlock", result) }
    return true
  }
}
