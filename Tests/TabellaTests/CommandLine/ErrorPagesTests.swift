import Foundation
import Tabella
import Testing

@testable import TabellaCLI
@testable import TabellaTestSupport

/// docs/errors.md lists every error code, and every message that asks the user to act.
@Suite struct ErrorPagesTests {
  private static let page = "docs/errors.md"

  @Test func thePageAgreesWithTheSources() throws {
    let problems = try Self.problems(in: DocumentationTests.text(Self.page))
    #expect(problems.isEmpty, "\(problems.joined(separator: "\n"))")
  }

  /// The comparison detects each of these edits of the page.
  @Test(arguments: [
    ("| `conflict` | 5 |", "| `conflicts` | 5 |", "conflict (5) is not on the page"),
    ("| `conflict` | 5 |", "| `conflict` | 6 |", "conflict (5) is not on the page"),
    ("| `io` | 8 | reading", "| `oi` | 8 | reading", "oi is no code"),
    ("| `usage` |", "| `use` |", "usage is not on the page"),
    (
      "the provider broke the contract | the host | 3 |",
      "the provider broke the contract | the host | 4 |", "misbehaved ends with status 3"
    ),
    (
      "`use --weak-isolation to edit anyway`", "`--strong-isolation`", "no message says --strong-"
    ),
    ("`use --weak-isolation to edit anyway`", "a message", "to edit anyway"),
    ("`build the provider again`", "`build it some day`", "build it some day"),
  ])
  func aFaultInThePageIsDetected(_ old: String, _ new: String, _ complaint: String) throws {
    let text = try DocumentationTests.text(Self.page)
    let range = try #require(text.range(of: old), "\(old) is not on the page")
    let problems = try Self.problems(in: text.replacingCharacters(in: range, with: new))
    #expect(problems.contains { $0.contains(complaint) }, "\(problems)")
  }

