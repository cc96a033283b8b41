import Foundation
import Tabella
import TabellaTerminal
import Testing

@testable import TabellaCLI
@testable import TabellaDirectory
@testable import TabellaProcesses
@testable import TabellaTestSupport

/// Tables on a terminal, compared with reviewed files.
///
/// `TABELLA_UPDATE=1 swift test --filter GoldenTests` rewrites the files. Review the difference afterwards.
@Suite struct GoldenTests {
  static let folder = "\(packageFolder)/Tests/TabellaTests/CommandLine/Golden"
  static let widths = [20, 40, 80, 200]

  struct Golden: Sendable, CustomTestStringConvertible {
    /// The subject, which is also the name of the file.
    let name: String
    let location: String
    var options: [String] = []

    var testDescription: String { name }
  }

  static let goldens = [
    Golden(name: "csv", location: "cities.csv", options: ["--section-by", "country"]),
    Golden(name: "text", location: "notes.md", options: ["-o", "sections=headings"]),
    Golden(
      name: "directory", location: "tree",
      options: [
        "--section-by", "kind", "--columns", "name,kind,size,modified,mode,links,target",
      ]),
    Golden(
      name: "processes", location: "processes:",
      options: [
        "--filter", "parent = \(getpid())", "--filter", "arguments ~ ^golden", "--columns",
        "command,state,nice,arguments",
      ]),
  ]

  /// Creates the files to show.
  private static func fill(_ folder: TemporaryFolder) throws {
    try folder.write(
      "cities.csv",
      """
      city,country,inhabitants,note
      Bern,CH,134794,"the ""federal city"", not a capital"
      東京,JP,13960000,首都
      Genève,CH,203856,
      Kraków,PL,803282,second line\\nescaped
      القاهرة,EG,10100000,مدينة
      Zürich,CH,427721
      "New
      line",XX,0,👩‍👩‍👧 🇨🇭

      """)
    try folder.write(
      "notes.md",
      """
      before any heading

      # First
      A line that is rather long, so that it has to be cut on a narrow screen, but not on a wide one.
      \ttab and \u{1B}[31mno colour

      ## Second

      # 第三
      漢字

      """)
    let tree = folder.path + "/tree"
    for path in ["", "/docs", "/docs/empty"] {
      try FileManager.default.createDirectory(
        atPath: tree + path, withIntermediateDirectories: true)
    }
    let files = [
      ("read me.txt", 120), ("a-name-that-is-longer-than-most-columns-are-wide.tar.gz", 5_000_000),
      ("écran.png", 2048), ("docs/inside", 1),
    ]
    for (name, size) in files {
      try folder.write("tree/\(name)", [UInt8](repeating: 65, count: size))
    }
    try FileManager.default.createSymbolicLink(
      atPath: tree + "/link", withDestinationPath: "read me.txt")
    // The times and modes of all files, deepest first.
    let listed = try run("/usr/bin/env", ["find", tree, "-depth"])
    for path in listed.lines {
      _ = try run("/usr/bin/env", ["touch", "-h", "-d", "2026-01-02 03:04:05Z", path])
      chmod(path, path.hasSuffix("/link") || path.hasSuffix(".txt") ? 0o640 : 0o755)
    }
  }

  /// Starts two processes that stay unchanged.
  private static func startProcesses() throws -> [Process] {
    try ["one", "two with a blank"].map { name in
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/bin/bash")
      process.arguments = ["-c", "exec -a 'golden \(name)' sleep 1000"]
      process.standardInput = FileHandle.nullDevice
      process.standardOutput = FileHandle.nullDevice
      process.standardError = FileHandle.nullDevice
      try process.start()
      return process
    }
  }

  /// Every provider in every style at every width.
  @Test(arguments: goldens) func terminal(_ golden: Golden) throws {
    let folder = try TemporaryFolder()
    try Self.fill(folder)
    let processes = golden.name == "processes" ? try Self.startProcesses() : []
    defer { for process in processes { kill(process.processIdentifier, SIGKILL) } }
    // Waits until the processes have executed their programs.
    if !processes.isEmpty {
      for _ in 0..<200 {
        let count = try run(
          buildFolder + "/tabella", ["count", golden.location] + golden.options.prefix(4))
        if count.text == "2\n" { break }
        usleep(20_000)
      }
    }
    for style in ["plain", "grouped", "collection", "vertical"] {
      var all = ""
      for width in Self.widths {
        let shape =
          style == "vertical"
          ? ["--vertical", "always"] : ["--style", style, "--vertical", "never"]
        let shown = try runOnTerminal(
          buildFolder + "/tabella", ["show", golden.location] + golden.options + shape,
          width: width, directory: folder.path)
        #expect(shown.status == 0)
        let text = shown.text
        for line in text.split(separator: "\n") where !line.hasPrefix("tabella: ") {
          let plain = line.unicodeScalars.filter { !(0x2066...0x2069 ~= $0.value) }
          let columns = displayWidth(of: String(String.UnicodeScalarView(plain)))
          #expect(columns <= width, "\(columns) columns in \(width): \(line)")
        }
        all += "== \(width) columns\n\(text)"
      }
      try Self.compare(all, "\(golden.name)-\(style)")
    }
  }

