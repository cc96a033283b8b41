import CTabellaSystem
import Glibc
import Tabella
import TabellaFiles

/// Moves a file or a link to another file system: a copy, made durable, then the removal of the original.
struct CopyAcross {
  private static let blockSize = 1 << 20

  let folders: OpenFolders
  let cancel: CancelFlag

  /// What went wrong, for people, without a place.
  struct Trouble: Error {
    let number: Int32
    let what: String

    init(_ number: Int32, _ what: String) {
      self.number = number
      self.what = what
    }
  }

  /// Returns what is at the new place, and a remark if not all could be kept.
  func move(
    _ from: Place, _ identity: Identity, to: Place
  ) throws(Trouble) -> (status: tabella_status, remark: String?) {
    let between = Place(folder: to.folder, name: EntryName.temporary())
    let source = folders[from.folder].descriptor
    let target = folders[to.folder].descriptor
    var remark: String?
    do throws(Trouble) {
      remark =
        identity.kind == .link
        ? try copyLink(source, from.name, target, between.name)
        : try copyFile(source, from.name, identity, target, between.name)
      let result = between.name.withCString { old in
        to.name.withCString {
          tabella_system_rename(target, old, target, $0, TABELLA_RENAME_NO_REPLACE)
        }
      }
      if result < 0 { throw Trouble(-result, "cannot be given its name") }
    } catch {
      _ = between.name.withCString { unlinkat(target, $0, 0) }
      throw error
    }
    do throws(Trouble) {
      if let failure = makeDurable(target) {
        throw Trouble(failure.number, "cannot be made durable")
      }
      let copy = try status(target, to.name)
      guard Identity(try status(source, from.name)) == identity else {
        throw Trouble(ENOENT, "was replaced meanwhile")
      }
      if from.name.withCString({ unlinkat(source, $0, 0) }) != 0 {
        throw Trouble(errno, "cannot be removed where it is")
      }
      folders.note(changed: from.folder)
      return (copy, remark)
    } catch {
      if to.name.withCString({ unlinkat(target, $0, 0) }) != 0 {
        throw Trouble(error.number, "\(error.what), and its copy \(folders.text(to)) is left")
      }
      throw error
    }
  }

  private func status(_ folder: Int32, _ name: [UInt8]) throws(Trouble) -> tabella_status {
    do throws(Failure) {
      return try tabella_status(folder, name)
    } catch {
      throw Trouble(error.number, "cannot be examined")
    }
  }

  // Links

  private func copyLink(
    _ source: Int32, _ name: [UInt8], _ target: Int32, _ copy: [UInt8]
  ) throws(Trouble) -> String? {
    let status = try status(source, name)
    guard let text = readLink(source, name) else { throw Trouble(errno, "cannot be read") }
    let result = text.withCString { text in
      copy.withCString { symlinkat(text, target, $0) }
    }
    if result != 0 { throw Trouble(errno, "cannot be copied") }
    let entry = copy.withCString { tabella_system_open_entry(target, $0) }
    if entry >= 0 {
      defer { close(entry) }
      _ = tabella_system_set_modified(entry, status.modified, status.modified_rest)
    }
    let isKept = copy.withCString {
      fchownat(target, $0, status.owner, status.group, AT_SYMLINK_NOFOLLOW) == 0
    }
    return isKept ? nil : CopyAcross.newOwner
  }

  private static let newOwner = "its owner and group could not be kept"

  // Files

