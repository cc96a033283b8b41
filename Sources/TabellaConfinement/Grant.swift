import CTabellaSystem
import TabellaFiles
import TabellaSystem

/// A file or folder that rules grant, as the host found it.
///
/// A path can lead elsewhere a moment later, for example if somebody puts a symbolic link in its place. So the
/// host also notes which object it found. A worker grants that object or nothing.
package struct Grant: Hashable, Sendable {
  /// The identity of a file, independent of its path: the device and inode numbers of stat(2).
  package struct Identity: Hashable, Sendable {
    /// The number of the device that contains the file.
    package var device: UInt64
    /// The inode number on that device.
    package var inode: UInt64

    /// Creates an identity from the numbers of stat(2).
    package init(device: UInt64, inode: UInt64) {
      self.device = device
      self.inode = inode
    }

    init(_ status: stat) { self.init(device: UInt64(status.st_dev), inode: UInt64(status.st_ino)) }
  }

  /// The absolute path without symbolic links. A file without such a path, for example a pipe as standard input, has
  /// the path by which it was found.
  package var path: [UInt8]
  /// The identity; nil if the file does not exist.
  package var identity: Identity?

  /// Creates a grant without looking at the file system.
  package init(path: [UInt8], identity: Identity?) {
    self.path = path
    self.identity = identity
  }

  /// Creates a grant for the file that a path leads to, through all symbolic links.
  package init(finding path: [UInt8]) { self.init(ResolvedPath(path), path) }

  /// Creates a grant for a resolved path, or for nothing.
  init(_ place: ResolvedPath?, _ path: [UInt8]) {
    self.init(path: place?.path ?? path, identity: place?.identity)
  }
}

/// The file that a path leads to.
struct ResolvedPath {
  /// The path, as in ``Grant/path``.
  let path: [UInt8]
  let identity: Grant.Identity
  /// The file type: `S_IFREG` and so on.
  let kind: UInt32

  /// Resolves a path. Returns nil if the file does not exist or cannot be examined.
  init?(_ path: [UInt8]) {
    guard let place = Descriptor(locating: path), let status = stat(of: place.raw) else {
      return nil
    }
    identity = Grant.Identity(status)
    kind = status.kind
    // If the path leads to another file by now, the worker finds another identity there.
    self.path = realPath(path) ?? path
  }

  /// The folder that contains this file; nil if the name in that folder belongs to another file by now, or to none.
  var folder: ResolvedPath? {
    guard let folder = ResolvedPath(TabellaConfinement.parent(of: path)),
      let slash = path.lastIndex(of: UInt8(ascii: "/"))
    else { return nil }
    let name = Array(path[(slash + 1)...])
    let status = stat(at: folder.path + [UInt8(ascii: "/")] + name, followsLink: false)
    return status.map { Grant.Identity($0) } == identity ? folder : nil
  }
}
