import TabellaCSV
import TabellaDirectory
@_exported import TabellaHost
import TabellaProcesses
import TabellaSDK
import TabellaText

extension LinkedProvider {
  /// Links a provider of the SDK into this program. `manifest` is the text of its manifest.
  public init<P: Provider>(_ provider: P.Type, manifest: [UInt8]) {
    self.init(id: P.id, manifest: manifest) { P.export(to: $0) }
  }

  /// A provider whose manifest the host contains.
  private init<P: Provider>(shipped provider: P.Type) { self.init(provider, manifest: []) }

  fileprivate static let csv = LinkedProvider(shipped: CSVProvider.self)
  fileprivate static let directory = LinkedProvider(shipped: DirectoryProvider.self)
  fileprivate static let processes = LinkedProvider(shipped: ProcessesProvider.self)
  fileprivate static let text = LinkedProvider(shipped: TextProvider.self)
}

extension [LinkedProvider] {
  /// The providers that ship with Tabella: CSV files, folders, processes and text files.
  public static var shipped: [LinkedProvider] { [.csv, .directory, .processes, .text] }
}