  /// A table that became records on a narrow terminal trapped, because its rows had only the columns that fitted. The
  /// test checks that nothing crashes and that no line is too wide, at every width.
  @Test(arguments: sample(5, of: [1, 2, 5, 9, 10, 13, 15, 20, 22, 25, 31, 40, 58, 75]))
  func everyWidth(_ width: Int) throws {
    let folder = try TemporaryFolder()
    try Self.fill(folder)
    for location in ["tree", "cities.csv", "notes.md", "processes:"] {
      for shape in [
        [], ["--style", "grouped"], ["--style", "collection"], ["--vertical", "always"],
        ["--vertical", "never"], ["--vertical", "never", "--style", "grouped"],
      ] {
        let shown = try runOnTerminal(
          buildFolder + "/tabella", ["show", location, "-n", "7"] + shape, width: width,
          directory: folder.path)
        #expect(shown.status == 0, "\(location) \(shape)")
        // A frame with one column, or a glyph of two columns, needs some width.
        guard width >= 10 else { continue }
        for line in shown.text.split(separator: "\n") where !line.hasPrefix("tabella: ") {
          #expect(displayWidth(of: String(line)) <= width, "\(location) \(shape): \(line)")
        }
      }
    }
  }

  /// Without UTF-8, all lines and symbols are ASCII.
  @Test func ascii() throws {
    let folder = try TemporaryFolder()
    try Self.fill(folder)
    var all = ""
    for style in ["plain", "grouped", "collection"] {
      let shown = try runOnTerminal(
        buildFolder + "/tabella",
        ["show", "cities.csv", "--filter", "country ~ PL|CH", "--section-by", "country"]
          + ["--columns", "country,inhabitants,note", "--style", style],
        width: 40, environment: ["LC_ALL": "C"], directory: folder.path)
      #expect(shown.bytes.allSatisfy { $0 < 0x80 })
      all += shown.text
    }
    try Self.compare(all, "ascii")
  }

  /// Every colour and style ends on its line.
  @Test func colours() throws {
    let folder = try TemporaryFolder()
    try Self.fill(folder)
    let shown = try runOnTerminal(
      buildFolder + "/tabella",
      ["show", "cities.csv", "--section-by", "country", "--rows", "0..3", "--no-pager"],
      width: 60, environment: ["TERM": "xterm-256color"], directory: folder.path)
    for line in shown.text.split(separator: "\n") {
      let begun = line.components(separatedBy: "\u{1B}[").count - 1
      let ended = line.components(separatedBy: "\u{1B}[0m").count - 1
      #expect(begun == 2 * ended)
    }
    try Self.compare(
      shown.text.replacingOccurrences(of: "\u{1B}", with: "^["), "colours")
  }

  // Every provider in colour

  /// 2026-01-02T03:04:05Z
  private static let day = Timestamp(nanoseconds: 1_767_323_045_000_000_000)
  private static let colourWidths = [60, 80, 120, 200]
  private static let colours = "di=01;34:ln=01;36:ex=01;32:*.gz=01;31:*.png=01;35"

  /// The folder that the colours show, with fixed owners and sizes.
  private static var entries: InMemorySource {
    InMemorySource(
      DirectoryColumn.declarations,
      rows: [
        entry("docs", "directory", 4096, "rwxr-xr-x", links: 3),
        entry(
          "a-name-that-is-longer-than-most-columns-are-wide-and-than-many-terminals.tar.gz", "file",
          5_000_000, "rw-r--r--"),
        entry("écran.png", "file", 2048, "rw-r--r--"),
        entry("read me.txt", "file", 120, "rw-r-----"),
        entry("run", "file", 31_337, "rwxr-xr-x"),
        entry("latest", "link", 11, "rwxrwxrwx", target: "read me.txt"),
      ])
  }

  private static func entry(
    _ name: String, _ kind: String, _ size: Int64, _ mode: String, links: Int64 = 1,
    target: String? = nil
  ) -> [Cell] {
    [
      .text(name), .text(kind), .integer(size), .date(day),
      .text(mode), "anna", "staff", .integer(links), target.map { .text($0) } ?? .missing,
      // The columns on request.
      .missing, .missing,
    ]
  }

