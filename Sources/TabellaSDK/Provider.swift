@_exported import CTabella
@_exported import Tabella
import TabellaBridge

/// A provider: the object that a library exports to a host.
///
/// Conform a type to this protocol, and export it from the library with one function:
///
///     @c @implementation
///     public func tabella_provider_entry(_ entry: UnsafeMutablePointer<tabella_entry>) -> Int32 {
///       MyProvider.export(to: entry)
///     }
///
/// The library needs a manifest next to it (docs/writing-a-provider.md).
public protocol Provider: SendableMetatype {
  /// The id of the provider, as in the manifest: short, printable ASCII.
  static var id: String { get }
  /// The version of the provider, for the user.
  static var version: String { get }
  /// The options that ``open(_:)`` accepts, as in the manifest. The default is none.
  static var options: [OptionDeclaration] { get }

  /// Creates the provider, once for each host of the process. It must not do I/O or start threads.
  init()

  /// Opens a location.
  ///
  /// The host has checked the options against the manifest. Check again only what your code depends on. The easiest
  /// type to return is a `ProviderSource`. A host makes one call at a time, on any thread. All errors reach the user.
  func open(_ request: OpenRequest) throws(TableError) -> any TableDataSource
}

extension Provider {
  /// No options.
  public static var options: [OptionDeclaration] { [] }

  /// Implements `tabella_provider_entry`: fills in the entry for a host.
  public static func export(to entry: UnsafeMutablePointer<tabella_entry>) -> Int32 {
    let provider = Self()
    return exportProvider(to: entry, id: id, version: version, options: options) {
      request throws(TableError) in try provider.open(request)
    }
  }
}
