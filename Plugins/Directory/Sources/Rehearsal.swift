import CTabellaSystem
import Tabella
import TabellaFiles

/// Tries the acts of a plan in order, without leaving a trace.
///
/// It checks whether new entries find space, counting the space that earlier acts use and free. It also checks whether
/// a copy can keep all attributes of the original.
final class Rehearsal {
  private let folders: OpenFolders
  private let cancel: CancelFlag
  private let trial = RoomTrial()

  init(_ folders: OpenFolders, _ cancel: CancelFlag) {
    self.folders = folders
    self.cancel = cancel
  }

  /// Returns the diagnostics that an act would have. Throws the error with which it would fail.
  func perform(_ act: Step.Act) throws(TableError) -> [ActDiagnostic] {
    try cancel.check()
    switch act {
    case .remove(_, let expected):
      let status = expected.status
      // A file with other hard links keeps its space.
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
        errorPrefix: "\(folders.text(place)) cannot be created")
    case .trash, .setMode, .setModified, .restore: break
    }
    return []
  }
}
