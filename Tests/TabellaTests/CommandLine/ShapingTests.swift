import Foundation
import Testing

@testable import TabellaTestSupport

/// The results of shaping options as a user sees them, compared with other programs.
@Suite struct ShapingTests {
  let folder = try! TemporaryFolder()

  private func tabella(_ arguments: String...) throws -> ProgramResult {
    try run("\(buildFolder)/tabella", arguments, environment: ["LC_ALL": "C.UTF-8"])
  }

  private func text(_ arguments: String...) throws -> String {
    let result = try run("\(buildFolder)/tabella", arguments, environment: ["LC_ALL": "C.UTF-8"])
    #expect(result.status == 0 && result.errors.isEmpty, "\(arguments): \(result.errors)")
    return result.text
  }

  /// A file of numbered rows with a city, an amount and a note, and its rows.
  private func cities() throws -> (path: String, rows: [[String]]) {
    var generator = SeededGenerator(seed: 5)
    let names = ["Oslo", "Bern", "rome", "Paris", "Lima", "Åland"]
    let rows = (0..<500).map { number in
      [
        "\(number)", names.randomElement(using: &generator)!,
        "\(Int.random(in: -50...50, using: &generator)).\(Int.random(in: 0...9, using: &generator))",
        "n\(Int.random(in: 1...30, using: &generator))",
      ]
    }
    let lines = [["id", "city", "amount", "note"]] + rows
    let path = try folder.write(
      "cities.csv", lines.map { $0.joined(separator: ",") }.joined(separator: "\n") + "\n")
    return (path, rows)
  }

  private func csv(_ rows: [[String]]) -> String {
    rows.map { $0.joined(separator: ",") + "\n" }.joined()
  }

