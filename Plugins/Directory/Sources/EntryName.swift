import Tabella
import TabellaFiles

/// The rules for names of entries.
enum EntryName {
  private static let longest = 255

  /// Throws ``TableError`` with the code `.constraint` and the broken rule.
  static func check(_ name: [UInt8]) throws(TableError) {
    func refuse(_ rule: String) -> TableError {
      TableError(.constraint, rule, column: DirectoryColumn.name.rawValue)
    }
    if name.isEmpty { throw refuse("a name cannot be empty") }
    if name == Array(".".utf8) || name == Array("..".utf8) {
      throw refuse("a name cannot be . or ..")
    }
    if name.contains(UInt8(ascii: "/")) {
      throw refuse("\(readable(name)): a name cannot contain a slash")
    }
    if name.contains(0) { throw refuse("\(readable(name)): a name cannot contain a NUL") }
    if name.count > longest {
      throw refuse("a name has \(longest) bytes at most, this one \(name.count)")
    }
  }

  /// A random name for a temporary entry, which nobody can predict.
  static func temporary() -> [UInt8] {
    TemporaryFile.randomName().dropLast().map { UInt8(bitPattern: $0) }
  }
}
