import CTabellaSystem
import Glibc
import Tabella
import TabellaFiles

/// An entry that gets another name, another folder, or both.
struct Relocation {
  var from: FolderEntry
  var to: FolderEntry
  var identity: Identity
  /// The edits that ask for it.
  var edits: [Int]
  /// Whether it is copied, since the folders are on different file systems.
  var isAcross = false
}

/// Relocations in an order in which each finds its new name free; those of a circle are together.
///
/// No two begin or end at the same place.
func inOrder(_ relocations: [Relocation]) -> [[Relocation]] {
  var leaving: [FolderEntry: Int] = [:]
  var arriving: [FolderEntry: Int] = [:]
  for (index, relocation) in relocations.enumerated() {
    leaving[relocation.from] = index
    arriving[relocation.to] = index
  }
  var order: [[Relocation]] = []
  var isOrdered = [Bool](repeating: false, count: relocations.count)
  // From each free name back along those that wait for each other.
  for index in relocations.indices where leaving[relocations[index].to] == nil {
    var next: Int? = index
    while let this = next {
      isOrdered[this] = true
      order.append([relocations[this]])
      next = arriving[relocations[this].from]
    }
  }
  for index in relocations.indices where !isOrdered[index] {
    var circle: [Relocation] = []
    var next = index
    while !isOrdered[next] {
      isOrdered[next] = true
      circle.append(relocations[next])
      // In a circle each one's new name is the next one's old.
      next = leaving[relocations[next].to] ?? index
    }
    order.append(circle)
  }
  return order
}

/// Renames, each to a free name or exchanging two, that are all done or, as far as the system lets, none.
struct Renaming {
  enum Kind { case toFree, exchange }

  var renames: [(from: FolderEntry, to: FolderEntry, kind: Kind)]

  /// Directly to a name that must be free.
  static func direct(_ from: FolderEntry, _ to: FolderEntry) -> Renaming {
    Renaming(renames: [(from, to, .toFree)])
  }

  /// By way of a name that nothing has, for a name that differs in case only.
  static func roundabout(_ from: FolderEntry, _ to: FolderEntry) -> Renaming {
    let between = FolderEntry(folder: from.folder, name: EntryName.temporary())
    return Renaming(renames: [(from, between, .toFree), (between, to, .toFree)])
  }

  /// A circle, by exchanging: at any moment each entry has one of the names.
  static func exchanging(_ circle: [Relocation]) -> Renaming {
    Renaming(renames: circle.dropLast().map { (circle[0].from, $0.to, .exchange) })
  }

  /// A circle, where the file system cannot exchange.
  static func turning(_ circle: [Relocation]) -> Renaming {
    let between = FolderEntry(folder: circle[0].from.folder, name: EntryName.temporary())
    return Renaming(
      renames: [(circle[0].from, between, .toFree)]
        + circle.dropFirst().reversed().map { ($0.from, $0.to, .toFree) }
        + [(between, circle[0].to, .toFree)])
  }

  /// Does them; if one fails, takes back those before it. What could not be taken back is said.
  func perform(_ folders: OpenFolders) throws(RenamingFailure) {
    for (index, rename) in renames.enumerated() {
      let result = Renaming.rename(rename, folders)
      if result == 0 { continue }
      throw RenamingFailure(
        failure: Failure(-result), isFirst: index == 0,
        stranded: Renaming(renames: Array(renames[..<index])).takeBack(folders))
    }
  }

  /// Takes all back; returns the place of an entry that could not be.
  func takeBack(_ folders: OpenFolders) -> FolderEntry? {
    for rename in renames.reversed() {
      let back = (from: rename.to, to: rename.from, kind: rename.kind)
      if Renaming.rename(back, folders) != 0 { return rename.to }
    }
    return nil
  }

  private static func rename(
    _ rename: (from: FolderEntry, to: FolderEntry, kind: Kind), _ folders: OpenFolders
  ) -> Int32 {
    let flag = rename.kind == .toFree ? TABELLA_RENAME_NO_REPLACE : TABELLA_RENAME_EXCHANGE
    let result = rename.from.name.withCString { old in
      rename.to.name.withCString { new in
        tabella_system_rename(
          folders[rename.from.folder].descriptor, old, folders[rename.to.folder].descriptor, new,
          flag)
      }
    }
    if result == 0 {
      folders.note(changed: rename.from.folder)
      folders.note(changed: rename.to.folder)
    }
    return result
  }
}

struct RenamingFailure: Error {
  let failure: Failure
  /// Whether it was the first, so that another way may work.
  let isFirst: Bool
  /// Where an entry stands that could not be put back.
  let stranded: FolderEntry?
}
