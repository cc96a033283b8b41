import Tabella
import TabellaRemote

// Descriptions of opened tables. The descriptions of calls are in TabellaRemote, with the calls.

extension Column {
  /// `size integer in bytes`
  var traced: String {
    "\(name) \(type.name)" + (unit.map { " in \($0.rawValue)" } ?? "")
  }
}

extension OpenRequest {
  /// `planets:` or `data.csv, delimiter=;`
  var traced: String {
    let options = options.sorted { $0.key < $1.key }.map { "\($0)=\($1)" }
    return ([(scheme.map { "\($0):" } ?? "") + locationText] + options).joined(separator: ", ")
  }
}

extension TableDataSource {
  /// The columns and abilities of a source that was just opened.
  var traced: String {
    let has = AbilitySet(of: self).names + (cancellation == nil ? [] : ["cancel"])
    return "\(columns.count) columns (\(columns.shortened(12) { "\($0.traced)," }.droppingComma)); "
      + (has.isEmpty ? "no abilities" : has.joined(separator: " "))
  }
}

extension String {
  fileprivate var droppingComma: String { hasSuffix(",") ? String(dropLast()) : self }
}
