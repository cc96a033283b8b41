import Glibc
import Tabella
import TabellaHost
import TabellaSystem

/// The state of a regular file, for the question whether its bytes are still the same.
struct FileState {
  private let status: stat
  /// Whether a later change gets another time.
  private let isSettled: Bool

  /// The state of the file that a location names; nil if it names none.
  init?(of location: Location) {
    let paths = [location.bytes, location.schemeAndRest?.rest].compactMap { $0 }
    guard let status = paths.lazy.compactMap(FileState.file).first else { return nil }
    self.status = status
    isSettled = status.isSettled
  }

  private static func file(_ path: [UInt8]) -> stat? {
    guard !path.isEmpty, !path.contains(0), let status = stat(at: path), status.kind == S_IFREG
    else { return nil }
    return status
  }

  /// Whether the file has surely kept its bytes up to a later state.
  func isKept(in later: FileState) -> Bool {
    isSettled && status.isSameFile(as: later.status) && status.st_size == later.status.st_size
      && status.st_mtim.isEqual(to: later.status.st_mtim)
      && status.st_ctim.isEqual(to: later.status.st_ctim)
  }
}

extension timespec {
  fileprivate func isEqual(to other: timespec) -> Bool {
    tv_sec == other.tv_sec && tv_nsec == other.tv_nsec
  }
}