  /// Of two lists, the last one counted, so groups were wrong without a word.
  @Test func listsThatAreGivenAgainAreAdded() throws {
    let (path, _) = try cities()
    let twice = try text(
      "summarize", path, "--by", "city", "--by", "note", "--compute", "rows", "--compute",
      "sum amount", "--format", "csv")
    #expect(
      try twice
        == text(
          "summarize", path, "--by", "city,note", "--compute", "rows, sum amount", "--format", "csv"
        ))
    #expect(twice.hasPrefix("city,note,rows,sum amount\n"))
    #expect(
      try text(
        "export", path, "--sort", "city", "--sort", "amount:desc", "--columns", "id", "--columns",
        "city")
        == text("export", path, "--sort", "city,amount:desc", "--columns", "id,city"))
    #expect(
      try text("count", path, "--section-by", "city", "--section-by", "note")
        == text("count", path, "--section-by", "city,note"))
  }

  /// The last rows needed two commands: one that counts, and one that shows.
  @Test func lastRows() throws {
    let (path, rows) = try cities()
    #expect(try text("export", path, "--no-header", "--rows", "-3..") == csv(rows.suffix(3)))
    #expect(
      try text("export", path, "--no-header", "--rows=-3..", "-n", "2")
        == csv(rows[497..<499].map { $0 }))
    #expect(try text("count", path, "--rows", "-1000..") == "500\n")
    #expect(try text("count", path, "--rows", "-0..") == "0\n")
    let oslo = rows.filter { $0[1] == "Oslo" }
    #expect(
      try text("export", path, "--no-header", "--filter", "city = Oslo", "--rows", "-2..")
        == csv(oslo.suffix(2)))
    #expect(
      try text("count", path, "--section-by", "city", "--per-section", "1", "--rows", "-2..")
        .split(separator: "\n").filter { !$0.hasSuffix("\t0") }.count == 2)
    #expect(
      try text(
        "summarize", path, "--by", "city", "--columns", "city", "--rows", "-1..", "--format",
        "plain")
        == "Åland\n")
    let edited = try folder.write("edited.csv", "a\n1\n2\n3\n")
    let result = try run(
      "\(buildFolder)/tabella", ["delete", edited, "--rows", "-2..", "--yes"],
      environment: ["LC_ALL": "C.UTF-8", "XDG_STATE_HOME": folder.path])
    #expect(result.status == 0, "\(result.errors)")
    #expect(try String(contentsOfFile: edited, encoding: .utf8) == "a\n1\n")
    for wrong in ["-..", "-1..2", "-x..", "..-1"] {
      #expect(try tabella("show", path, "--rows", wrong).status == 2, "\(wrong)")
    }
  }

  /// Files with many rows are read one by one, and small files together: the rows are those of the files in turn.
  @Test func theRowsOfManyFilesAreThoseOfEach() throws {
    var (paths, rows): ([String], [[String]]) = ([], [])
    for (file, count) in [300, 2, 0, 256, 255, 1500, 1].enumerated() {
      let own = (0..<count).map { ["\(file)", "\($0)"] }
      paths.append(try folder.write("part\(file).csv", "file,row\n" + csv(own)))
      rows += own
    }
    func export(_ words: String...) throws -> String {
      let result = try run(
        "\(buildFolder)/tabella", ["export", "--no-header"] + paths + words,
        environment: ["LC_ALL": "C.UTF-8"])
      #expect(result.status == 0, "\(result.errors)")
      return result.text
    }
    #expect(try export() == csv(rows))
    #expect(try export("--rows", "290..570") == csv(Array(rows[290...570])))
    #expect(
      try export("--filter", "row >= 250") == csv(rows.filter { Int($0[1])! >= 250 }))
  }

  /// In a summary of several shares of a file, the first group counted the values of all groups.
  @Test func distinctValuesOfTheFirstGroup() throws {
    let padding = String(repeating: "x", count: 90)
    let rows = (0..<40_000).map { ["\($0 % 1000)", "\($0 / 1000)", padding] }
    let path = try folder.write("shares.csv", "key,value,padding\n" + csv(rows))
    let expected = csv((0..<1000).map { ["\($0)", "40"] })
    for threads in ["1", "2", "4"] {
      let result = try run(
        "\(buildFolder)/tabella",
        ["summarize", path, "--by", "key", "--compute", "distinct value", "--format", "csv"],
        environment: ["LC_ALL": "C.UTF-8", "TABELLA_THREADS": threads])
      #expect(result.text.split(separator: "\n").dropFirst().map { $0 + "\n" }.joined() == expected)
    }
    #expect(
      try text("summarize", path, "--compute", "distinct *", "--format", "plain").contains("1000"))
  }

  /// With a decimal comma, amounts with grouped digits are numbers, and dates with points are not.
  @Test func groupedDigitsAreNumbers() throws {
    let path = try folder.write(
      "umsatz.csv", "Datum;Betrag\n04.06.2025;1.234,56\n05.06.2025;980,00\n06.06.2025;15,2\n")
    #expect(
      try text("show", path, "-o", "decimal=,", "--sort", "Betrag:desc", "--footer", "sum Betrag")
        == """
        Datum         Betrag
        ──────────  ────────
        04.06.2025  1.234,56
        05.06.2025    980,00
        06.06.2025     15,2
        sum Betrag: 2229,76

        """)
    #expect(
      try text("count", path, "-o", "decimal=,", "--filter", "Betrag > 900") == "2\n")
  }

  /// Of several `--search`, only the last one counted.
  @Test func severalSearches() throws {
    let (path, rows) = try cities()
    #expect(
      try text("export", path, "--no-header", "--search", "oslo", "--search", "n7")
        == csv(rows.filter { $0[1] == "Oslo" && $0[3].hasPrefix("n7") }))
  }

  /// A value that no row has, and a column instead of a value, led to an empty table without a word.
  @Test func anEmptyResultIsExplained() throws {
    let path = try folder.write("budget.csv", "team,spent,limit\nA,3,5\nB,7,5\n")
    func notes(_ arguments: String...) throws -> String {
      let result = try run(
        "\(buildFolder)/tabella", ["show", path] + arguments, environment: ["LC_ALL": "C.UTF-8"])
      #expect(result.status == 0)
      return result.errors
    }
    #expect(
      try notes("--filter", "team = C")
        == "tabella: \(path): note: no row has team = C; the values of team are A, B\n")
    #expect(
      try notes("--filter", "spent > limit")
        == "tabella: \(path): note: limit is a text here; 'spent > {limit}' compares with the column limit\n"
    )
    #expect(try notes("--filter", "team = C", "--format", "csv") == "")
    #expect(try notes("--filter", "team = A") == "")
    #expect(try notes("--filter", "spent > {limit}") == "")
    #expect(try text("count", path, "--filter", "spent > {limit}") == "1\n")
  }

  /// Tables for people had all 15 digits of a mean.
  @Test func meansAreRoundedForPeople() throws {
    let path = try folder.write(
      "means.csv",
      "g,n\na,1\na,2\na,2\nb,0\nb,0\nb,0.01\nc,1\nc,2\nd,-2\nd,-3\nd,-3\ne,999.99\ne,1000\ne,1000\n"
    )
    let means = ["a": "1.67", "b": "0.00333", "c": "1.5", "d": "-2.67", "e": "1000.00"]
    for format in ["table", "markdown", "vertical"] {
      let shown = try text(
        "summarize", path, "--by", "g", "--compute", "mean n", "--format", format)
      for mean in means.values { #expect(shown.contains(mean), "\(format): \(shown)") }
      #expect(!shown.contains("3333"), "\(format): \(shown)")
    }
    let exact = try text(
      "summarize", path, "--by", "g", "--compute", "mean n", "--format", "csv", "--no-header")
    #expect(exact.hasPrefix("a,1.66666666666667\nb,0.00333333333333333\nc,1.5"))
    #expect(
      try text("show", path, "--filter", "g = a", "--footer", "mean n").hasSuffix("mean n: 1.67\n"))
    #expect(
      try text("summarize", path, "--by", "g", "--compute", "mean n", "--having", "mean n > 1.666")
        .contains("1.67"))
  }

  /// The badge of an entry stood behind the first shown column, such as a size.
  @Test func aBadgeFollowsTheName() throws {
    try FileManager.default.createDirectory(
      atPath: folder.path + "/tree/empty", withIntermediateDirectories: true)
    let shown = try text("show", "\(folder.path)/tree", "--columns", "kind,name")
    #expect(shown.hasSuffix("\ndirectory  empty [0 entries]\n"), "\(shown)")
    #expect(
      try text("show", "\(folder.path)/tree", "--columns", "kind").hasSuffix(
        "directory [0 entries]\n"))
  }

  @Test func filters() throws {
    let (path, rows) = try cities()
    let found = try text(
      "export", path, "--no-header", "--filter", "city=Oslo", "--filter", "amount >= 0")
    #expect(found == csv(rows.filter { $0[1] == "Oslo" && Double($0[2])! >= 0 }))
    #expect(
      try text("count", path, "--filter", "note ~ ^n1\\d$")
        == "\(rows.count { $0[3].count == 3 && $0[3].hasPrefix("n1") })\n")
    #expect(
      try text("count", path, "--search", "oSLO", "--filter", "city != x") == "0\n")
    #expect(
      try text("count", path, "--search", "oslo") == "\(rows.count { $0[1] == "Oslo" })\n")
  }

  @Test func sorts() throws {
    let (path, rows) = try cities()
    let byAmount = rows.enumerated().sorted {
      (Double($0.element[2])!, $0.offset) < (Double($1.element[2])!, $1.offset)
    }.map(\.element)
    #expect(try text("export", path, "--no-header", "--sort", "amount") == csv(byAmount))
    let byNote = rows.enumerated().sorted {
      (-Int($0.element[3].dropFirst())!, $0.offset) < (-Int($1.element[3].dropFirst())!, $1.offset)
    }.map(\.element)
    #expect(try text("export", path, "--no-header", "--sort", "note:desc") == csv(byNote))
    let both = byNote.enumerated().sorted {
      ($0.element[1].lowercased(), $0.offset) < ($1.element[1].lowercased(), $1.offset)
    }.map(\.element)
    #expect(try text("export", path, "--no-header", "--sort", "city,note:desc") == csv(both))
  }

  @Test func sections() throws {
    let (path, rows) = try cities()
    let titles = ["Bern", "Lima", "Oslo", "Paris", "rome", "Åland"]
    #expect(
      try text("count", path, "--section-by", "city")
        == titles.map { title in "\(title)\t\(rows.count { $0[1] == title })\n" }.joined())
    let oslo = rows.filter { $0[1] == "Oslo" }
    #expect(
      try text("export", path, "--no-header", "--section-by", "city", "--section", "Oslo")
        == csv(oslo))
    #expect(
      try text("export", path, "--no-header", "--section-by", "city", "--section", "2") == csv(oslo)
    )
    #expect(
      try text(
        "export", path, "--no-header", "--section-by", "city", "--section", "2", "--rows", "3..4")
        == csv(Array(oslo[3...4])))
    // Continues through the sections from the target of an index title.
    let grouped = titles.flatMap { title in rows.filter { $0[1] == title } }
    let start = try #require(grouped.firstIndex { $0[1] == "Paris" })
    #expect(
      try text(
        "export", path, "--no-header", "--section-by", "city", "--at-index", "P", "-n", "200")
        == csv(Array(grouped[start...].prefix(200))))
    #expect(try tabella("show", path, "--section-by", "city", "--section", "Rome").status == 1)
    #expect(try tabella("show", path, "--section-by", "city", "--at-index", "Q").status == 1)
    #expect(try tabella("show", path, "--at-index", "Q").status == 1)
    #expect(try tabella("show", path, "--section", "1").status == 1)
  }

  /// Small sections are read together, and each keeps its own rows: every range of 500 rows in many groups.
  @Test func smallSectionsKeepTheirRows() throws {
    let (path, rows) = try cities()
    let ids = rows.sorted {
      (Int($0[3].dropFirst())!, Int($0[0])!) < (Int($1[3].dropFirst())!, Int($1[0])!)
    }.map { $0[0] }
    for range in [0..<500, 3..<40, 17..<18, 100..<101, 120..<499] {
      #expect(
        try text(
          "export", path, "--no-header", "--columns", "id", "--section-by", "note", "--rows",
          "\(range.lowerBound)..\(range.upperBound - 1)")
          == ids[range].map { $0 + "\n" }.joined(), "\(range)")
    }
    // More rows than the first batch, in sections with one row or none.
    let lines = (0..<3000).map { $0 % 3 == 0 ? "# h\($0)" : "l\($0)" }
    let markdown = try folder.write("m.md", lines.joined(separator: "\n# empty\n") + "\n")
    #expect(
      try text("export", markdown, "--no-header", "-o", "sections=headings")
        == lines.filter { $0.hasPrefix("l") }.map { $0 + "\n" }.joined())
  }

  /// Names with separator characters.
  @Test func awkwardColumnNames() throws {
    let path = try folder.write("odd.csv", "\"a,b\",a,a:desc,x=y,a\n1,2,3,4,5\n6,7,8,9,0\n")
    #expect(try text("export", path, "--columns", "a,b,a 2,x=y") == "\"a,b\",a,x=y\n1,5,4\n6,0,9\n")
    #expect(try text("export", path, "--no-header", "--columns", "a", "--filter", "x=y=9") == "7\n")
    #expect(
      try text("export", path, "--no-header", "--columns", "a", "--sort", "a:desc:desc") == "7\n2\n"
    )
    #expect(
      try text("export", path, "--no-header", "--columns", "a", "--sort", "a,b:desc") == "7\n2\n")
    for bad in [
      ["--filter", "z = 1"], ["--filter", "a"], ["--sort", "z"], ["--sort", "a:down"],
      ["--section-by", "a,a"], ["--section-by", "z"], ["--columns", "a,a"], ["--columns", "z"],
      ["--filter", "a ~ ("], ["--section-by", "a:colour"],
    ] {
      let result = try run("\(buildFolder)/tabella", ["show", path] + bad)
      #expect(result.status == 2 && result.errors.contains("tabella"), "\(bad): \(result.errors)")
      #expect(result.errors.split(separator: "\n").count == 1)
    }
  }

  /// `==` was parsed as `=` with a value that no row has, and an unknown class was reported as a column.
  @Test func whatIsWrongIsSaid() throws {
    let path = try folder.write("a.csv", "name,n\na,1\n=b,2\n")
    for (options, message) in [
      (["--filter", "name == a"], "no operator =="), (["--filter", "name=~a"], "no operator =~"),
      (["--filter", "n <> 1"], "no operator <>"), (["--sort", "n:up"], "n:up: unknown suffix :up"),
      (["--section-by", "n:colour"], ":letter"), (["--columns", "n,,name"], "is missing"),
      (["--format", "xml"], "(see: tabella help show)"),
    ] {
      let result = try run("\(buildFolder)/tabella", ["show", path] + options)
      #expect(result.status == 2 && result.errors.contains(message), "\(result.errors)")
    }
    let wide = try folder.write("wide.csv", (0..<5000).map { "c\($0)" }.joined(separator: ","))
    #expect(try tabella("show", wide, "--columns", "x").errors.utf8.count < 500)
    #expect(try text("count", path, "--filter", "name = =b") == "1\n")
    let twice = try tabella("show", "-", "-", "--provider", "csv")
    #expect(twice.status == 2 && twice.errors.contains("only once"))
    let options = try tabella("show", path, folder.path, "-o", "foo=1")
    #expect(options.status == 2 && options.errors.contains("delimiter"))
    #expect(options.errors.contains("recursive"))
  }

  /// Filtering a log by paragraphs showed mostly blank lines.
  @Test func sectionsWithoutHitsTakeNoLine() throws {
    let path = try folder.write("log.txt", "one\nx\n\ntwo\n\nthree\nx\n")
    #expect(
      try text("show", path, "-o", "sections=paragraphs", "--filter", "line = x", "--no-header")
        == "x\n\nx\n")
    #expect(
      try text("show", path, "-o", "sections=paragraphs", "--search", "two", "--no-header")
        == "two\n")
  }

  /// `count` lists the same sections as `show`.
  @Test func countedSectionsAreThoseShown() throws {
    let path = try folder.write("a.csv", "k\n1\n2\n2\n3\n")
    #expect(try text("count", path, "--section-by", "k", "-n", "2") == "1\t1\n2\t1\n")
    #expect(try text("count", path, "--section-by", "k", "--rows", "1..2") == "2\t2\n")
  }

  /// The first rows of each section, counted on by the other options.
  @Test func rowsPerSection() throws {
    let (path, rows) = try cities()
    let titles = Set(rows.map { $0[1] }).sorted { $0.lowercased() < $1.lowercased() }
    let groups = titles.map { title in rows.filter { $0[1] == title } }
    for count in [0, 1, 3, 1000] {
      let kept = groups.flatMap { $0.prefix(count) }
      let grouped = [
        "export", path, "--no-header", "--section-by", "city", "--per-section", "\(count)",
      ]
      func shown(_ more: String...) throws -> String {
        try run("\(buildFolder)/tabella", grouped + more).text
      }
      #expect(try shown() == csv(kept))
      #expect(try shown("-n", "4") == csv(Array(kept.prefix(4))))
      #expect(try shown("--rows", "2..5") == csv(Array(kept.prefix(6).dropFirst(2))))
      #expect(
        try shown("--section", "1", "--rows", "1..")
          == csv(Array(groups[1].prefix(count).dropFirst())))
      #expect(
        try text(
          "count", path, "--section-by", "city", "--per-section", "\(count)", "--rows", "1.."
        )
        .split(separator: "\n").compactMap { Int($0.split(separator: "\t")[1]) }.reduce(0, +)
          == max(0, kept.count - 1))
    }
    let copy = try folder.write("copy.csv", "k,v\nb,1\na,2\nb,3\na,4\n")
    let result = try tabella(
      "delete", copy, "--section-by", "k", "--per-section", "1", "--yes")
    #expect(result.status == 0)
    #expect(try text("export", copy) == "k,v\nb,3\na,4\n")
    #expect(try tabella("show", copy, "--per-section", "-1").status == 2)
  }

  /// `--sections-by` sorts sections by an aggregate, and `--at-index` and `--section` then find them by title.
  @Test func sortedSections() throws {
    let path = try folder.write("a.csv", "k,v\na,1\nb,5\nc,\nb,-1\nd,4\n")
    func titles(_ order: String) throws -> String {
      try text("count", path, "--section-by", "k", "--sections-by", order)
        .split(separator: "\n").map { String($0.prefix(1)) }.joined()
    }
    #expect(try titles("rows:desc") == "bacd")
    #expect(try titles("sum v") == "abdc")
    #expect(try titles("sum v:desc") == "bdac")
    #expect(try titles("max v:desc") == "bdac")
    #expect(
      try text(
        "export", path, "--no-header", "--section-by", "k", "--sections-by", "rows:desc",
        "--section", "0") == "b,5\nb,-1\n")
    for (order, message) in [
      ("avg v", "did you mean mean?"), ("sum w", "no column w"), ("v", "no aggregate v"),
    ] {
      let wrong = try tabella("count", path, "--sections-by", order)
      #expect(wrong.status == 2 && wrong.errors.contains(message), "\(wrong.errors)")
    }
    let notes = try folder.write("n.md", "# A\nx\n# B\ny\nz\n")
    #expect(
      try text("count", notes, "-o", "sections=headings", "--sections-by", "rows:desc")
        == "B\t2\nA\t1\n")
    let edit = try tabella(
      "set", notes, "0:0", "line=Y", "-o", "sections=headings", "--sections-by", "rows:desc",
      "--in-process")
    #expect(edit.status == 0 || edit.errors.contains("no ids"), "\(edit.errors)")
    let other = try folder.write("b.csv", "k,v\nz,90\n")
    let joined = try tabella("show", path, other, "--sections-by", "sum v:desc", "--json")
    let document = try #require(
      try JSONSerialization.jsonObject(with: joined.output) as? [String: Any])
    let sections = try #require(document["sections"] as? [[String: Any]])
    #expect(sections.map { $0["location"] as? String } == [other, path])
  }

  @Test func summaries() throws {
    let (path, rows) = try cities()
    func tenths(_ amount: String) -> Int {
      let parts = amount.drop { $0 == "-" }.split(separator: ".").map { Int($0)! }
      return (amount.hasPrefix("-") ? -1 : 1) * (parts[0] * 10 + parts[1])
    }
    func text(ofTenths sum: Int) -> String {
      "\(sum < 0 ? "-" : "")\(abs(sum) / 10).\(abs(sum) % 10)"
    }
    let titles = Set(rows.map { $0[1] }).sorted { $0.lowercased() < $1.lowercased() }
    let groups = titles.map { title in
      let own = rows.filter { $0[1] == title }
      return (
        title, own.count, own.map { tenths($0[2]) }.reduce(0, +), Set(own.map { $0[3] }).count
      )
    }
    let compute = ["--compute", "rows, sum amount, distinct note"]
    let command = ["summarize", path, "--by", "city"] + compute + ["--format", "csv"]
    func summary(_ more: [String] = []) throws -> String {
      let result = try run("\(buildFolder)/tabella", command + more)
      #expect(result.status == 0 && result.errors.isEmpty, "\(result.errors)")
      return result.text
    }
    func lines(_ groups: [(String, Int, Int, Int)]) -> String {
      groups.map { "\($0.0),\($0.1),\(text(ofTenths: $0.2)),\($0.3)\n" }.joined()
    }
    #expect(try summary() == "city,rows,sum amount,distinct note\n" + lines(groups))
    #expect(
      try summary(["--no-header", "--sort", "sum amount:desc", "-n", "2"])
        == lines(Array(groups.sorted { $0.2 > $1.2 }.prefix(2))))
    #expect(
      try summary(["--no-header", "--having", "rows > 80", "--having", "city ~ ^[A-Z]"])
        == lines(groups.filter { $0.1 > 80 && $0.0.first!.isUppercase && $0.0.first!.isASCII }))
    #expect(
      try summary(["--columns", "sum amount,city", "--rows", "1..1", "--no-header"])
        == "\(text(ofTenths: groups[1].2)),\(groups[1].0)\n")
    #expect(
      try self.text("summarize", path, "--filter", "city = Oslo", "--format", "plain")
        == "\(rows.count { $0[1] == "Oslo" })\n")
  }

  @Test func summariesThatAreWrong() throws {
    let path = try folder.write("a.csv", "k,v\na,1\nb,x\n")
    for (options, status, message) in [
      (["--compute", "avg v"], 2, "did you mean mean?"),
      (["--compute", "sum w"], 2, "no column w"),
      (["--by", "w"], 2, "no column w"), (["--by", "k:colour"], 2, "unknown suffix"),
      (["--having", "k = a"], 2, "with a column of rows"), (["--sort", "k"], 2, "no column k"),
      (["--columns", "rows,rows"], 2, "twice"), (["--compute", "sum v"], 1, "(row 1)"),
      (["--having", "rows"], 2, "COLUMN OP VALUE"), (["--section-by", "k"], 2, "no option"),
    ] {
      let result = try run("\(buildFolder)/tabella", ["summarize", path] + options)
      #expect(result.status == status && result.errors.contains(message), "\(result.errors)")
      #expect(result.errors.split(separator: "\n").count == 1)
    }
    // Texts are checked before files are opened.
    #expect(try tabella("summarize", "/nothing", "--compute", "avg v").status == 2)
    #expect(try tabella("show", "/nothing", "--footer", "avg v").status == 2)
    for format in ["csv", "tsv", "jsonl", "plain"] {
      let result = try tabella("show", path, "--footer", "rows", "--format", format)
      #expect(result.status == 2 && result.errors.contains("tabella summarize"))
    }
  }

  /// The message named only the row, counted from 0 and without the lines of the header, quoted line ends and comments.
  @Test func aWrongNumberIsNamedByItsLine() throws {
    let path = try folder.write("a.csv", "k,v\n\"a\nb\",1\nc,2\nd,x\n")
    let options = ["--sort", "k:desc", "--filter", "k != c", "--section-by", "k"]
    for arguments in [
      ["summarize", path, "--compute", "sum v"], ["show", path, "--footer", "mean v"] + options,
    ] {
      let result = try run("\(buildFolder)/tabella", arguments)
      #expect(result.status == 1)
      #expect(result.errors.contains("a.csv: line 5: no "), "\(result.errors)")
      #expect(result.errors.contains("\"x\" is not a number (row 2)"), "\(result.errors)")
    }
    try folder.write("b.csv", "v\n\"1,5\"\n")
    #expect(
      try tabella("summarize", folder.path + "/b.csv", "--compute", "sum v").errors
        .hasSuffix(
          "b.csv: line 2: no sum of v: \"1,5\" is not a number; it has a decimal comma (row 0)\n"))
  }

  /// `--having 'sum v > 1'` without `--compute` only listed the columns of the result.
  @Test func aMissingAggregateIsNamed() throws {
    let path = try folder.write("a.csv", "k,v\na,1\n")
    for (condition, name) in [("sum v > 1", "sum v"), ("max k=a", "max k")] {
      let result = try tabella("summarize", path, "--having", condition)
      #expect(result.status == 2)
      #expect(result.errors.contains("the result has no column \(name); add it to --compute"))
    }
    #expect(try tabella("summarize", path, "--having", "sum w > 1").errors.contains("COLUMN OP"))
  }

  /// Sums with more digits than a double were compared as doubles.
  @Test func longSumsAreComparedExactly() throws {
    let long = "90071992547409931234.5"
    let path = try folder.write("a.csv", "k,v\na,\(long)1\nb,\(long)2\nc,\(long)3\nd,\n")
    for (condition, groups) in [
      ("> \(long)2", "c"), ("= \(long)2", "b"), ("<= \(long)20", "ab"), ("!= \(long)1", "bcd"),
      ("< 1e30", "abc"), ("!= x", ""),
    ] {
      let result = try tabella(
        "summarize", path, "--by", "k", "--compute", "sum v", "--having", "sum v \(condition)",
        "--columns", "k", "--format", "plain")
      #expect(result.lines.joined() == groups, "\(condition): \(result.text) \(result.errors)")
    }
  }

  /// `count` printed one number for the sections of a provider, even in the order that `--sections-by` requested.
  @Test func sectionsInAnOrderAreCounted() throws {
    for name in ["a", "b"] {
      try FileManager.default.createDirectory(
        atPath: "\(folder.path)/t/\(name)", withIntermediateDirectories: true)
    }
    for name in ["t/a/1", "t/b/1", "t/b/2"] { try folder.write(name, "") }
    let path = folder.path + "/t"
    let count = ["count", path, "-o", "recursive=true", "-o", "sections=folder"]
    func counted(_ more: [String]) throws -> [String] {
      try run("\(buildFolder)/tabella", count + ["--filter", "kind = file"] + more).lines
    }
    #expect(try counted(["--sections-by", "rows:desc"]) == ["b\t2", "a\t1", "\(path)\t0"])
    #expect(try counted([]) == ["3"])
    let document = try counted(["--sections-by", "rows", "--json"]).joined()
    #expect(document.contains("\"rows\":0,\"title\":"), "\(document)")
  }

  @Test func footers() throws {
    let path = try folder.write("a.csv", "k,v\na,1.50\nb,2\na,0.25\n")
    #expect(
      try text(
        "show", path, "--section-by", "k", "--footer", "sum v, rows", "--per-section", "1",
        "--columns", "v")
          == """
             v
          ────
          ── a · 2 rows
          1.50
          sum v: 1.75 · rows: 2
          ── b · 1 row
          2
          sum v: 2 · rows: 1

          total · sum v: 3.75 · rows: 3

          """)
    let markdown = try text("show", path, "--footer", "sum v", "--format", "markdown")
    #expect(markdown.hasSuffix("| a | 0.25 |\n\nsum v: 3\\.75\n"))
    let vertical = try text(
      "show", path, "--section-by", "k", "--footer", "rows", "--vertical", "always")
    #expect(vertical.hasSuffix("rows: 1\n\ntotal · rows: 3\n"))
    let result = try tabella("show", path, "--section-by", "k", "--footer", "mean v", "--json")
    let document = try #require(
      try JSONSerialization.jsonObject(with: result.output) as? [String: Any])
    #expect(document["footer"] as? String == "total · mean v: 1.25")
    let sections = try #require(document["sections"] as? [[String: Any]])
    #expect(sections.map { $0["footer"] as? String } == ["mean v: 0.875", "mean v: 2"])
  }

  @Test func severalLocations() throws {
    let first = try folder.write("first.csv", "id,x\n1,a\n2,b\n")
    let second = try folder.write("second.csv", "x,y\nc,9\n")
    let result = try tabella("show", first, second, "--json")
    let document = try #require(
      try JSONSerialization.jsonObject(with: result.output) as? [String: Any])
    #expect(document["provider"] as? String == "joined")
    #expect(document["location"] as? [String] == [first, second])
    let sections = try #require(document["sections"] as? [[String: Any]])
    #expect(sections.map { $0["location"] as? String } == [first, second])
    #expect(sections.map { $0["title"] as? String } == [first, second])
    #expect(sections.map { $0["provider"] as? String } == ["csv", "csv"])
    #expect(
      try text("export", first, second, "--sort", "x:desc", "--section-by", "y")
        == "id,x,y\n,c,9\n2,b,\n1,a,\n")
    #expect(try text("count", first, second, "--filter", "x > a") == "2\n")
    // An option applies to the providers that have it.
    let notes = try folder.write("a.md", "# One\nline\n")
    #expect(
      try text("count", notes, first, "-o", "sections=headings", "-o", "header=false") == "4\n")
    #expect(try tabella("count", notes, first, "-o", "bogus=1").status == 2)
  }

  /// Each line of jsonl is an object with the data of the row.
  @Test func linesOfJSON() throws {
    let path = try folder.write(
      "a.csv", Array("a,a,b\n1,\"x\ny\",\n\"é\"\"\",2\n".utf8) + [0xFF, 0x2C, 0x0A])
    let result = try tabella("export", path, "--format", "jsonl")
    #expect(result.status == 0 && result.errors.contains("line 5 (row 2, a) is not UTF-8"))
    let rows = try result.lines.map {
      try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
    }
    #expect(rows.count == 3)
    #expect(rows.map { $0["a 2"] as? String } == ["x\ny", "2", ""])
    #expect(rows[1]["a"] as? String == "é\"" && rows[1]["b"] is NSNull)
    #expect((rows[2]["a"] as? [String: String])?["base64"] == "/w==")
  }

  /// The results equal those of find for trees, ls for folders, and wc for texts.
  @Test func agreesWithOthers() throws {
    let tree = packageFolder + "/Plugins"
    #expect(
      try text("export", tree, "--columns", "name", "--no-header")
        == run("/bin/ls", [tree], environment: ["LC_ALL": "C"]).text)
    let found = try run(
      "/usr/bin/find", [tree, "-mindepth", "1", "-type", "f", "-printf", "%s %P\n"])
    let listed = try text(
      "export", tree, "-o", "recursive=true", "-o", "hidden=true", "--filter", "kind=file",
      "--columns", "size,name", "--no-header")
    #expect(
      Set(listed.split(separator: "\n").map { $0.replacingOccurrences(of: ",", with: " ") })
        == Set(found.lines))
    let license = packageFolder + "/LICENSE"
    let lines = try run("/usr/bin/wc", ["-l", license]).text.split(separator: " ")[0]
    #expect(try text("count", license) == "\(lines)\n")
  }
}
