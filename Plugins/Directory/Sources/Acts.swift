import CTabellaSystem
import Glibc
import Tabella
import TabellaFiles

/// One step of a plan whose checks have all passed.
struct Step {
  enum Act {
    case trash(FolderEntry, Identity)
    case remove(FolderEntry, Removal.Expected)
    /// Renames or moves: one entry to a free name, or all entries of a cycle.
    case relocate([Relocation])
    case create(FolderEntry, Creation)
    /// Sets the mode. With `ifStill`, the entry must still have that mode.
    case setMode(FolderEntry, Identity, UInt32, ifStill: UInt32? = nil)
    /// Sets the time. `was` is the time before all acts. With `ifStill`, the entry must still have that time.
    case setModified(FolderEntry, Identity, Moment, was: Moment, ifStill: Moment? = nil)
    case restore(Trashed, to: FolderEntry)
  }

  var act: Act
  /// The indices of the edits, or of the records of a receipt, that the step belongs to.
  var edits: [Int]

  /// The result of the step, as text for people.
  var result: String {
    switch act {
    case .trash, .remove: "deleted"
    case .relocate(let relocations):
      relocations[0].from.folder == relocations[0].to.folder ? "renamed" : "moved"
    case .create: "created"
    case .setMode: "mode set"
    case .setModified: "time set"
    case .restore: "restored"
    }
  }

  /// The numbers of the folders that the step changes.
  var folders: [Int] {
    switch act {
    case .trash(let place, _), .remove(let place, _), .create(let place, _),
      .restore(_, to: let place), .setMode(let place, _, _, _),
      .setModified(let place, _, _, _, _):
      [place.folder]
    case .relocate(let relocations): relocations.flatMap { [$0.from.folder, $0.to.folder] }
    }
  }
}

/// The properties of a new entry. Nil means the default of the system.
struct Creation {
  var kind = EntryKind.file
  var target: [UInt8] = []
  var mode: UInt32?
  var modified: Moment?
}

/// A note or a problem that belongs to an act that was done.
struct ActDiagnostic: Hashable {
  /// The kind of the problem; nil for a mere note.
  var code: TableError.Code?
  var text: String

  init(_ text: String, _ code: TableError.Code? = nil) {
    self.text = text
    self.code = code
  }

  /// A problem that appeared after the act was done.
  init(_ error: TableError) { self.init(error.message, error.code) }

  /// The file system stores another time than requested: it rounds, or cannot represent a time so far away.
  static func keeps(_ moment: Moment) -> ActDiagnostic {
    let time = Timestamp(seconds: moment.seconds, nanoseconds: Int64(moment.nanoseconds))
    return ActDiagnostic("the file system stored \(time.map { "\($0)" } ?? "another time")")
  }

  static func notDurable(_ failure: Failure) -> ActDiagnostic {
    ActDiagnostic("it may be lost in a power failure: \(failure.reason)", .io)
  }
}

/// An entry in a trash: which trash, and its name there.
struct Trashed: Hashable {
  var kind: Trash.Kind
  var name: [UInt8]
  var identity: LastingIdentity
  /// A digest of the `.trashinfo` file, which contains the former path.
  var info: UInt64
}
