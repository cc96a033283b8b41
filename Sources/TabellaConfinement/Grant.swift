import CTabellaSystem
import TabellaFiles

/// A file or folder that rules grant, as the host found it.
///
/// A path can lead elsewhere a moment later, for example if somebody puts a symbolic link in its place. So the
/// host also notes which object it found. A worker grants that object or nothing.
public struct Grant: Hashable, Sendable {
  /// What a file is called wherever it is moved: the device and inode numbers of stat(2).
  public struct Identity: Hashable, Sendable {
    public var device: UInt64
    public var inode: UInt64

    public init(device: UInt64, inode: UInt64) {
      self.device = device
      self.inode = inode
    }

    init(_ status: stat) { self.init(device: UInt64(status.st_dev), inode: UInt64(status.st_ino)) }
  }

  /// The absolute path without symbolic links. If the file has no such path (standard input that is a pipe),
  /// the path by which it was found.
  public var path: [UInt8]
  /// Nil if nothing was there.
  public var identity: Identity?

  public init(path: [UInt8], identity: Identity?) {
    self.path = path
    self.identity = identity
  }

  /// Finds what a path leads to, through all symbolic links.
  public init(finding path: [UInt8]) { self.init(ResolvedPath(path), path) }

  /// What a path leads to, or nothing.
  init(_ place: ResolvedPath?, _ path: [UInt8]) {
    self.init(path: place?.path ?? path, identity: place?.identity)
  }
}

/// What a path leads to.
struct ResolvedPath {
  /// As ``Grant/path``.
  let path: [UInt8]
  let identity: Grant.Identity
  /// `S_IFREG` and so on.
  let kind: UInt32

  /// Nil if nothing is there, or it cannot be examined.
  init?(_ path: [UInt8]) {
    let place = path.withCString { tabella_open_place($0) }
    guard place >= 0 else { return nil }
    defer { close(place) }
    var status = stat()
    guard fstat(place, &status) == 0 else { return nil }
    identity = Grant.Identity(status)
    kind = status.st_mode & S_IFMT
    // If the path leads elsewhere by now, the worker finds another identity there.
    self.path = realPath(path) ?? path
  }

  /// The folder that holds this file; nil if it holds another file under that name, or none.
  var folder: ResolvedPath? {
    guard let folder = ResolvedPath(TabellaConfinement.parent(of: path)),
      let slash = path.lastIndex(of: UInt8(ascii: "/"))
    else { return nil }
    var status = stat()
    let name = Array(path[(slash + 1)...])
    let found = (folder.path + [UInt8(ascii: "/")] + name).withCString { lstat($0, &status) }
    return found == 0 && Grant.Identity(status) == identity ? folder : nil
  }
}
