import Foundation

@testable import TabellaHost

typealias Manifest = TabellaHost.Manifest

/// The text of a shipped manifest, by its path under Plugins.
func shippedManifest(_ path: String) throws -> [UInt8] {
  Array(try Data(contentsOf: URL(fileURLWithPath: "\(packageFolder)/Plugins/\(path)")))
}
