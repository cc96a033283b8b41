import CTabellaSystem
import Glibc
import Synchronization
import Tabella
import TabellaBridge

/// Loading of provider libraries. A library stays for the life of the process: unloading Swift code
/// crashes it later (docs/decisions/0004-never-dlclose.md).
enum Library {
  /// One load at a time in the process.
  private static let loading = Mutex(())

  /// Loads a library that was checked and returns its provider.
  ///
  /// Throws ``TableError`` with `.noProvider` if it cannot be loaded or is of another contract
  /// version, and with `.misbehaved` if it breaks the contract.
  static func load(
    _ path: String, name: String, isMinimal: Bool = false,
    log: (@Sendable (_ severity: Int, _ line: [UInt8]) -> Void)? = nil
  ) throws(TableError) -> ImportedProvider {
    // The loader's own rules are out of the way: the path is absolute and without links.
    guard let resolved = realpath(path, nil) else {
      throw TableError(.noProvider, "\(path): \(String(cString: strerror(errno)))")
    }
    defer { free(resolved) }
    let file = String(cString: resolved)
    try ELFImage.check(file, exports: providerEntrySymbol)
    let entry: ProviderEntry
    switch loading.withLock({ _ in Result { () throws(TableError) in try find(in: file) } }) {
    case .success(let found): entry = found
    case .failure(let error): throw error
    }
    do throws(TableError) {
      return try ImportedProvider(calling: entry, name: name, isMinimal: isMinimal, log: log)
    } catch {
      var error = error
      if error.code == .noProvider { error.message = "\(path): \(error.message)" }
      throw error
    }
  }

  private static func find(in file: String) throws(TableError) -> ProviderEntry {
    // Bound now, so that a missing symbol is an error here and not a dead process at the first call.
    guard let handle = tabella_system_load(file) else {
      throw TableError(.noProvider, "\(file): cannot be loaded: \(lastError())")
    }
    guard let symbol = dlsym(handle, providerEntrySymbol) else {
      throw TableError(.noProvider, "\(file): \(lastError())")
    }
    // dlsym also looks in the libraries that this one depends on.
    let owner = tabella_system_library_of(symbol).map { String(cString: $0) }
    guard let owner, isSameFile(owner, file) else {
      throw TableError(
        .noProvider, "\(file): its \(providerEntrySymbol) belongs to \(owner ?? "no file")")
    }
    return unsafeBitCast(symbol, to: ProviderEntry.self)
  }

  private static func lastError() -> String {
    dlerror().map { String(cString: $0) } ?? "the loader gives no reason"
  }
}

/// Whether two paths lead to the same file, whatever they are called.
public func isSameFile(_ left: String, _ right: String) -> Bool {
  var (first, second) = (stat(), stat())
  return stat(left, &first) == 0 && stat(right, &second) == 0
    && first.st_dev == second.st_dev && first.st_ino == second.st_ino
}