  private func copyFile(
    _ source: Int32, _ name: [UInt8], _ identity: Identity, _ target: Int32, _ copyName: [UInt8]
  ) throws(Trouble) -> String? {
    let original = name.withCString {
      openat(source, $0, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
    }
    guard original >= 0 else { throw Trouble(errno, "cannot be read") }
    defer { close(original) }
    let before = try status(original, [])
    guard Identity(before) == identity else { throw Trouble(ENOENT, "was replaced meanwhile") }
    let copy = copyName.withCString {
      openat(target, $0, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    }
    guard copy >= 0 else { throw Trouble(errno, "cannot be copied") }
    defer { close(copy) }
    try copyBytes(original, copy)
    let remark = try copyStatus(before, original, copy)
    if let failure = makeDurable(copy) { throw Trouble(failure.number, "cannot be made durable") }
    let after = try status(original, [])
    guard before.size == after.size, before.moment == after.moment else {
      throw Trouble(EBUSY, "was changed meanwhile")
    }
    return remark
  }

  private func copyBytes(_ original: Int32, _ copy: Int32) throws(Trouble) {
    var block = [UInt8](repeating: 0, count: CopyAcross.blockSize)
    while true {
      if cancel.isSet { throw Trouble(ECANCELED, "is not moved: cancelled") }
      let count = block.withUnsafeMutableBytes { read(original, $0.baseAddress!, $0.count) }
      if count == 0 { return }
      if count < 0 {
        if errno == EINTR { continue }
        throw Trouble(errno, "cannot be read")
      }
      do throws(Failure) {
        try writeAll(block[..<count], to: copy)
      } catch {
        throw Trouble(error.number, "cannot be copied")
      }
    }
  }

  /// Gives the copy the owner, as far as that is allowed, and the permissions, attributes and time.
  private func copyStatus(
    _ status: tabella_status, _ original: Int32, _ copy: Int32
  ) throws(Trouble) -> String? {
    let isOwned = fchown(copy, status.owner, status.group) == 0
    try copyAttributes(original, copy)
    var mode = status.mode & permissionBits
    // To run as another user or group than before was never allowed.
    if !isOwned { mode &= ~(S_ISUID | S_ISGID) }
    if fchmod(copy, mode) != 0 { throw Trouble(errno, "cannot keep its mode") }
    var times = [timespec(), timespec()]
    times[0].tv_nsec = (1 << 30) - 1  // UTIME_NOW
    times[1].tv_sec = Int(status.modified)
    times[1].tv_nsec = Int(status.modified_rest)
    if futimens(copy, times) != 0 { throw Trouble(errno, "cannot keep its time") }
    return isOwned ? nil : CopyAcross.newOwner
  }

  private func copyAttributes(_ original: Int32, _ copy: Int32) throws(Trouble) {
    let size = tabella_system_list_attributes(original, nil, 0)
    if size == 0 || size == -Int64(ENOTSUP) { return }
    guard size > 0 else { throw Trouble(Int32(-size), "cannot keep its attributes") }
    var names = [CChar](repeating: 0, count: Int(size))
    let got = tabella_system_list_attributes(original, &names, names.count)
    guard got >= 0 else { throw Trouble(Int32(-got), "cannot keep its attributes") }
    for name in names[..<Int(got)].split(separator: 0) {
      let text = String(decoding: name.map { UInt8(bitPattern: $0) }, as: UTF8.self)
      // The label is the new place's affair.
      if text == "security.selinux" { continue }
      try copyAttribute(text, original, copy)
    }
  }

  private func copyAttribute(_ name: String, _ original: Int32, _ copy: Int32) throws(Trouble) {
    let size = tabella_system_attribute(original, name, nil, 0)
    guard size >= 0 else { throw Trouble(Int32(-size), "cannot keep its attribute \(name)") }
    var value = [UInt8](repeating: 0, count: Int(size))
    let got = tabella_system_attribute(original, name, &value, value.count)
    let result =
      got < 0
      ? Int32(got) : tabella_system_set_attribute(copy, name, value, Int(got))
    if result < 0 { throw Trouble(-result, "cannot keep its attribute \(name)") }
  }
}

/// What a symbolic link says; nil if it cannot be read.
func readLink(_ directory: Int32, _ name: [UInt8]) -> [UInt8]? {
  name.withCString { readLink(directory, $0) }
}

func readLink(_ directory: Int32, _ name: UnsafePointer<CChar>) -> [UInt8]? {
  var size = 256
  while true {
    var count = 0
    let target = [UInt8](unsafeUninitializedCapacity: size) { buffer, filled in
      count = readlinkat(
        directory, name,
        UnsafeMutableRawPointer(buffer.baseAddress!).assumingMemoryBound(to: CChar.self), size)
      filled = max(0, count)
    }
    if count < 0 { return nil }
    // A target that fills the buffer may be longer.
    if count < size { return target }
    size *= 4
  }
}
