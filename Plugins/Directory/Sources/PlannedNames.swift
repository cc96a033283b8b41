import CTabellaSystem
import Tabella

/// The names that become free in a plan, and those that are taken.
struct PlannedNames {
  /// What is in the way of a name.
  enum Obstacle {
    /// The plan gives it to something else.
    case planned
    /// Something has it that keeps it.
    case entry(tabella_status)
  }

  private var freed: Set<FolderEntry> = []
  private var taken: Set<FolderEntry> = []

  /// Notes that a name becomes free; returns whether that is new.
  @discardableResult mutating func free(_ place: FolderEntry) -> Bool {
    freed.insert(place).inserted
  }

  /// Notes that a name is taken; returns what is in the way. To be asked when all is noted that becomes
  /// free.
  mutating func take(
    _ place: FolderEntry, in folders: OpenFolders
  ) throws(TableError) -> Obstacle? {
    guard taken.insert(place).inserted else { return .planned }
    return freed.contains(place) ? nil : try folders.status(place).map { .entry($0) }
  }
}
