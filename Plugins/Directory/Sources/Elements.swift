import CTabellaSystem
import Tabella
import TabellaFiles
import TabellaSystem

/// The badge and the preview of a row.
///
/// Unlike cells, elements show the current state. They never show another file than the listed one.
extension DirectorySource: TableSupplementary {
  func supplementaryKinds() -> [String] { ["badge", "preview"] }

  func supplementaryElement(
    ofKind kind: String, at path: IndexPath
  ) throws(TableError) -> SupplementaryElement? {
    guard ["badge", "preview"].contains(kind), !path.isSection else { return nil }
    cancel.begin()
    let entry = try entry(at: path)
    let examined: Examined
    if kind == "badge", let found = examineByPath(entry) {
      examined = found
    } else {
      examined = try examine([entry], where: { _ in true })[0]
    }
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

  /// The status of an entry, with one system call, because a table shows a badge for each row. Nil if the path does not
  /// lead to the listed entry. Only opening its folder then determines the reason.
  private func examineByPath(_ entry: Int) -> Examined? {
    var examined = Examined()
    let result = (listing.path(of: entry) + [0]).withUnsafeBytes { path in
      path.withMemoryRebound(to: CChar.self) {
        tabella_system_status(root, $0.baseAddress!, &examined.status)
      }
    }
    let folder = listing.folders[listing.folder(of: entry)]
    guard result == 0, listing.isListed(entry, in: folder, examined.status) else { return nil }
    examined.kind = EntryKind(mode: examined.status.mode)
    return examined
  }

  // Badges

  /// The badge: the number of entries for a folder, a problem for a link, none for other kinds.
  private func badge(of entry: Int, _ examined: Examined) throws(TableError) -> StyledText? {
    switch examined.kind {
    case .directory:
      try list(entry, examined.status, upTo: .max) { listing in
        StyledText(listing.count == 1 ? "1 entry" : "\(listing.count) entries")
      }
    case .link: linkProblem(try follow(entry).error).map { .styled($0, .warning) }
    default: nil
    }
  }

  /// The problem of a link that cannot be followed; nil if there is none.
  private func linkProblem(_ error: Int32) -> String? {
    switch error {
    case 0: nil
    // A badge has room for 20 columns.
    case ELOOP: "the links are a loop"
    case ENOENT: "no such target"
    default: Failure(error).reason
    }
  }

  // Previews

  /// The preview of an entry. Only files and folders are opened, because opening a FIFO or a device can have side
  /// effects.
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

  /// The bytes of a listing that a preview reads: about 10,000 entries.
  private static let previewedListing = 1 << 19

  private func previewLink(_ entry: Int) throws(TableError) -> StyledText {
    guard let target = try target(of: entry, FolderOpener(root: root, listing)) else {
      return .styled(Failure.vanished.reason, .warning)
    }
    var text = StyledText(Array("leads to ".utf8) + Preview.line(target) + [10])
    let (mode, error) = try follow(entry)
    if let problem = linkProblem(error) {
      text.append(problem, .warning)
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

  /// The first bytes of a file, one more than a preview shows, and its size; nil if the size is unknown.
  private func readStart(
    of entry: Int, _ status: tabella_status
  ) throws(Failure) -> (bytes: [UInt8], size: Int?) {
    let opener = FolderOpener(root: root, listing)
    let file = try opener.openFile(entry, in: opener.descriptor(listing.folder(of: entry)))
    let now = try self.status(of: file.raw)
    guard UInt64(now.st_ino) == status.inode, UInt64(now.st_dev) == status.device,
      now.kind == S_IFREG
    else { throw .vanished }
    let (bytes, isAll) = try contents(of: file.raw, upTo: Preview.longestText.bytes + 1)
    // Files of `/proc` report 0 bytes, and files of `/sys` report 4096, whatever they contain.
    let size = Int(now.st_size)
    return (bytes, isAll ? bytes.count : size >= bytes.count ? size : nil)
  }

  private func status(of descriptor: Int32) throws(Failure) -> stat {
    guard let status = stat(of: descriptor) else { throw Failure(errno) }
    return status
  }

  // Folders

  /// The text that `body` returns for the entries of a folder; a warning if the folder cannot be read.
  private func list(
    _ entry: Int, _ status: tabella_status, upTo bytes: Int, _ body: (Listing) -> StyledText
  ) throws(TableError) -> StyledText {
    let opener = FolderOpener(root: root, listing)
    do throws(Failure) {
      let folder = try opener.open(entry, in: opener.descriptor(listing.folder(of: entry)))
      let now = try self.status(of: folder.raw)
      // Another device means that a file system is mounted there, and opening the folder reached its root.
      guard UInt64(now.st_ino) == status.inode || UInt64(now.st_dev) != status.device else {
        throw .vanished
      }
      let own = Listing(showsHidden: showsHidden)
      _ = try own.add(folder.raw, parent: nil, entry: nil, upTo: bytes, cancel)
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
  /// The kind as text for people.
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
