import Tabella
import TabellaFiles
import TabellaSDK

/// The provider for the lines of a text, or the bytes of a binary file. docs/providers/text.md describes it.
public struct TextProvider: Provider {
  public static let id = "text"
  public static let version = "0.1.0"
  public static let options: [OptionDeclaration] =
    [
      OptionDeclaration(
        "sections", default: "none", choices: Sectioning.allCases.map(\.rawValue),
        summary:
          "the start of a section: a blank line, or a heading (# in Markdown, [section] in INI)"
      ),
      OptionDeclaration(
        "encoding", default: "auto",
        summary: "the encoding of the file: auto, or a name that iconv knows"),
      OptionDeclaration(
        "pattern", default: "",
        summary:
          "a regular expression; each group with a name, (?<NAME>…), becomes a column of that part of the line"
      ),
    ] + SaveOptions.declarations

  public init() {}

  public func open(_ request: OpenRequest) throws(TableError) -> any TableDataSource {
    var save = SaveOptions()
    for (name, value) in request.options {
      guard let option = TextProvider.options.first(where: { $0.name == name }) else {
        throw TableError(.invalidArgument, "there is no option \(name)")
      }
      try option.check(value)
      _ = try save.take(name, value)
    }
    let encoding = request.options["encoding"].flatMap { $0 == "auto" ? nil : $0 }
    if encoding?.isEmpty == true {
      throw TableError(.invalidArgument, "option encoding cannot be empty: it must be a name")
    }
    let opened = try ShownFile.open(request.location)
    let file = opened.growingBytes()
    let pattern = try LinePattern(request.options["pattern"] ?? "")
    if encoding == nil, !(try file.looksLikeText()) {
      guard pattern == nil else {
        throw TableError(
          .invalidArgument, "option pattern works with text, and this file is not text")
      }
      return HexSource(file)
    }
    let sectioning = request.options["sections"].flatMap(Sectioning.init) ?? .none
    let reading = Reading(
      "text",
      [
        sectioning == .none ? nil : "sections \(sectioning.rawValue)",
        encoding.map { "encoding \($0)" }, pattern.map { "pattern \($0.text)" },
      ])
    return try TextSource(
      ShownFile(path: request.location, opened, save, reading: reading), file,
      encoding: encoding, sectioning: sectioning, pattern: pattern,
      headings: HeadingStyle(fileName: request.location))
  }
}

/// The kinds of section boundaries.
enum Sectioning: String, CaseIterable {
  case none, paragraphs, headings
}
