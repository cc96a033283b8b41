import CTabellaSystem
import Glibc
import Tabella
import TabellaFiles
import TabellaSystem

/// A change of an entry's name, folder, or both.
struct Relocation {
  var from: FolderEntry
  var to: FolderEntry
  var identity: Identity
  /// The indices of the edits that request it.
  var edits: [Int]
  /// Whether the entry must be copied, because the folders are on different file systems.
  var isAcross = false
}

/// Groups relocations in an order in which each finds its new name free. A group of several is a cycle.
///
/// No two relocations may have the same start or the same end.
func inOrder(_ relocations: [Relocation]) -> [[Relocation]] {
  var leaving: [FolderEntry: Int] = [:]
  var arriving: [FolderEntry: Int] = [:]
  for (index, relocation) in relocations.enumerated() {
    leaving[relocation.from] = index
    arriving[relocation.to] = index
  }
  var order: [[Relocation]] = []
  var isOrdered = [Bool](repeating: false, count: relocations.count)
  // Starts at each free name and follows the chain of waiting relocations backwards.
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
      // In a cycle, the new name of each entry is the old name of the next one.
      next = leaving[relocations[next].to] ?? index
    }
    order.append(circle)
  }
  return order
}

/// A sequence of renames that is done completely or, as far as the system permits, not at all. Each rename goes to a
/// free name or exchanges two.
struct Renaming {
  enum Kind { case toFree, exchange }

  var renames: [(from: FolderEntry, to: FolderEntry, kind: Kind)]

  /// One rename to a free name.
  static func direct(_ from: FolderEntry, _ to: FolderEntry) -> Renaming {
    Renaming(renames: [(from, to, .toFree)])
  }

  /// Two renames with a temporary name in between, for a name that differs in case only.
  static func roundabout(_ from: FolderEntry, _ to: FolderEntry) -> Renaming {
    let between = FolderEntry(folder: from.folder, name: EntryName.temporary())
    return Renaming(renames: [(from, between, .toFree), (between, to, .toFree)])
  }

  /// The renames of a cycle by exchange. At any moment, each entry has one of the cycle's names.
  static func exchanging(_ circle: [Relocation]) -> Renaming {
    Renaming(renames: circle.dropLast().map { (circle[0].from, $0.to, .exchange) })
  }

  /// The renames of a cycle on a file system that cannot exchange.
  static func turning(_ circle: [Relocation]) -> Renaming {
    let between = FolderEntry(folder: circle[0].from.folder, name: EntryName.temporary())
    return Renaming(
      renames: [(circle[0].from, between, .toFree)]
        + circle.dropFirst().reversed().map { ($0.from, $0.to, .toFree) }
        + [(between, circle[0].to, .toFree)])
  }

  /// Performs the renames. If one fails, undoes the earlier ones. The error names an entry that could not be put back.
  func perform(_ folders: OpenFolders) throws(RenamingFailure) {
    for (index, rename) in renames.enumerated() {
      let result = Renaming.rename(rename, folders)
      if result == 0 { continue }
      throw RenamingFailure(
        failure: Failure(-result), isFirst: index == 0,
        stranded: Renaming(renames: Array(renames[..<index])).undo(folders))
    }
  }

  /// Undoes the renames. Returns the present name of an entry that could not be put back.
  func undo(_ folders: OpenFolders) -> FolderEntry? {
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
  /// Whether the first rename failed, so that another method may work.
  let isFirst: Bool
  /// The present name of an entry that could not be put back.
  let stranded: FolderEntry?
}
