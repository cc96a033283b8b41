import Foundation
import Tabella
import TabellaHost
import Testing

/// A folder with tables of the editable provider in Tests/Ledger, and with its own receipts.
struct Ledgers {
  let folder: TemporaryFolder
  /// A table with three rows: Ada 1, Bob 2, Cy without a number.
  let file: String

  static let three = "name:text count:integer\nAda\t1\nBob\t2\nCy\t\\N\n"

  init() throws {
    folder = try TemporaryFolder()
    // In the form of the working directory.
    file = try folder.write("a.ledger", Ledgers.three).replacingOccurrences(of: "//", with: "/")
    let options = [
      "volatile:boolean", "read-only:boolean", "moves:boolean", "undoes:boolean", "ids:boolean",
      "final:boolean",
      "versions:boolean", "refuse:text", "code:integer", "remark:text", "lies:boolean",
      "fails:integer", "trouble:text", "pause:integer", "churn:boolean", "halves:boolean",
      "stops:boolean", "memory:boolean", "loses:boolean",
      "adds:boolean", "display:boolean", "acts:boolean", "keeps:boolean", "crashes:text",
    ].map { option in
      let parts = option.split(separator: ":")
      return "{\"name\":\"\(parts[0])\",\"type\":\"\(parts[1])\"}"
    }
    try folder.write(
      "ledger.tabella.json",
      """
      {"id":"ledger","version":"1","contract":"0.9","library":"\(buildFolder)/libledger.so",
       "schemes":["ledger"],"patterns":["*.ledger"],"options":[\(options.joined(separator: ","))]}
      """)
  }

  var receipts: String { folder.path + "/state/tabella/receipts" }

  /// The ids of the receipts, oldest first.
  var receiptIDs: [String] {
    receiptNames.filter { $0.hasSuffix(".receipt") }.map { String($0.dropLast(8)) }
  }

  /// The names of the receipts' files, oldest first.
  var receiptNames: [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: receipts)) ?? []).sorted()
  }

  func environment(_ more: [String: String] = [:]) -> [String: String] {
    [
      "TABELLA_PROVIDER_PATH": folder.path, "XDG_STATE_HOME": folder.path + "/state",
      "XDG_DATA_HOME": folder.path + "/data",
      "LC_ALL": "C.UTF-8", "TZ": "UTC", "SWIFT_BACKTRACE": "enable=no",
    ].merging(more) { $1 }
  }

  func tabella(_ arguments: String..., environment: [String: String] = [:]) throws -> ProgramResult
  {
    try tabella(arguments, environment: environment)
  }

  func tabella(
    _ arguments: [String], environment: [String: String] = [:], directory: String? = nil
  ) throws -> ProgramResult {
    try run(
      buildFolder + "/tabella", arguments, environment: self.environment(environment),
      directory: directory ?? folder.path)
  }

  /// Runs a shell line in the folder of the tables.
  func shell(_ line: String) throws -> ProgramResult {
    try run(
      "/bin/sh", ["-c", line],
      environment: environment(["PATH": "\(buildFolder):\(searchPath)"]), directory: folder.path)
  }

  func onTerminal(
    _ arguments: [String], answers: [(question: String, answer: String)],
    before: () throws -> Void = {}
  ) throws -> Shown {
    try runOnTerminal(
      buildFolder + "/tabella", arguments, width: 100, environment: environment(),
      directory: folder.path, answers: answers, before: before)
  }

  /// The content of the file without the line of its columns.
  func content(_ path: String? = nil) throws -> String {
    let text = try String(contentsOfFile: path ?? file, encoding: .utf8)
    return text.components(separatedBy: "\n").dropFirst().joined(separator: "\n")
  }

  func reset() throws { try folder.write("a.ledger", Ledgers.three) }
}

/// Parses the JSON object that a program printed.
func jsonObject(_ text: String) throws -> [String: Any] {
  try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
}
