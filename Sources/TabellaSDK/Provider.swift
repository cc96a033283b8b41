@_exported import CTabella
@_exported import Tabella
import TabellaBridge

/// A provider: what a library offers to a host.
///
/// Conform a type, then export it from the library with one function:
///
///     @c @implementation
///     public func tabella_provider_entry(_ entry: UnsafeMutablePointer<tabella_entry>) -> Int32 {
///       MyProvider.export(to: entry)
///     }
///
/// The library needs a manifest next to it (docs/writing-a-provider.md).
public protocol Provider: SendableMetatype {
  /// The id in the manifest: short, printable ASCII.
  static var id: String { get }
  /// The provider's own version, for people.
  static var version: String { get }
  /// The options that ``open(_:)`` understands; the same as in the manifest. The default is none.
  static var options: [OptionDeclaration] { get }

  /// Makes the provider, once a process. No I/O, no threads.
  init()

  /// Opens a location. The host has checked the options against the manifest; check them again only
  /// as far as it matters to you. A ``ProviderSource`` is the easiest thing to return.
  func open(_ request: OpenRequest) throws(TableError) -> any TableDataSource
}

extension Provider {
  public static var options: [OptionDeclaration] { [] }

  /// Answers a host's call of `tabella_provider_entry`.
  public static func export(to entry: UnsafeMutablePointer<tabella_entry>) -> Int32 {
    let provider = Self()
    return exportProvider(to: entry, id: id, version: version, options: options) {
      request throws(TableError) in try provider.open(request)
    }
  }
}
