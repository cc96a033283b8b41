import Foundation
import Testing

@testable import TabellaTestSupport

/// A header that providers were compiled with never changes. docs/changing-the-contract.md explains the fixtures.
@Suite struct FrozenContractTests {
  static let fixtures = "\(packageFolder)/Tests/Fixtures"
  static let contracts = ((try? FileManager.default.contentsOfDirectory(atPath: fixtures)) ?? [])
    .filter { $0.hasPrefix("contract-") }.sorted()
  static let present = "\(packageFolder)/Sources/CTabella/include/tabella.h"

  @Test func contract0Point9IsFrozen() { #expect(Self.contracts.contains("contract-0.9")) }

  @Test(arguments: contracts) func everyDeclarationIsStillThere(_ contract: String) throws {
    let frozen = try HeaderDeclarations(ofFile: "\(Self.fixtures)/\(contract)/tabella.h")
    let present = try HeaderDeclarations(ofFile: Self.present)
    #expect(frozen.constants.count > 80 && frozen.types.count > 35 && frozen.functions.count == 1)
    #expect(frozen.complaints(about: present) == [])
  }

  /// The sizes and offsets of layout.c hold for the frozen header, too.
  @Test(arguments: contracts) func theFrozenHeaderHasTheSameLayout(_ contract: String) throws {
    let result = try run(
      findProgram("clang"),
      [
        "-std=c11", "-fsyntax-only", "-I\(Self.fixtures)/\(contract)",
        "\(packageFolder)/Sources/CTabella/layout.c",
      ])
    #expect(result.status == 0, "\(result.errors)")
  }

  /// Each alteration would break providers that were compiled before.
  @Test(arguments: [
    ("  int32_t retryable;", "  int64_t retryable;", "tabella_error"),
    (
      "  int64_t section;\n  int64_t row;", "  int64_t row;\n  int64_t section;",
      "tabella_index_path"
    ),
    ("#define TABELLA_CONFLICT 5", "#define TABELLA_CONFLICT 6", "TABELLA_CONFLICT"),
    ("\"tabella.undo/1\"", "\"tabella.undo/2\"", "TABELLA_UNDO_ID"),
    ("#define TABELLA_ROW_INSERT 4", "#define TABELLA_ROW_INSERTS 4", "TABELLA_ROW_INSERT"),
    (
      "  uint32_t reserved;    /* zero */\n} tabella_row_request;",
      "  uint32_t reserved;\n  void *more;\n} tabella_row_request;", "tabella_row_request"
    ),
    (
      "(*TABELLA_OPTIONAL cancel)(void *", "(*TABELLA_OPTIONAL cancel)(const void *",
      "tabella_source_table"
    ),
    (
      "typedef void (*tabella_notify)(void *", "typedef void (*tabella_notify)(char *",
      "tabella_notify"
    ),
    (
      "int32_t tabella_provider_entry(", "int64_t tabella_provider_entry(", "tabella_provider_entry"
    ),
    ("struct ArrowSchema *TABELLA_NULLABLE dictionary;", "", "ArrowSchema"),
    (
      "#define TABELLA_CONTRACT_OLDEST 0x00000009u", "#define TABELLA_CONTRACT_OLDEST 0x0000000Au",
      "TABELLA_CONTRACT_OLDEST"
    ),
  ])
  func anAlterationIsFound(_ old: String, _ new: String, _ name: String) throws {
    let text = try String(contentsOfFile: Self.present, encoding: .utf8)
    #expect(text.contains(old), "the header has no \(old)")
    let altered = HeaderDeclarations(of: text.replacingOccurrences(of: old, with: new))
    let complaints = HeaderDeclarations(of: text).complaints(about: altered)
    #expect(
      complaints.count == 1 && complaints.first?.hasPrefix("\(name) ") == true, "\(complaints)")
  }

  /// Comments, line breaks and annotations of pointers are no part of a layout.
  @Test func additionsAndCommentsAreAllowed() throws {
    let text = try String(contentsOfFile: Self.present, encoding: .utf8)
    let longer =
      text.replacingOccurrences(of: "TABELLA_NULLABLE ", with: "")
      .replacingOccurrences(of: "/* zero */", with: "/* none */")
      + "#define TABELLA_NEW_ID \"tabella.new/1\"\ntypedef struct tabella_new {\n  int x;\n} tabella_new;\n"
    let complaints = HeaderDeclarations(of: text).complaints(about: HeaderDeclarations(of: longer))
    #expect(complaints == [])
  }
}

