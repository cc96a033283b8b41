import Tabella

/// How a file is saved that cannot be, or shall not be, simply replaced.
public struct SaveOptions: Hashable, Sendable {
  /// Whether the file is rewritten where it is: for one with several names, or that is mounted by
  /// itself. A kill may then leave it half written, with the old bytes kept beside; see
  /// docs/saving.md.
  public var isInPlace = false
  /// What a copy of the old file is called: the file's name with this behind it; nil for none.
  public var backupSuffix: [UInt8]?

  public init() {}

  /// The options of a provider that saves files.
  public static let declarations: [OptionDeclaration] = [
    OptionDeclaration(
      "in-place", .boolean, default: "false",
      summary: "rewrite a file where it is instead of replacing it"),
    OptionDeclaration(
      "backup", default: "",
      summary: "keep the old file under its name with this suffix; empty: do not"),
  ]

  /// Takes an option if it is one of these, and says whether it is. Throws ``TableError`` with
  /// `.invalidArgument` if its value is wrong.
  public mutating func take(_ name: String, _ value: String) throws(TableError) -> Bool {
    switch name {
    case "in-place": isInPlace = OptionDeclaration.boolean(value) ?? false
    case "backup":
      guard !value.utf8.contains(UInt8(ascii: "/")), !value.utf8.contains(0) else {
        throw TableError(
          .invalidArgument, "option backup cannot be \"\(value)\": it is a suffix, without /")
      }
      backupSuffix = value.isEmpty ? nil : Array(value.utf8)
    default: return false
    }
    return true
  }
}
