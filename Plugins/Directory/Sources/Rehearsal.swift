import CTabellaSystem
import Tabella
import TabellaFiles

/// Tries acts in the order in which they would be done, without a trace: whether what is new finds room, with
/// what the acts before take and give up, and whether a copy can have all that the original has.
final class Rehearsal {
  private let folders: OpenFolders
  private let cancel: CancelFlag
  private let trial = RoomTrial()

  init(_ folders: OpenFolders, _ cancel: CancelFlag) {
    self.folders = folders
    self.cancel = cancel
  }

  /// Returns what there would be to say of an act; throws why it would fail.
  func perform(_ act: Step.Act) throws(TableError) -> [ActDiagnostic] {
    try cancel.check()
    switch act {
    case .remove(_, let expected):
      let status = expected.status
      // A file with other names stays.
      if status.links == 1 || EntryKind(mode: status.mode) == .directory {
        trial.free(Int(clamping: status.room), onDevice: status.device)
      }
    case .relocate(let relocations):
      guard let relocation = relocations.first, relocation.isAcross else { break }
      return try CopyAcross(relocation.from, folders, cancel)
        .tryOut(relocation.identity, to: relocation.to, trial)
    case .create(let place, _):
      let folder = folders[place.folder]
      try trial.tryFile(
        ofSize: 0, in: folder.descriptor, onDevice: folder.status.device,
        failing: "\(folders.text(place)) cannot be created")
    case .trash, .setMode, .setModified, .restore: break
    }
    return []
  }
}