  /// The processes that the colours show.
  private static var processes: InMemorySource {
    InMemorySource(
      ProcessColumn.declarations,
      rows: [
        process(1, 0, "root", "S", 0, 0.0, 13_000_000, "systemd", "/sbin/init splash"),
        process(2, 0, "root", "I", -20, 0.0, 0, "kworker/R-rcu_gp", nil),
        process(
          417, 1, "systemd-resolve", "S", 0, 0.1, 14_500_000, "systemd-resolve",
          "/usr/lib/systemd/systemd-resolved"),
        process(
          20_311, 1, "anna", "R", 5, 99.7, 2_600_000_000, "swift-build",
          "/usr/bin/swift-build --build-tests --configuration debug --jobs 2 --package-path ."),
        process(20_312, 20_311, "anna", "D", 5, 12.5, 512_000, "cp", "cp -a data copy"),
        process(20_313, 20_311, "anna", "Z", 5, 0.0, 0, "defunct", nil),
        process(20_314, 1, "anna", "T", 0, 0.0, 40_000_000, "vim", "vim notes.md"),
      ])
  }

  private static func process(
    _ pid: Int64, _ parent: Int64, _ user: String, _ state: String, _ nice: Int64, _ cpu: Double,
    _ memory: Int64, _ command: String, _ arguments: String?
  ) -> [Cell] {
    [
      .integer(pid), .integer(parent), .text(user), .text(state), .integer(nice), .real(cpu),
      .integer(memory), .date(day), .text(command),
      arguments.map { .text($0) } ?? .missing,
    ]
  }

  /// The columns of a provider with fixed rows, in colour at every width.
  @Test(arguments: ["directory", "processes"]) func fixedRowsInColour(_ name: String) throws {
    let source = name == "directory" ? Self.entries : Self.processes
    var all = ""
    for width in Self.colourWidths {
      let folder = try TemporaryFolder()
      let file = open(try folder.write("shown", ""), O_WRONLY | O_CLOEXEC | O_TRUNC)
      defer { close(file) }
      var screen = Screen(descriptor: file)
      (screen.width, screen.isTerminal, screen.isUnicode) = (width, true, true)
      (screen.palette.isColoured, screen.fileColours) = (true, Self.colours)
      let output = Output(descriptor: file, screen: screen)
      var shown = ShownTable(ShapedTable(source), hasHeader: true)
      shown.isWhole = true
      var format = Formats.make("table", output, DisplayOptions())
      try format.begin(shown)
      var viewer = Viewer(shown, 0..<Int.max, output)
      #expect(try viewer.show(in: &format) == nil)
      try format.end(failure: nil)
      try output.finish()
      let text = String(decoding: try folder.read("shown"), as: UTF8.self)
      all += "== \(width) columns\n\(text)" + format.notes.map { "\($0)\n" }.joined()
    }
    try Self.compareColours(all, name)
  }

  /// The same for files that the program opens.
  @Test(arguments: goldens.filter { ["csv", "text"].contains($0.name) })
  func filesInColour(_ golden: Golden) throws {
    let folder = try TemporaryFolder()
    try Self.fill(folder)
    var all = ""
    for width in Self.colourWidths {
      let shown = try runOnTerminal(
        buildFolder + "/tabella",
        ["show", golden.location] + golden.options + ["--no-pager", "--search", "e"], width: width,
        environment: ["TERM": "xterm-256color", "LS_COLORS": Self.colours], directory: folder.path)
      #expect(shown.status == 0)
      all += "== \(width) columns\n\(shown.text)"
    }
    try Self.compareColours(all, golden.name)
  }

  /// Compares coloured text, where `^` replaces ESC. Every style ends on its line.
  private static func compareColours(_ text: String, _ name: String) throws {
    for line in text.split(separator: "\n") {
      let begun = line.components(separatedBy: "\u{1B}[").count - 1
      let ended = line.components(separatedBy: "\u{1B}[0m").count - 1
      #expect(begun == 2 * ended, "\(line)")
    }
    try compare(text.replacingOccurrences(of: "\u{1B}", with: "^"), "\(name)-colour")
  }

  private static func compare(_ text: String, _ name: String) throws {
    let path = "\(folder)/\(name).txt"
    if ProcessInfo.processInfo.environment["TABELLA_UPDATE"] != nil {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      try text.write(toFile: path, atomically: true, encoding: .utf8)
    }
    let expected = try String(contentsOfFile: path, encoding: .utf8)
    #expect(text == expected, "differs from Golden/\(name).txt")
  }
}
