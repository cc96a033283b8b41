import Foundation
import Tabella
import Testing

@testable import TabellaTestSupport

/// No text of a provider, a file or its name reaches a terminal unescaped, in any format.
@Suite struct SafetyTests {
  /// All characters that a terminal could interpret or that reorder text, alone and in combinations.
  static let evil: [[UInt8]] = {
    let controls = (Array(1..<0x20) + [0x7F]).map { [UInt8($0)] }
    let c1 = (0x80..<0xA0).map { Array(String(Unicode.Scalar(UInt8($0))).utf8) }
    let raw = [UInt8](0x80..<0xA0).map { [$0] }
    let bidi = [
      "\u{202A}", "\u{202B}", "\u{202C}", "\u{202D}", "\u{202E}", "\u{2066}", "\u{2067}",
      "\u{2068}", "\u{2069}", "\u{200E}", "\u{200F}", "\u{061C}", "\u{2028}", "\u{2029}",
      "\u{FEFF}", "\u{E0041}",
    ].map { Array($0.utf8) }
    let sequences = [
      "\u{1B}[31m", "\u{1B}]0;title\u{7}", "\u{1B}]8;;file:///\u{1B}\\x", "\u{9B}2J",
      "\u{1B}P+q\u{1B}\\", "\u{1B}[?1049h", "\u{1B}c", "\r\n\u{1B}[A", "\u{1B}]52;c;eA==\u{7}",
    ].map { Array($0.utf8) }
    return controls + c1 + raw + bidi + sequences
  }()

  /// The same characters in longer texts of limited size, with letters in between.
  static let texts: [[UInt8]] = {
    var texts: [[UInt8]] = []
    var text: [UInt8] = []
    for (number, part) in evil.enumerated() {
      text += [UInt8(ascii: "a") + UInt8(number % 26)] + part
      if text.count > 150 {
        texts.append(text)
        text = []
      }
    }
    return texts + [text]
  }()

  static let formats = [
    ["table"], ["table", "--style", "grouped"], ["table", "--style", "collection"],
    ["table", "--vertical", "always"], ["plain"], ["csv"], ["tsv"], ["json"], ["jsonl"],
    ["markdown"], ["vertical"],
  ]

  /// The first unsafe character in the output for a terminal; nil if there is none. With `isSmart`, the terminal has
  /// colours and links. Two formats have tabs between cells: every line with tabs has as many as the others.
  static func unsafeBytes(
    _ shown: Shown, isSmart: Bool, _ format: String? = nil
  ) -> String? {
    var text = shown.text
    if isSmart {
      let ours = "\u{1B}\\[[0-9;]*m|\u{1B}\\]8;;[!-~]*\u{1B}\\\\"
      text = text.replacingOccurrences(of: ours, with: "", options: .regularExpression)
    }
    guard String(validating: shown.bytes, as: UTF8.self) != nil else { return "no UTF-8" }
    var open = 0
    let hasTabs = format == "tsv" || format == "plain"
    let tabs = Set(text.split(separator: "\n").map { $0.count { $0 == "\t" } }.filter { $0 > 0 })
    guard !hasTabs || tabs.count < 2 else { return "a tab in a cell: \(text)" }
    for scalar in text.unicodeScalars {
      switch scalar.value {
      case 9 where hasTabs: break
      case 10: open = 0
      // Isolating characters come from tabella, in pairs and within one line.
      case 0x2068: open += 1
      case 0x2069 where open > 0: open -= 1
      default:
        if scalar.isUnsafeToPrint { return "U+\(String(scalar.value, radix: 16)) in \(text)" }
      }
    }
    return nil
  }

  private static func show(
    _ arguments: [String], _ folder: TemporaryFolder, isSmart: Bool
  ) throws -> Shown {
    try runOnTerminal(
      buildFolder + "/tabella", arguments, width: 100,
      environment: [
        "TERM": isSmart ? "xterm" : "dumb", "TABELLA_PAGER": "", "XDG_DATA_HOME": folder.path,
      ], directory: folder.path)
  }

