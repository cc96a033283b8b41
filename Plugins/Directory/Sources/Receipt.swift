import Tabella

/// The data that undoes a batch: its records in order, with the properties that identify each entry.
///
/// It contains paths below the root, inodes and times, so that a later process can use it. The encoded form consists of
/// lines of words: a head with the numbers of folders and records, then one line for each of them.
struct Receipt {
  enum Record: Hashable {
    case trashed(FolderEntry, Trashed)
    case relocated(from: FolderEntry, to: FolderEntry, LastingIdentity, isAcross: Bool)
    case created(FolderEntry, LastingIdentity, Contents)
    case mode(FolderEntry, LastingIdentity, old: UInt32, new: UInt32)
    case modified(FolderEntry, LastingIdentity, old: Moment, new: Moment)

    var folders: [Int] {
      switch self {
      case .trashed(let place, _), .created(let place, _, _), .mode(let place, _, _, _),
        .modified(let place, _, _, _):
        [place.folder]
      case .relocated(let from, let to, _, _): [from.folder, to.folder]
      }
    }
  }

  /// The properties of a new entry, without its name.
  struct Contents: Hashable {
    var size: UInt64
    var modified: Moment
    /// The target of a link.
    var target: [UInt8] = []
  }

  /// A folder that records refer to by number. Its names are those after the batch.
  struct Folder: Hashable {
    /// The names of its path below the root; empty for the root.
    var path: [[UInt8]]
    var inode: UInt64
  }

  var folders: [Int: Folder]
  var records: [Record]
}

// Encoding

extension Receipt {
  private static let mark = "tabella-directory-2"

  var bytes: [UInt8] {
    var lines = [[Receipt.mark, "\(folders.count)", "\(records.count)"]]
    lines += folders.sorted { $0.key < $1.key }.map { number, folder in
      ["\(number)", "\(folder.inode)"] + folder.path.map(word)
    }
    lines += records.map { $0.words }
    return lines.flatMap { Array($0.joined(separator: " ").utf8) + [10] }
  }

  /// Decodes a receipt. Throws ``TableError`` with `.invalidArgument` if this provider did not write the bytes.
  init(bytes: [UInt8]) throws(TableError) {
    guard bytes.starts(with: Receipt.mark.utf8) else {
      throw TableError(.invalidArgument, "this is not a receipt of a directory")
    }
    var lines = bytes.split(separator: 10, omittingEmptySubsequences: false).map {
      ReceiptLine($0)
    }
    // A truncated receipt has no final line end.
    guard lines.popLast()?.isAtEnd == true, !lines.isEmpty else { throw ReceiptLine.damaged }
    var head = lines.removeFirst()
    guard try head.word().elementsEqual(Receipt.mark.utf8) else { throw ReceiptLine.damaged }
    let (folderCount, recordCount) = (try head.number(Int.self), try head.number(Int.self))
    guard head.isAtEnd, 0...lines.count ~= folderCount, recordCount > 0,
      recordCount == lines.count - folderCount
    else { throw ReceiptLine.damaged }
    folders = [:]
    for var line in lines[..<folderCount] {
      let number = try line.number(Int.self)
      var folder = Folder(path: [], inode: try line.number(UInt64.self))
      while !line.isAtEnd { folder.path.append(try line.name()) }
      guard folders.updateValue(folder, forKey: number) == nil else { throw ReceiptLine.damaged }
    }
    records = []
    for var line in lines[folderCount...] {
      let record = try line.record()
      guard line.isAtEnd, record.folders.allSatisfy({ folders[$0] != nil }) else {
        throw ReceiptLine.damaged
      }
      records.append(record)
    }
  }
}

private func word(_ name: [UInt8]) -> String {
  String(decoding: Percent.escaped(name), as: UTF8.self)
}

extension FolderEntry {
  fileprivate var words: [String] { ["\(folder)", word(name)] }
}

extension Moment {
  fileprivate var words: [String] { ["\(seconds)", "\(nanoseconds)"] }
}

extension LastingIdentity {
  fileprivate var words: [String] {
    ["\(inode)", "\(kind.rawValue)"] + (birth?.words ?? [ReceiptLine.unknown])
  }
}

