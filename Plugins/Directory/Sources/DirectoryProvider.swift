import Tabella
import TabellaSDK

/// The provider for the entries of a folder or of a tree. docs/providers/directory.md describes it.
public struct DirectoryProvider: Provider {
  public static let id = "directory"
  public static let version = "0.1.0"
  public static let options: [OptionDeclaration] = [
    OptionDeclaration(
      "hidden", .boolean, default: "false", summary: "also show names that begin with a dot"),
    OptionDeclaration(
      "recursive", .boolean, default: "false",
      summary: "include all subfolders; symbolic links are not followed"),
    OptionDeclaration(
      "sections", default: "none", choices: ["none", "folder"],
      summary: "folder makes a section per folder"),
    OptionDeclaration(
      "permanent", .boolean, default: "false",
      summary: "delete permanently instead of moving to the trash"),
    OptionDeclaration(
      "across", .boolean, default: "false",
      summary: "copy and delete if a move crosses file systems"),
  ]

  public init() {}

  public func open(_ request: OpenRequest) throws(TableError) -> any TableDataSource {
    for (name, value) in request.options {
      guard let option = DirectoryProvider.options.first(where: { $0.name == name }) else {
        throw TableError(.invalidArgument, "there is no option \(name)")
      }
      try option.check(value)
    }
    func isOn(_ name: String) -> Bool {
      request.options[name].flatMap(OptionDeclaration.boolean) ?? false
    }
    let settings = DirectorySettings(
      showsHidden: isOn("hidden"), isRecursive: isOn("recursive"),
      hasSections: request.options["sections"] == "folder", deletesForGood: isOn("permanent"),
      movesAcross: isOn("across"))
    return try DirectorySource(
      path: request.location.isEmpty ? [UInt8(ascii: ".")] : request.location, settings)
  }
}

/// The values of the options.
struct DirectorySettings {
  var showsHidden = false
  var isRecursive = false
  var hasSections = false
  var deletesForGood = false
  var movesAcross = false
  var trash = Trash.ofUser
}
