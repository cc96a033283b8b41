import CTabellaSystem
import Tabella

/// The names that a plan frees and takes.
struct PlannedNames {
  /// The reason why a name is not available.
  enum Obstacle {
    /// The plan already gives the name to another entry.
    case planned
    /// An existing entry keeps the name.
    case entry(tabella_status)
  }

  private var freed: Set<FolderEntry> = []
  private var taken: Set<FolderEntry> = []

  /// Marks a name as free. Returns false if it was marked before.
  @discardableResult mutating func free(_ place: FolderEntry) -> Bool {
    freed.insert(place).inserted
  }

  /// Marks a name as taken. Returns the obstacle, or nil. Call it only after all calls of ``free(_:)``.
  mutating func take(
    _ place: FolderEntry, in folders: OpenFolders
  ) throws(TableError) -> Obstacle? {
    guard taken.insert(place).inserted else { return .planned }
    return freed.contains(place) ? nil : try folders.status(place).map { .entry($0) }
  }
}
