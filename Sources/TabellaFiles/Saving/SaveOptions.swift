import Tabella

/// Options for saving a file that cannot or should not simply be replaced.
public struct SaveOptions: Hashable, Sendable {
  /// Whether the save overwrites the file instead of replacing it.
  ///
  /// This is for files with several names, and for files that are mount points. If the process is killed, the file
  /// can be half written; the old bytes are then stored elsewhere. See docs/saving.md.
  public var isInPlace = false
  /// The suffix that is appended to the file's name for a backup; nil for no backup.
  public var backupSuffix: [UInt8]?

  /// Creates the default options.
  public init() {}

  /// The option declarations of a provider that saves files.
  public static let declarations: [OptionDeclaration] = [
    OptionDeclaration(
      "in-place", .boolean, default: "false",
      summary: "write into the existing file instead of replacing it"),
    OptionDeclaration(
      "backup", default: "",
      summary: "keep the old file under its name plus this suffix; empty: keep no backup"),
  ]

  /// Takes the value of an option. Returns whether the option is one of these.
  ///
  /// Throws ``TableError`` with `.invalidArgument` if the value is wrong.
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
