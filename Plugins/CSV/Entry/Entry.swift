import TabellaCSV
import TabellaSDK

// The contract names it.
// swift-format-ignore: AlwaysUseLowerCamelCase
@c @implementation
public func tabella_provider_entry(_ entry: UnsafeMutablePointer<tabella_entry>) -> Int32 {
  CSVProvider.export(to: entry)
}