  /// The scanner finds the texts of messages in any form of Swift literal.
  @Test func literalsAreFound() {
    let source = #"""
      throw "a \(b ? "c" : "d(") e"
        + "f; g" // no "comment"
      let text = Text(summary: "h", """
        i \(j)
        """)
      """#
    let literals = SourceLiterals(source).found.map(\.text)
    #expect(literals == ["a … ef; g", "c", "d(", "h", "\n  i …\n  "])
  }

  // The comparison

  private static func problems(in page: String) throws -> [String] {
    let messages = try messages.get()
    return try problemsOfCodes(in: page)
      + problemsOfMessages(fragments(in: page), messages: messages)
      + problemsOfOptions(in: page, messages: messages)
  }

  /// Rows of a Markdown table under a heading, as cells.
  private static func rows(of page: String, under heading: String) -> [[String]] {
    let part = page.components(separatedBy: "\n## \(heading)\n").dropFirst().first ?? ""
    let section = part.components(separatedBy: "\n## ")[0]
    return section.components(separatedBy: "\n").filter { $0.hasPrefix("| `") }.map { line in
      line.components(separatedBy: " | ").map {
        $0.trimmingCharacters(in: CharacterSet(charactersIn: "| `"))
      }
    }
  }

  private static func problemsOfCodes(in page: String) throws -> [String] {
    let listed = rows(of: page, under: "Codes")
    var problems: [String] = []
    let declarations = try DocumentationTests.text("Sources/Tabella/TableError.swift")
    let codes = declarations.matches(of: /static let `?[a-zA-Z]+`? = Code\(rawValue: (\d+)\)/)
      .compactMap { Int32($0.1) }.map(TableError.Code.init(rawValue:))
    var names: Set<String> = []
    for code in codes {
      names.insert(code.name)
      guard let row = listed.first(where: { $0[0] == code.name && $0[1] == "\(code.rawValue)" })
      else {
        problems.append("\(code.name) (\(code.rawValue)) is not on the page")
        continue
      }
      let status = ExitStatus.of(TableError(code, "")).code
      if row[4] != "\(status)" { problems.append("\(code.name) ends with status \(status)") }
    }
    if codes.count < 10 { problems.append("the codes are not found in the sources") }
    // The command line's own codes are literals of `Failure`.
    for (path, text) in try sources() where path.contains("TabellaCLI") {
      for match in text.matches(of: /code: "([a-z-]+)"/) { names.insert(String(match.1)) }
    }
    // Nobody sees the code of a failure that is not printed.
    names.remove("reader-left")
    problems += names.subtracting(listed.map { $0[0] }).map { "\($0) is not on the page" }
    problems += Set(listed.map { $0[0] }).subtracting(names).map { "\($0) is no code" }
    return problems
  }

  /// The quoted fragments of messages: code in the first cells of the tables that follow the heading Command line.
  private static func fragments(in page: String) -> [String] {
    let tables = page.components(separatedBy: "\n## Command line\n").last ?? ""
    return tables.components(separatedBy: "\n").filter { $0.hasPrefix("| `") }.flatMap { line in
      line.components(separatedBy: " | ")[0].matches(of: /`([^`]+)`/).map { String($0.1) }
    }
  }

  private static func problemsOfMessages(_ fragments: [String], messages: Messages) -> [String] {
    var problems = fragments.filter { !messages.text.contains($0) }.map { "no message says \($0)" }
    problems += messages.advising.filter { message in
      !fragments.contains { message.contains($0) }
    }.map { "no row is about: \($0)" }
    if fragments.count < 50 { problems.append("the page quotes \(fragments.count) messages") }
    return problems
  }

  private static func problemsOfOptions(in page: String, messages: Messages) -> [String] {
    let options = messages.advising.flatMap { message in
      message.matches(of: /(?:^|[^\w-])(--[a-z][a-z-]*|-o [a-z]+)/).map { String($0.1) }
    }
    return Set(options).filter { !page.contains($0) }.map { "no row names \($0)" }
  }

  /// Whether a message tells its reader what to do.
  private static func asksToAct(_ message: String) -> Bool {
    message.contains(" ") && !message.hasPrefix("tabella ") && message.contains(advice)
  }

  nonisolated(unsafe) private static let advice = try! Regex(
    [
      #"(^|[^\w-])(--[a-z]|-o [a-z])"#, #"\bch(mod|own|attr)\b"#,
      "tabella (log|undo|providers|apply|insert|help)", "iconv|ulimit|XDG_",
      "(try|open it|read it|pin|start|start it) again", #"\bsee\b"#, #"(^|[;:,(] )(or )?say\b"#,
      #"[;:] [^;:,]*\bfirst$"#, #"\bleave\b.* out\b"#, "another batch|rebuild|did you mean",
      "instead$|instead of moving",
      "[,;] (write|move|name|put|close|take|set|remove|repair|link|save|copy|redirect|commit"
        + #"|insert|read|look|choose|delete)\b"#,
    ].joined(separator: "|"))

  // The sources

  /// Parts of paths whose literals are help, protocol, or findings of `check`, which docs/check.md describes.
  private static let otherFolders = [
    "/Manual/", "/Options/", "/Completion/", "/Tracing/", "/Probing/", "TabellaConformance/",
    "TabellaChecking/", "Commands/Check.swift", "CallWords.swift",
  ]

  private static func sources() throws -> [(path: String, text: String)] {
    var sources: [(path: String, text: String)] = []
    for root in ["Sources", "Plugins"] {
      let files = FileManager.default.enumerator(atPath: "\(packageFolder)/\(root)")
      for case let path as String in try #require(files)
      where path.hasSuffix(".swift") || path.contains("CTabellaSystem/") && path.hasSuffix(".c") {
        sources.append(("\(root)/\(path)", try DocumentationTests.text("\(root)/\(path)")))
      }
    }
    return sources
  }

  /// The texts of messages, with `…` for each interpolation.
  private struct Messages {
    /// All messages, one per line.
    let text: String
    /// The messages that tell their reader what to do.
    let advising: [String]
  }

  /// The messages of the sources, read once for all tests.
  private static let messages = Result { () throws -> Messages in
    let messages = try sources()
      .filter { path, _ in !otherFolders.contains { path.contains($0) } }
      .flatMap { SourceLiterals($0.text).found }
      .filter { !$0.isMultiline && !["summary:", "detail:"].contains($0.label) }.map(\.text)
    return Messages(
      text: messages.joined(separator: "\n"), advising: messages.filter(asksToAct))
  }
}

/// The string literals in a text of Swift.
private struct SourceLiterals {
  struct Literal {
    /// The text, with `…` for each interpolation. Literals joined by `+` are one literal.
    var text: String
    let isMultiline: Bool
    /// The argument label in front of the literal, with its colon. Empty if there is none.
    let label: String
  }

  private(set) var found: [Literal] = []
  private let source: [UInt8]
  private var position = 0
  /// The end of the last literal in `source`, and its index in `found`.
  private var last: (end: Int, number: Int)?

  init(_ text: String) {
    source = Array(text.utf8)
    scanCode(isNested: false)
  }

  private func has(_ text: StaticString) -> Bool {
    guard position + text.utf8CodeUnitCount <= source.count else { return false }
    for offset in 0..<text.utf8CodeUnitCount
    where source[position + offset] != text.utf8Start[offset] { return false }
    return true
  }

  /// Scans code to its end, or to the parenthesis that ends an interpolation.
  private mutating func scanCode(isNested: Bool) {
    var depth = 0
    while position < source.count {
      switch source[position] {
      case UInt8(ascii: "/") where has("//"):
        position = source[position...].firstIndex(of: 10) ?? source.count
        continue
      case UInt8(ascii: "\""), UInt8(ascii: "#"):
        if has("\"") || has("#\"") {
          scanLiteral()
          continue
        }
      case UInt8(ascii: "("): depth += 1
      case UInt8(ascii: ")"):
        depth -= 1
        if isNested, depth < 0 {
          position += 1
          return
        }
      default: break
      }
      position += 1
    }
  }

  private mutating func scanLiteral() {
    let start = position
    let isRaw = has("#")
    position += isRaw ? 1 : 0
    let isMultiline = has("\"\"\"")
    let quote: StaticString =
      isMultiline ? (isRaw ? "\"\"\"#" : "\"\"\"") : (isRaw ? "\"#" : "\"")
    position += isMultiline ? 3 : 1
    let continued = continues(at: start)
    let number = continued ?? found.count
    if continued == nil {
      found.append(Literal(text: "", isMultiline: isMultiline, label: label(before: start)))
    }
    var bytes: [UInt8] = []
    while position < source.count, !has(quote) {
      if !isRaw, has("\\(") {
        bytes += "…".utf8
        position += 2
        scanCode(isNested: true)
      } else if !isRaw, has("\\") {
        bytes += source[(position + 1)...].prefix(1)
        position += 2
      } else {
        bytes.append(source[position])
        position += 1
      }
    }
    position += quote.utf8CodeUnitCount
    found[number].text += String(decoding: bytes, as: UTF8.self)
    last = (position, number)
  }

  /// The index of the previous literal, if only a `+` separates it from the literal at `start`.
  private func continues(at start: Int) -> Int? {
    guard let last, last.end <= start else { return nil }
    let between = source[last.end..<start].filter { $0 != 32 && $0 != 10 }
    return between == Array("+".utf8) ? last.number : nil
  }

  private func label(before start: Int) -> String {
    let code = source[..<start].reversed().drop { $0 == 32 || $0 == 10 }
    guard code.first == UInt8(ascii: ":") else { return "" }
    let name = code.dropFirst().prefix { $0 >= UInt8(ascii: "a") && $0 <= UInt8(ascii: "z") }
    return String(decoding: name.reversed(), as: UTF8.self) + ":"
  }
}
