import Foundation
import Testing

@testable import TabellaTestSupport

/// Dates in local time, `--utc`, relative dates, and the numbers of rows in their sources.
@Suite struct DateTests {
  let folder = try! TemporaryFolder()
  /// The rules of New York since 2007, without a file of time zones.
  static let zone = "EST5EDT,M3.2.0,M11.1.0"

  private func text(_ arguments: [String], zone: String = Self.zone) throws -> String {
    let result = try run(
      "\(buildFolder)/tabella", arguments, environment: ["LC_ALL": "C.UTF-8", "TZ": zone],
      directory: folder.path)
    #expect(result.status == 0 && result.errors.isEmpty, "\(arguments): \(result.errors)")
    return result.text
  }

  private func text(_ arguments: String...) throws -> String { try text(arguments) }

  /// Creates empty files with times of modification in Unix time.
  private func touch(_ files: [(name: String, second: Int)]) throws {
    try FileManager.default.createDirectory(
      atPath: folder.path + "/f", withIntermediateDirectories: true)
    for (name, second) in files {
      try folder.write("f/\(name)", "")
      var times = [timespec(tv_sec: second, tv_nsec: 0), timespec(tv_sec: second, tv_nsec: 0)]
      #expect(utimensat(AT_FDCWD, "\(folder.path)/f/\(name)", &times, 0) == 0)
    }
  }

  // 2026-03-08T06:59:59Z and the next second, in which clocks go from 01:59:59 to 03:00:00.
  private static let change = 1_772_953_200

