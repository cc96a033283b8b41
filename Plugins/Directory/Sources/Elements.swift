import CTabellaSystem
import Tabella
import TabellaFiles

/// What is beside a row: a badge, and how the file or folder begins.
///
/// Unlike cells, elements are of the moment when they are asked for; but never of another file than
/// was listed.
extension DirectorySource: TableSupplementary {
  func supplementaryKinds() -> [String] { ["badge", "preview"] }

  func supplementaryElement(
    ofKind kind: String, at path: IndexPath
  ) throws(TableError) -> SupplementaryElement? {
    guard ["badge", "preview"].contains(kind), !path.isSection else { return nil }
    cancel.begin()
    let entry = try entry(at: path)
    let examined = try examine([entry], where: { _ in true })[0]
    let text =
      if !examined.isGood {
        StyledText.styled(Failure(examined.error).reason, .warning)
      } else if kind == "badge" {
        try badge(of: entry, examined)
      } else {
        try preview(of: entry, examined)
      }
    return text.map { .text($0) }
  }

  // Badges

  /// The badge of a folder says how many entries it has; that of any other, what is wrong with it.
  private func badge(of entry: Int, _ examined: Examined) throws(TableError) -> StyledText? {
    switch examined.kind {
    case .directory:
      try list(entry, examined.status, upTo: .max) { listing in
        StyledText(listing.count == 1 ? "1 entry" : "\(listing.count) entries")
      }
    case .link: trouble(try follow(entry).error).map { .styled($0, .warning) }
    default: nil
    }
  }

  /// What is wrong with a link that cannot be followed.
  private func trouble(_ error: Int32) -> String? {
    switch error {
    case 0: nil
    case ELOOP: "a loop of links"
    case ENOENT: "leads nowhere"
    default: Failure(error).reason
    }
  }

  // Previews

  /// Only files and folders are opened: opening a FIFO or a device may do something.
  private func preview(of entry: Int, _ examined: Examined) throws(TableError) -> StyledText {
    switch examined.kind {
    case .file: try previewFile(entry, examined.status)
    case .directory:
      try list(entry, examined.status, upTo: DirectorySource.previewedListing) {
        Preview.ofFolder($0)
      }
    case .link: try previewLink(entry)
    default: .styled(examined.kind.description, .dim)
    }
  }

  /// How many bytes of a listing are enough for a preview: some 10,000 entries.
  private static let previewedListing = 1 << 19

  private func previewLink(_ entry: Int) throws(TableError) -> StyledText {
    guard let target = try target(of: entry, FolderOpener(root: root, listing)) else {
      return .styled(Failure.vanished.reason, .warning)
    }
    var text = StyledText(Array("leads to ".utf8) + Preview.line(target) + [10])
    let (mode, error) = try follow(entry)
    if let trouble = trouble(error) {
      text.append(trouble, .warning)
    } else {
      text.append(EntryKind(mode: mode).description, .dim)
    }
    return text
  }

  private func previewFile(_ entry: Int, _ status: tabella_status) throws(TableError) -> StyledText
  {
    let start: (bytes: [UInt8], size: Int?)
    do throws(Failure) {
      start = try readStart(of: entry, status)
    } catch {
      return try unreadable(error)
    }
    return try Preview.ofFile(start.bytes, size: start.size)
  }

  /// What a file begins with, one byte more than is ever shown, and its size; nil if it does not say.
  private func readStart(
    of entry: Int, _ status: tabella_status
  ) throws(Failure) -> (bytes: [UInt8], size: Int?) {
    let opener = FolderOpener(root: root, listing)
    let file = try opener.openFile(entry, in: opener.descriptor(listing.folder(of: entry)))
    defer { close(file) }
    let now = try self.status(of: file)
    guard UInt64(now.st_ino) == status.inode, UInt64(now.st_dev) == status.device,
      now.st_mode & S_IFMT == S_IFREG
    else { throw .vanished }
    let (bytes, isAll) = try contents(of: file, upTo: Preview.longestText.bytes + 1)
    // A file of /proc has 0 bytes, one of /sys 4096, whatever is in it.
    let size = Int(now.st_size)
    return (bytes, isAll ? bytes.count : size >= bytes.count ? size : nil)
  }

  private func status(of descriptor: Int32) throws(Failure) -> stat {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw Failure(errno) }
    return status
  }

  // Folders

  /// What `body` makes of the entries of a folder that is an entry; a warning if it cannot be read.
  private func list(
    _ entry: Int, _ status: tabella_status, upTo bytes: Int, _ body: (Listing) -> StyledText
  ) throws(TableError) -> StyledText {
    let opener = FolderOpener(root: root, listing)
    do throws(Failure) {
      let descriptor = try opener.open(entry, in: opener.descriptor(listing.folder(of: entry)))
      defer { close(descriptor) }
      let now = try self.status(of: descriptor)
      // On another device it is what was mounted there when it was opened.
      guard UInt64(now.st_ino) == status.inode || UInt64(now.st_dev) != status.device else {
        throw .vanished
      }
      let own = Listing(showsHidden: showsHidden)
      _ = try own.add(descriptor, parent: nil, entry: nil, upTo: bytes, cancel)
      return body(own)
    } catch {
      return try unreadable(error)
    }
  }

  private func unreadable(_ failure: Failure) throws(TableError) -> StyledText {
    if failure.isOfCall { throw failure.error("it cannot be read") }
    let isGone = [ENOENT, ENOTDIR].contains(failure.number)
    return .styled(isGone ? failure.reason : "unreadable: \(failure.reason)", .warning)
  }
}

extension EntryKind {
  /// For people.
  fileprivate var description: String {
    switch self {
    case .file: "a file"
    case .directory: "a folder"
    case .link: "a symbolic link"
    case .fifo: "a FIFO"
    case .socket: "a socket"
    case .block: "a block device"
    case .character: "a character device"
    case .unknown: "of an unknown kind"
    }
  }
}
