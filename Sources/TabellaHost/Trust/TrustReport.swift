import Tabella
import TabellaBridge
import TabellaFiles
import TabellaLoading

/// The facts about a trusted library, determined without running its code.
public struct TrustReport {
  /// The library, checked and open.
  package let library: CheckedLibrary
  /// The owner of the file.
  public let owner: UInt32
  /// The mode of the file.
  public let mode: UInt32
  /// The pin that the library matches, if it has one.
  public let pin: Pins.Pin?

  /// The SHA-256 of the file.
  public func sha256() throws(TableError) -> String {
    let digest = try SHA256.digest(ofFile: library.descriptor)
    try library.checkUnchanged()
    return digest
  }
}

extension Host {
  /// Checks the library of a provider and holds it open, so that `Library.load` loads exactly the checked file. Runs
  /// none of its code.
  ///
  /// Throws `TableError`: `.denied` if the library is not trusted or does not match its pin, `.noProvider` if it does
  /// not export the entry point of a provider.
  public func report(on entry: Catalogue.Entry) throws(TableError) -> TrustReport {
    try report(
      at: entry.library, id: entry.manifest.id, pins: entry.isShipped ? [] : pinned.get())
  }

  /// Like ``report(on:)``, for the library at an absolute path. It needs no manifest.
  public func report(onLibraryAt path: String) throws(TableError) -> TrustReport {
    try report(at: path, id: nil, pins: pinned.get())
  }

  /// Checks the library of a provider like ``report(on:)``. The error for an untrusted library also names other
  /// providers to choose from.
  func checkChosen(_ entry: Catalogue.Entry) throws(TableError) -> CheckedLibrary {
    do throws(TableError) { return try report(on: entry).library } catch {
      throw error.code == .denied ? catalogue.refused(error, entry.manifest.id) : error
    }
  }

  /// The permissions of a provider in a worker, in addition to its location.
  ///
  /// The host grants all permissions that the manifest requests if the provider ships with Tabella, or if the user
  /// pinned it while it requested exactly these. Otherwise it grants none.
  public func grantedPermissions(for entry: Catalogue.Entry) -> Manifest.Permissions {
    let requested = entry.manifest.permissions
    if entry.isShipped { return requested }
    return pin(of: entry)?.permissions == requested ? requested : .none
  }

  /// The pin of an added provider, whether or not its library matches.
  public func pin(of entry: Catalogue.Entry) -> Pins.Pin? {
    guard !entry.isShipped, case .success(let pins) = pinned else { return nil }
    return pins.first { $0.id == entry.manifest.id }
  }

  /// A new pin for the current library of an added provider. It ignores an earlier pin. Throws the other errors of
  /// ``report(on:)``.
  public func newPin(for entry: Catalogue.Entry) throws(TableError) -> Pins.Pin {
    let report = try self.report(at: entry.library, id: entry.manifest.id, pins: [])
    return Pins.Pin(
      id: entry.manifest.id, library: report.library.path, sha256: try report.sha256(),
      permissions: entry.manifest.permissions)
  }

  private func report(
    at path: String, id: String?, pins: [Pins.Pin]
  ) throws(TableError) -> TrustReport {
    let trust = TrustCheck(installation: installation)
    let file: TrustCheck.File
    do throws(TableError) {
      file = try trust.open(path, for: .library)
    } catch {
      throw error.code == .notFound ? TableError(.noProvider, error.message) : error
    }
    let library = try CheckedLibrary(taking: file.descriptor.release(), path: file.path)
    for folder in library.searched {
      try trust.checkNeeded(folder, "\(library.path): its search path (RUNPATH) \(folder)")
    }
    for needed in library.neededPaths {
      try trust.checkNeeded(needed, "\(library.path): a library that it needs, \(needed),")
    }
    let pin = pins.first { $0.id == id || $0.library == library.path }
    let report = TrustReport(library: library, owner: file.owner, mode: file.mode, pin: pin)
    if let pin {
      let digest = try report.sha256()
      guard digest == pin.sha256 else {
        throw untrusted(
          library.path, "pin",
          "its SHA-256 is \(digest), but \(pin.sha256) was pinned for \(pin.id)"
        ).with(.pinAgain(provider: pin.id))
      }
    }
    return report
  }
}