  /// In cells, names of columns, titles and names of files.
  @Test(arguments: formats) func shippedProviders(_ format: [String]) throws {
    let folder = try TemporaryFolder()
    func quoted(_ text: [UInt8]) -> [UInt8] {
      [34] + text.flatMap { $0 == 34 ? [34, 34] : [$0] } + [34]
    }
    let header = Self.texts.map { quoted($0) }.joined(separator: [44])
    let cells = Self.texts.map { quoted($0 + [UInt8(ascii: ".")]) }.joined(separator: [44])
    try folder.write("evil.csv", Array(header) + [10] + Array(cells) + [10])
    let lines = Self.texts.map { $0.filter { $0 != 10 && $0 != 13 } }
    let headings = lines.map { [UInt8(ascii: "#"), 32] + $0 + [10] + $0 }
    try folder.write("evil.md", Array(headings.joined(separator: [10])))
    try FileManager.default.createDirectory(
      atPath: folder.path + "/evil", withIntermediateDirectories: true)
    for text in Self.texts {
      let name = text.filter { $0 != UInt8(ascii: "/") }.prefix(200)
      try makeFile(Array("\(folder.path)/evil/".utf8) + name)
    }
    for arguments in [
      ["evil.csv"], ["evil.md", "-o", "sections=headings"], ["evil", "--section-by", "name"],
      ["evil.csv", "evil.md", "evil"],
    ] {
      for isSmart in [false, true] {
        let shown = try Self.show(
          ["show"] + arguments + ["--format"] + format, folder, isSmart: isSmart)
        #expect(shown.status == 0 && shown.bytes.count > 80)
        #expect(Self.unsafeBytes(shown, isSmart: isSmart, format[0]) == nil, "\(arguments)")
      }
    }
  }

  private func makeFile(_ path: [UInt8]) throws {
    let descriptor = (path + [0]).withUnsafeBufferPointer { path in
      path.withMemoryRebound(to: CChar.self) {
        open($0.baseAddress!, O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
      }
    }
    #expect(descriptor >= 0)
    close(descriptor)
  }

  /// In all texts of a provider: names, titles, elements, diagnostics, errors, locations.
  @Test func aProviderThatEchoes() throws {
    let folder = try TemporaryFolder()
    let providers = folder.path + "/tabella/providers"
    try FileManager.default.createDirectory(
      atPath: providers, withIntermediateDirectories: true)
    let libraries = packageFolder + "/Tests/TabellaTests/Host/Libraries"
    _ = try compileLibrary(
      "\(libraries)/echo.c", into: folder, name: "tabella/providers/echo.so")
    try folder.write(
      "tabella/providers/echo.tabella.json",
      """
      {"id":"echo","version":"1","contract":"0.9","library":"echo.so","schemes":["echo"],
       "summary":"\\u001b[31m \\u009b \\u202e"}
      """)
    try folder.write(
      "tabella/providers/bad.tabella.json",
      "{\"id\":\"\\u001b[31m\\u202e\",\"version\":\"\\u009b\",\"contract\":\"9\"}")
    for text in Self.texts {
      // Process takes only text as arguments. The files above cover bytes that are not UTF-8.
      guard let text = String(validating: text, as: UTF8.self) else { continue }
      for isSmart in [false, true] {
        for format in Self.formats {
          let shown = try Self.show(
            ["show", "echo:\(text)", "--format"] + format, folder, isSmart: isSmart)
          #expect(shown.status == 1 && shown.bytes.count > 100)
          #expect(Self.unsafeBytes(shown, isSmart: isSmart, format[0]) == nil, "\(format)")
        }
        for arguments in [
          ["describe", "echo:\(text)"], ["describe", "echo:\(text)", "0"], ["providers"],
          ["describe", "echo"], ["show", text], ["count", "echo:", "--section", text],
          ["show", "echo:", "--at-index", text], ["show", "echo:", "--columns", text],
          ["show", "echo:", "-o", "\(text)=1"], ["show", "echo:", "--filter", text], [text],
          ["show", "--\(text)"], ["help", text],
        ] {
          let shown = try Self.show(arguments, folder, isSmart: isSmart)
          #expect(!shown.bytes.isEmpty)
          #expect(Self.unsafeBytes(shown, isSmart: isSmart) == nil, "\(arguments[0])")
        }
      }
    }
  }

  /// In a pipe, cells contain the bytes of the file.
  @Test func aPipeKeepsTheBytes() throws {
    let folder = try TemporaryFolder()
    var file = Array("a,b\n".utf8)
    for text in Self.evil {
      let needs = text.contains { [10, 13, 34, 44].contains($0) }
      let cell = needs ? [34] + text.flatMap { $0 == 34 ? [34, 34] : [$0] } + [34] : text
      file += cell + [44] + cell + [10]
    }
    try folder.write("evil.csv", file)
    let exported = try run(
      buildFolder + "/tabella", ["export", "evil.csv"], directory: folder.path)
    #expect(Array(exported.output) == file)
  }
}
