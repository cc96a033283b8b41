import Tabella
import TabellaBridge

/// A provider that is linked into this program, instead of loaded from a library.
///
/// The module `TabellaProviders` has those that ship with Tabella, and makes one of any `Provider` of the SDK:
///
///     let host = Host(linked: .shipped)
///
/// A linked provider always runs in this process, and no check of trust applies to it.
public struct LinkedProvider: Sendable {
  /// The id of the provider, as in its manifest.
  public let id: String
  /// The text of the manifest; empty for a provider that ships with Tabella, whose manifest the host contains.
  let manifest: [UInt8]
  let entry: LinkedProviderEntry

  /// Creates a linked provider from its entry function.
  package init(id: String, manifest: [UInt8], entry: @escaping LinkedProviderEntry) {
    self.id = id
    self.manifest = manifest
    self.entry = entry
  }
}