/// The constants, types and functions of a C header, without comments, line breaks and annotations.
struct HeaderDeclarations {
  var constants: [String: String] = [:]
  var types: [String: String] = [:]
  var functions: [String: String] = [:]

  /// Constants that differ between versions, or have no meaning outside the header.
  private static let free = annotations + ["TABELLA_CONTRACT_VERSION", "TABELLA_H"]

  /// Annotations of pointers.
  private static let annotations = [
    "TABELLA_NONNULL", "TABELLA_NULLABLE", "TABELLA_REQUIRED", "TABELLA_OPTIONAL",
  ]

  init(ofFile path: String) throws {
    self.init(of: try String(contentsOfFile: path, encoding: .utf8))
  }

  init(of header: String) {
    let text = Self.withoutComments(header).replacingOccurrences(of: "\\\n", with: " ")
    var code = ""
    for line in text.split(separator: "\n") {
      guard line.hasPrefix("#") else {
        code += line + "\n"
        continue
      }
      let words = line.split(separator: " ", maxSplits: 2).map(String.init)
      guard words[0] == "#define", !Self.free.contains(words[1]) else { continue }
      let name = words[1].prefix { $0 != "(" }
      constants[String(name)] = Self.normal(words.dropFirst().joined(separator: " "))
    }
    for declaration in Self.declarations(code) { add(Self.normal(declaration)) }
  }

  /// The complaints about a later header: each names the declaration that changed or is missing.
  func complaints(about later: HeaderDeclarations) -> [String] {
    func compare(_ old: [String: String], _ new: [String: String]) -> [String] {
      old.filter { new[$0.key] != $0.value }.map { name, text in
        "\(name) was \(text), is \(new[name] ?? "missing")"
      }
    }
    return
      (compare(constants, later.constants) + compare(types, later.types)
      + compare(functions, later.functions)).sorted()
  }

  private mutating func add(_ declaration: String) {
    let words = declaration.split(separator: " ").map(String.init)
    guard let first = words.first else { return }
    if first == "struct" {
      types[words[1]] = declaration
    } else if declaration.hasPrefix("typedef struct"), let name = words.last {
      types[name] = declaration
    } else if first == "typedef", let star = words.firstIndex(of: "*") {
      types[words[star + 1]] = declaration
    } else if let parenthesis = words.lastIndex(of: "("), words[..<parenthesis].count > 0 {
      let open = words.firstIndex { $0.hasPrefix("tabella_") } ?? parenthesis
      functions[words[open]] = declaration
    }
  }

  /// The declarations at the top level, without their semicolons.
  private static func declarations(_ code: String) -> [String] {
    var found: [String] = []
    var (current, depth) = ("", 0)
    for character in code.replacingOccurrences(of: "extern \"C\" {", with: "") {
      if character == "{" { depth += 1 }
      if character == "}" { depth -= 1 }
      if depth < 0 {
        depth = 0
        continue
      }
      guard character == ";", depth == 0 else {
        current.append(character)
        continue
      }
      found.append(current)
      current = ""
    }
    return found
  }

  private static func withoutComments(_ text: String) -> String {
    var rest = text[...]
    var result = ""
    while let start = rest.range(of: "/*"),
      let end = rest.range(of: "*/", range: start.upperBound..<rest.endIndex)
    {
      result += rest[..<start.lowerBound]
      rest = rest[end.upperBound...]
    }
    return result + rest
  }

  /// The words of a text with one space between them. Annotations of pointers are left out.
  private static func normal(_ text: String) -> String {
    var spaced = ""
    for character in text {
      spaced += "(){}*,;".contains(character) ? " \(character) " : String(character)
    }
    return spaced.split(whereSeparator: \.isWhitespace)
      .filter { !annotations.contains(String($0)) }
      .filter { !$0.hasPrefix("__attribute__") }.joined(separator: " ")
  }
}