  @Test func tablesForPeopleShowLocalTime() throws {
    try touch([("a", Self.change - 1), ("b", Self.change), ("c", 1_767_225_600)])
    let columns = ["f", "--columns", "name,modified"]
    #expect(
      try text(["show"] + columns) == """
        name  modified
        ────  ────────────────
        a     2026-03-08 01:59
        b     2026-03-08 03:00
        c     2025-12-31 19:00

        """)
    #expect(
      try text(["show", "--utc", "--format", "markdown"] + columns) == """
        | name | modified |
        | --- | --- |
        | a | 2026-03-08 06:59Z |
        | b | 2026-03-08 07:00Z |
        | c | 2026-01-01 00:00Z |

        """)
    #expect(
      try text(["show", "--vertical", "always", "--rows", "1..1"] + columns)
        .hasSuffix("modified  2026-03-08 03:00\n"))
    #expect(
      try text(["show", "--style", "grouped"] + columns, zone: "IST-5:30")
        .contains("│ b    │ 2026-03-08 12:30 │"))
    #expect(
      try text(["show", "--style", "collection"] + columns).contains("c 2025-12-31 19:00"))
  }

  /// Formats for programs print exact dates in UTC, in every zone.
  @Test(arguments: ["csv", "tsv", "plain", "json", "jsonl"])
  func programsGetUTC(_ format: String) throws {
    try touch([("a", Self.change)])
    let arguments = ["show", "f", "--columns", "name,modified", "--format", format]
    let shown = try text(arguments)
    #expect(shown.contains("2026-03-08T07:00:00Z"))
    // The version in JSON depends on the file only.
    #expect(try text(arguments + ["--utc"]) == shown)
  }

  /// `describe` shows the exact moment with the offset of the zone.
  @Test func describesExactDates() throws {
    try touch([("a", Self.change)])
    #expect(
      try text("describe", "f", "0").contains("  modified  2026-03-08T03:00:00-04:00\n"))
    #expect(
      try text("describe", "f", "0", "--utc").contains("  modified  2026-03-08T07:00:00Z\n"))
    #expect(try text("describe", "f", "0", "--json").contains("\"2026-03-08T07:00:00Z\""))
  }

  @Test func filtersReadLocalTime() throws {
    try touch([("a", Self.change - 1), ("b", Self.change), ("c", 1_772_946_000)])
    // c is from 2026-03-08T05:00:00Z, which is midnight in New York.
    func names(_ filter: String, _ options: String...) throws -> String {
      try text(
        ["export", "f", "--columns", "name", "--no-header", "--filter", filter] + options
      )
      .replacingOccurrences(of: "\n", with: "")
    }
    #expect(try names("modified = 2026-03-08") == "abc")
    #expect(try names("modified >= 2026-03-08 01") == "ab")
    #expect(try names("modified >= 2026-03-08 05") == "")
    #expect(try names("modified >= 2026-03-08 06", "--utc") == "ab")
    #expect(try names("modified = 2026-03-08 02") == "")
    #expect(try names("modified = 2026-03-08T07:00:00Z") == "b")
    #expect(try text("count", "f", "--filter", "modified > 2026-03-08 01:59") == "1\n")
  }

  /// The present is the same for all files, and `today` is the day of the zone.
  @Test func relativeDates() throws {
    let now = Int(Date().timeIntervalSince1970)
    try touch([("now", now), ("hours", now - 7000), ("old", now - 8 * 86_400), ("new", now + 900)])
    func names(_ filter: String, zone: String = Self.zone) throws -> [String] {
      try text(
        ["export", "f", "--columns", "name", "--no-header", "--filter", filter], zone: zone
      ).split(separator: "\n").map(String.init)
    }
    #expect(try names("modified > now-1h") == ["new", "now"])
    #expect(try names("modified > -7d") == ["hours", "new", "now"])
    #expect(try names("modified > +10m") == ["new"])
    #expect(try names("modified < yesterday") == ["old"])
    // In this zone, it is a few minutes after midnight, so two hours ago was yesterday.
    let midnight = now - now % 60 - 1200
    let second = (midnight % 86_400 + 86_400) % 86_400
    let zone = String(format: "TST%d:%02d", second / 3600, second / 60 % 60)
    #expect(try names("modified = today", zone: zone) == ["new", "now"])
    #expect(try names("modified = yesterday", zone: zone) == ["hours"])
    #expect(try names("modified >= yesterday", zone: zone) == ["hours", "new", "now"])
    #expect(try names("modified != today", zone: zone) == ["hours", "old"])
  }

  /// A date without a time never shifts: an inferred date keeps the file's text, whatever the zone.
  @Test(arguments: ["text", "infer"])
  func textDatesNeverShift(_ types: String) throws {
    try folder.write("d.csv", "d\n2024-02-29\n2024-03-01T04:30:00Z\n")
    let shown = try text(["show", "d.csv", "-o", "types=\(types)"])
    #expect(shown.hasSuffix("2024-02-29\n2024-03-01T04:30:00Z\n"))
    #expect(
      try text("count", "d.csv", "-o", "types=\(types)", "--filter", "d = 2024-02-29") == "2\n")
    #expect(
      try text("count", "d.csv", "-o", "types=\(types)", "--filter", "d = 2024-02-29", "--utc")
        == "1\n")
  }

  @Test func namesTheUnits() throws {
    try touch([("a", 0)])
    let result = try run(
      "\(buildFolder)/tabella", ["show", "f", "--filter", "modified > -1y"],
      directory: folder.path)
    #expect(result.status == 2)
    #expect(result.errors.contains("-1y is not a date, such as 2024-05-01"))
    #expect(result.errors.contains("units: s m h d w"))
  }

  // Numbers

  /// The text of a file with the lines that its rows begin in.
  private static let records = """
    # first comment
    name,note
    a,"two
    lines"
    # comment
    b,x
    c,y

    """

  @Test func numbersAreLines() throws {
    try folder.write("r.csv", Self.records)
    let options = ["r.csv", "-o", "comment=#", "--with-number", "--columns", "name"]
    #expect(try text(["export"] + options) == "number,name\n3,a\n6,b\n7,c\n")
    #expect(
      try text(["export", "--sort", "name:desc", "--filter", "name != b"] + options)
        == "number,name\n7,c\n3,a\n")
    #expect(
      try text(["export", "--section-by", "note", "--with-section", "--rows", "1..1"] + options)
        == "section,number,name\nx,6,b\n")
    #expect(
      try text(["show", "--rows", "1.."] + options) == """
        number  name
        ──────  ────
             6  b
             7  c

        """)
    #expect(
      try text(["export", "--format", "jsonl", "-n", "1"] + options)
        == "{\"number\":3,\"name\":\"a\"}\n")
    #expect(
      try text(["show", "--format", "plain", "--filter", "name=c"] + options) == "7\tc\n")
    try folder.write("t.md", "# A\n\none\n# B\ntwo\nthree\n")
    #expect(
      try text("export", "t.md", "-o", "sections=headings", "--with-number", "--search", "t")
        == "number,line\n5,two\n6,three\n")
    #expect(
      try text(
        "export", "t.md", "r.csv", "-o", "comment=#", "--with-number", "--columns", "name",
        "--rows", "5..7") == "number,name\n6,\n3,a\n6,b\n")
  }

  /// A source without lines has the positions of its rows, through all views.
  @Test func numbersArePositions() throws {
    try touch((0..<20).map { ("n\($0 < 10 ? "0" : "")\($0)", $0) })
    #expect(
      try text(
        "export", "f", "--columns", "name", "--with-number", "--sort", "name:desc", "-n", "2")
        == "number,name\n19,n19\n18,n18\n")
    #expect(
      try text(
        "export", "f", "f", "--columns", "name", "--with-number", "--filter", "name = n07",
        "--section-by", "name") == "number,name\n7,n07\n7,n07\n")
  }

  /// Rows of a table with several sections are numbered through all of them.
  @Test func numbersCountThroughSections() throws {
    for name in ["s/a", "s/b"] {
      try FileManager.default.createDirectory(
        atPath: folder.path + "/" + name, withIntermediateDirectories: true)
    }
    for name in ["s/a/1", "s/a/2", "s/b/3", "s/b/4"] { try folder.write(name, "") }
    let options = ["s", "-o", "recursive=true", "-o", "sections=folder", "--columns", "name"]
    let all = try text(["export", "--with-number"] + options)
    let names = all.split(separator: "\n").dropFirst()
    #expect(names.enumerated().allSatisfy { $1.hasPrefix("\($0),") }, "\(all)")
    let last = try #require(names.last)
    #expect(
      try text(["export", "--no-header", "--with-number", "--filter", "name ~ 4$"] + options)
        == "\(last)\n")
  }

  /// Line numbers of a large file in any order agree with `grep -n`.
  @Test func numbersAgreeWithGrep() throws {
    var generator = SeededGenerator(seed: 3)
    var file = "k,v\r\n"
    var lines: [Int: Int] = [:]
    var line = 2
    for row in 0..<40_000 {
      lines[row] = line
      let breaks = Int.random(in: 0..<20, using: &generator) == 0 ? 2 : 0
      file +=
        breaks > 0
        ? "\(row),\"a\r\nb\nc\"\r\n" : "\(row),\(Int.random(in: 0..<1000, using: &generator))\n"
      line += 1 + breaks
    }
    try folder.write("big.csv", file)
    let shown = try text(
      "export", "big.csv", "--no-header", "--with-number", "--sort", "v,k:desc", "--columns", "k")
    let pairs = shown.split(separator: "\n").map { $0.split(separator: ",").map { Int($0)! } }
    #expect(pairs.count == 40_000)
    #expect(pairs.allSatisfy { lines[$0[1]] == $0[0] })
  }

  @Test(arguments: [["--json"], ["--style", "collection"]])
  func refusesNumbers(_ options: [String]) throws {
    try folder.write("r.csv", "a\n1\n")
    let result = try run(
      "\(buildFolder)/tabella", ["show", "r.csv", "--with-number"] + options,
      directory: folder.path)
    #expect(result.status == 2 && result.errors.contains("--with-number does not work with"))
  }

  /// The names of rows for other commands stay in front of the number and are never cut.
  @Test func numbersFollowNames() throws {
    try folder.write("t.txt", "one\ntwo\n")
    let shown = try text("export", "t.txt", "--with-number", "--with-row", "--no-header")
    let lines = shown.split(separator: "\n")
    #expect(lines.count == 2 && lines[0].hasPrefix("id:") && lines[0].hasSuffix(",1,one"))
  }
}
