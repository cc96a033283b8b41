import CTabellaSystem
import Glibc
import Synchronization
import Tabella
import TabellaBridge
import TabellaFiles
import TabellaSystem

/// Loads provider libraries. A library stays loaded until the process ends, because unloading Swift code causes
/// crashes later (docs/decisions/0004-never-dlclose.md).
package enum Library {
  /// A loaded library. Its file stays open. The loader identifies it by a path through the descriptor, so the
  /// descriptor must not become that of another file.
  private struct Loaded: Sendable {
    let library: CheckedLibrary
    let handle: UInt
  }

  /// The loaded libraries. The lock permits one load at a time in the process.
  private static let loaded = Mutex<[Loaded]>([])

  /// Loads a checked library, once per process, and returns its provider. This runs code of the library.
  ///
  /// `name` identifies the provider in messages until its id is known. ``ImportedProvider`` explains `isMinimal`
  /// and `log`. Throws ``TableError`` with `.noProvider` if the library cannot be loaded or has another contract
  /// version. Throws `.denied` if the file has changed since the check, and `.misbehaved` if the library breaks the
  /// contract.
  package static func load(
    _ library: CheckedLibrary, name: String, isMinimal: Bool = false,
    log: (@Sendable (_ severity: Int, _ line: [UInt8]) -> Void)? = nil
  ) throws(TableError) -> ImportedProvider {
    do throws(TableError) {
      return try ImportedProvider(
        calling: try entry(of: library), name: name, isMinimal: isMinimal, log: log)
    } catch {
      var error = error
      if error.code == .noProvider { error.message = "\(library.path): \(error.message)" }
      throw error
    }
  }

  /// The provider of a library that this process has loaded before, from the same unchanged file; otherwise nil.
  ///
  /// This checks nothing else: the process already contains the code of the file. Costs one `stat`. Throws like
  /// ``load(_:name:isMinimal:log:)``.
  package static func loaded(
    at path: String, name: String
  ) throws(TableError) -> ImportedProvider? {
    guard let status = stat(at: path) else { return nil }
    let fingerprint = Fingerprint(status)
    let known = loaded.withLock { loaded in
      loaded.first { $0.library.fingerprint == fingerprint }?.library
    }
    guard let known else { return nil }
    return try load(known, name: name)
  }

  /// Loads a checked library, once per process, and returns its entry function without calling it, for checks.
  ///
  /// This runs the library's constructors.
  package static func entry(of library: CheckedLibrary) throws(TableError) -> ProviderEntry {
    let result = loaded.withLock { loaded in
      Result { () throws(TableError) in try entry(of: library, in: &loaded) }
    }
    return unsafeBitCast(try result.get(), to: ProviderEntry.self)
  }

  /// The address of a library's entry.
  private static func entry(
    of library: CheckedLibrary, in loaded: inout [Loaded]
  ) throws(TableError) -> UInt {
    let handle = try handle(of: library, in: &loaded)
    guard let symbol = dlsym(handle, providerEntrySymbol) else {
      throw TableError(.noProvider, lastError())
    }
    // dlsym also searches the library's dependencies.
    guard tabella_system_belongs(handle, symbol) else {
      let owner = tabella_system_library_of(symbol).map { String(cString: $0) }
      throw TableError(
        .noProvider, "its \(providerEntrySymbol) is defined in \(owner ?? "no file")")
    }
    return UInt(bitPattern: symbol)
  }

  private static func handle(
    of library: CheckedLibrary, in loaded: inout [Loaded]
  ) throws(TableError) -> UnsafeMutableRawPointer {
    try library.checkUnchanged()
    if let known = loaded.first(where: { $0.library.isSameFile(as: library) }),
      let handle = UnsafeMutableRawPointer(bitPattern: known.handle)
    {
      guard known.library.fingerprint == library.fingerprint else {
        throw TableError(
          .denied,
          "\(library.path) is not trusted (changed): this process loaded the version before the change; start the program again"
        )
      }
      return handle
    }
    let handle = try open(library)
    loaded.append(Loaded(library: library, handle: UInt(bitPattern: handle)))
    return handle
  }

  /// Loads the open file, and verifies that the loader has loaded this file.
  private static func open(_ library: CheckedLibrary) throws(TableError) -> UnsafeMutableRawPointer
  {
    guard let descriptors else {
      throw TableError(.noProvider, "cannot be loaded: /proc is not mounted")
    }
    let file = "\(descriptors)/\(library.descriptor)"
    SwiftRuntime.load(library.neededRuntime)
    guard library.usesOrigin else { return try open(file) }
    // The loader takes the text in front of the last slash as $ORIGIN, so the path must lead through the folder.
    // The loaded file is verified afterwards.
    let folder = try library.openFolder()
    let handle = try open("\(descriptors)/\(folder.raw)/\(library.name)")
    // The loader now knows the library by this path too, so the folder stays open and no other one gets its number.
    _ = folder.release()
    guard tabella_system_loaded(file) == handle else {
      throw TableError(
        .denied,
        "\(library.path) is not trusted (changed): another file got its name while it was loaded; start the program again"
      )
    }
    try library.checkUnchanged()
    return handle
  }

  private static func open(_ path: String) throws(TableError) -> UnsafeMutableRawPointer {
    // Symbols are bound now, so that a missing symbol is an error here and not a crash at the first call.
    if let handle = tabella_system_load(path) { return handle }
    let reason = lastError()
    let text = reason.hasPrefix("\(path): ") ? String(reason.dropFirst(path.count + 2)) : reason
    throw TableError(.noProvider, "cannot be loaded: \(text)")
  }

  private static func lastError() -> String {
    dlerror().map { String(cString: $0) } ?? "the loader reports no reason"
  }

  /// The path of this process's descriptors, by process id, so that a debugger can open libraries by these paths.
  /// Nil if /proc is not mounted.
  private static let descriptors: String? = {
    var number = [CChar](repeating: 0, count: 16)
    let count = readlink("/proc/self", &number, number.count)
    guard count > 0, count < number.count else { return nil }
    let digits = number[..<count].map { UInt8(bitPattern: $0) }
    return "/proc/\(String(decoding: digits, as: UTF8.self))/fd"
  }()
}
