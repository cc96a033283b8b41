import CTabellaSystem
import Glibc
import Tabella
import TabellaSystem

/// The place of the program or library that contains the host. The host finds the shipped providers and the program
/// `tabella-worker` relative to it, and trusts the libraries there like the program or library itself.
///
/// A program needs ``program``, which is the default. A library that contains the host, and that other programs load, names
/// itself by the address of one of its own functions or variables:
///
///     let here = Installation(ofLibraryContaining: #dsohandle) ?? .program
///     let host = Host(searchPath: .standard(for: here))
///
/// The value is a path. Any thread may use it.
public struct Installation: Hashable, Sendable {
  private enum Kind: Hashable {
    case program
    case library
  }

  /// The real path of the program or library; nil if it is unknown, because `/proc` is not mounted.
  public let path: String?
  private let kind: Kind

  /// The program of this process.
  public static let program = Installation(path: realPath("/proc/self/exe"), kind: .program)

  private init(path: String?, kind: Kind) {
    self.path = path
    self.kind = kind
  }

  /// The loaded library that contains an address. Nil if no library contains it, or if its file was moved since then.
  public init?(ofLibraryContaining address: UnsafeRawPointer) {
    guard let name = tabella_system_library_of(address),
      let path = realPath(String(cString: name))
    else { return nil }
    self.init(path: path, kind: .library)
  }

  /// The folder of the program or library.
  public var folder: String? {
    path.flatMap { path in path.lastIndex(of: "/").map { String(path[..<$0]) } }
  }

  /// The folders of the shipped libraries, in order: the own folder, as in a build folder, and the one of an installation.
  public var providerFolders: [String] {
    folder.map { [$0, $0 + (kind == .program ? "/../lib" : "") + "/tabella/providers"] } ?? []
  }

  /// The places of the program `tabella-worker`, in order.
  var workerPrograms: [String] {
    folder.map { [$0 + "/tabella-worker", $0 + "/../libexec/tabella/tabella-worker"] } ?? []
  }
}

/// The path without links and dots; nil if nothing exists there.
private func realPath(_ path: String) -> String? {
  guard let real = realpath(path, nil) else { return nil }
  defer { free(real) }
  return String(cString: real)
}