extension Receipt.Record {
  fileprivate var words: [String] {
    switch self {
    case .trashed(let place, let trashed):
      ["trashed"] + place.words + trashed.identity.words
        + ["\(trashed.kind.rawValue)", word(trashed.name), "\(trashed.info)"]
    case .relocated(let from, let to, let identity, let isAcross):
      [isAcross ? "copied" : "renamed"] + to.words + identity.words + from.words
    case .created(let place, let identity, let contents):
      ["created"] + place.words + identity.words + ["\(contents.size)"]
        + contents.modified.words + [word(contents.target)]
    case .mode(let place, let identity, let old, let new):
      ["mode"] + place.words + identity.words + ["\(old)", "\(new)"]
    case .modified(let place, let identity, let old, let new):
      ["modified"] + place.words + identity.words + old.words + new.words
    }
  }
}

/// A parser for the words of a line.
private struct ReceiptLine {
  static let damaged = TableError(.invalidArgument, "the receipt is damaged")
  static let unknown = "-"

  private var words: ArraySlice<ArraySlice<UInt8>>

  init(_ line: ArraySlice<UInt8>) {
    words = line.isEmpty ? [] : line.split(separator: 32, omittingEmptySubsequences: false)[...]
  }

  var isAtEnd: Bool { words.isEmpty }

  mutating func word() throws(TableError) -> ArraySlice<UInt8> {
    guard let word = words.popFirst() else { throw ReceiptLine.damaged }
    return word
  }

  mutating func number<Number: FixedWidthInteger>(
    _ type: Number.Type, upTo limit: Number = .max
  ) throws(TableError) -> Number {
    guard let number = Number(String(decoding: try word(), as: UTF8.self)), number <= limit else {
      throw ReceiptLine.damaged
    }
    return number
  }

  private mutating func text() throws(TableError) -> [UInt8] {
    guard let text = Percent.unescaped(try word()) else { throw ReceiptLine.damaged }
    return text
  }

  mutating func name() throws(TableError) -> [UInt8] {
    let name = try text()
    guard (try? EntryName.check(name)) != nil else { throw ReceiptLine.damaged }
    return name
  }

  private mutating func place() throws(TableError) -> FolderEntry {
    FolderEntry(folder: try number(Int.self), name: try name())
  }

  private mutating func moment() throws(TableError) -> Moment {
    Moment(
      seconds: try number(Int64.self), nanoseconds: try number(UInt32.self, upTo: 999_999_999))
  }

  private mutating func identity() throws(TableError) -> LastingIdentity {
    let inode = try number(UInt64.self)
    guard let kind = EntryKind(rawValue: try number(UInt8.self)) else {
      throw ReceiptLine.damaged
    }
    guard words.first?.elementsEqual(ReceiptLine.unknown.utf8) == true else {
      return LastingIdentity(inode: inode, kind: kind, birth: try moment())
    }
    words.removeFirst()
    return LastingIdentity(inode: inode, kind: kind, birth: nil)
  }

  mutating func record() throws(TableError) -> Receipt.Record {
    let what = String(decoding: try word(), as: UTF8.self)
    let (place, identity) = (try place(), try identity())
    switch what {
    case "trashed":
      guard let can = Trash.Kind(rawValue: try number(UInt8.self)) else {
        throw ReceiptLine.damaged
      }
      return .trashed(
        place,
        Trashed(
          kind: can, name: try name(), identity: identity, info: try number(UInt64.self)))
    case "renamed", "copied":
      return .relocated(
        from: try self.place(), to: place, identity, isAcross: what == "copied")
    case "created":
      return .created(
        place, identity,
        Receipt.Contents(
          size: try number(UInt64.self), modified: try moment(), target: try text()))
    case "mode":
      return .mode(
        place, identity, old: try number(UInt32.self, upTo: permissionBits),
        new: try number(UInt32.self, upTo: permissionBits))
    case "modified":
      return .modified(place, identity, old: try moment(), new: try moment())
    default: throw ReceiptLine.damaged
    }
  }
}
