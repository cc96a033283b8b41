import Glibc
import Tabella

/// The relation of a new listing to the listing before it: folders and entries with the same paths.
final class Succession {
  private static let none = UInt32.max

  let old: Listing
  let oldWatches: [Int32]
  private let new: Listing
  /// Whether an old folder must be read again.
  private let isDirty: [Bool]
  /// The old folders by their entries.
  private let oldFoldersByEntry: [Int: Int]
  /// The old entry of each new one, and the old folder of each new one.
  private var origins: [UInt32] = []
  private var oldFolders: [UInt32] = []
  private var newFolders: [Int: Int] = [:]
  /// The new entries with another kind than before.
  private(set) var otherKinds: Set<Int> = []

  init(old: Listing, watches: [Int32], new: Listing, isDirty: [Bool]) {
    self.old = old
    self.new = new
    self.isDirty = isDirty
    oldWatches = watches
    var folders: [Int: Int] = [:]
    for (number, folder) in old.folders.enumerated() {
      if let entry = folder.entry { folders[entry] = number }
    }
    oldFoldersByEntry = folders
  }

  /// The old entry with the path of a new one.
  func origin(of entry: Int) -> Int? {
    origins[entry] == Succession.none ? nil : Int(origins[entry])
  }

  /// The old folder with the path of a new one.
  func oldFolder(of folder: Int) -> Int? {
    oldFolders[folder] == Succession.none ? nil : Int(oldFolders[folder])
  }

  /// The new folder with the path of an old one.
  func newFolder(of folder: Int) -> Int? { newFolders[folder] }

  /// Whether a new entry and the old one with its path are the same row.
  func isSame(_ entry: Int, _ origin: Int) -> Bool { new.inode(entry) == old.inode(origin) }

  /// The folder itself, if it need not be read again.
  func unchanged(folder: Int) -> Int? { isDirty[folder] ? nil : folder }

  /// The old folder of a new entry, if it need not be read again.
  func unchangedFolder(ofEntry entry: Int) -> Int? {
    guard let origin = origin(of: entry), isSame(entry, origin),
      let folder = oldFoldersByEntry[origin]
    else { return nil }
    return unchanged(folder: folder)
  }

  /// Relates a folder that was added to the new listing.
  func join(_ number: Int, copied: Int? = nil) {
    let folder = new.folders[number]
    let oldNumber =
      copied ?? folder.entry.map { origin(of: $0).flatMap { oldFoldersByEntry[$0] } } ?? 0
    oldFolders.append(oldNumber.map { UInt32($0) } ?? Succession.none)
    origins += repeatElement(Succession.none, count: folder.entries.count)
    guard let oldNumber else { return }
    newFolders[oldNumber] = number
    let oldEntries = old.folders[oldNumber].entries
    if copied != nil {
      for (entry, origin) in zip(folder.entries, oldEntries) { origins[entry] = UInt32(origin) }
    } else {
      join(folder.entries, oldEntries)
    }
  }

  /// Relates entries by their names, which are sorted.
  private func join(_ entries: Range<Int>, _ oldEntries: Range<Int>) {
    var origin = oldEntries.lowerBound
    for entry in entries {
      new.prefetch(min(entry + 8, entries.upperBound - 1))
      new.withCName(entry) { name in
        while origin < oldEntries.upperBound {
          old.prefetch(min(origin + 8, oldEntries.upperBound - 1))
          let order = old.withCName(origin) { strcmp($0, name) }
          if order > 0 { return }
          if order == 0 {
            origins[entry] = UInt32(origin)
            if old.kind(origin) != new.kind(entry) { otherKinds.insert(entry) }
          }
          origin += 1
          if order == 0 { return }
        }
      }
    }
  }
}
