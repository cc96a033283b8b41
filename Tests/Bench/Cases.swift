/// The list of all benchmark cases. A new case needs an entry here.
struct Cases {
  let tabella: String
  let tools: Tools
  let cache: Cache
  let floors: Floors

  var all: [Case] {
    [
      startup, showSmall, firstRows, countPlain, countQuoted, nthRows, selectPlain, selectQuoted,
      typedExport, describeTyped,
      group, groupMany, groupUnique, summarize, summarizeMany, sortFirst, sortAll, sortTextFirst,
      sortTextAll, groupCells, sortCells, diff, searchText, searchCase, filterPattern,
      filterClasses, textCount, textLine,
      folderNames, folderStat, folderSort, folderTotal, processes, deleteRow, showIsolated,
      exportIsolated,
    ]
  }

  private var sizes: Sizes { cache.sizes }
  private var plain: String { cache.path(of: .plain) }
  private var quoted: String { cache.path(of: .quoted) }
  private var text: String { cache.path(of: .text) }

  // MARK: Start

  private var startup: Case {
    Case(
      name: "startup", about: "start, without any work",
      commands: [
        floor("empty"),
        tabella("--version"),
        peer("true"), peer("ls", "--version"), peer("sqlite3", "--version"),
        peer("mlr", "--version"), peer("fdfind", "--version"),
      ],
      aims: [.cpu(1.5, of: "floor")])
  }

  private var showSmall: Case {
    let file = cache.smallFile
    return Case(
      name: "show-small", about: "show a CSV file of three rows",
      commands: [
        floor("empty"),
        tabella("show", file),
        peer("cat", file), peer("ls", "-l", file),
        peer("mlr", "--icsv", "--opprint", "cat", file),
        peer("sqlite3", ":memory:", ".mode column", ".import --csv \(file) t", "select * from t"),
      ],
      aims: [.cpu(2.5, of: "floor")])
  }

  private var firstRows: Case {
    let same = Reduction(measure: .order)
    return Case(
      name: "first-rows", about: "show the first 20 rows of a large CSV file",
      needs: [.file(.plain)],
      commands: [
        floor("empty"),
        tabella("show", plain, "-n", "20", "--format", "csv", check: same),
        tabella(
          "show", cache.kilobyteFile, "-n", "20", "--format", "csv", label: "tabella, 1 KB"),
        peer("head", "-n", "21", plain, check: same),
        peer("sed", "21q", plain, check: same),
        peer("mlr", "--csv", "head", "-n", "20", plain, check: same),
        duckdb("copy (from \(varchars(plain)) limit 20) to '/dev/stdout' (header)", check: same),
        polars("q(F).head(20).collect().write_csv(sys.stdout.buffer)", plain, check: same),
      ],
      reference: "head", aims: [.cpu(3, of: "floor"), .cpu(1.1, of: "tabella, 1 KB")])
  }

  // MARK: In a worker

  private var showIsolated: Case {
    let file = cache.smallFile
    return Case(
      name: "show-isolated", about: "show a CSV file of three rows, with the provider in a worker",
      commands: [
        floor("empty"), tabella("show", file),
        tabella("show", "--isolate", file, label: "tabella --isolate"),
      ],
      reference: "tabella", aims: [])
  }

  private var exportIsolated: Case {
    let same = Reduction(measure: .order)
    return Case(
      name: "export-isolated",
      about: "export all cells of a CSV file, with the provider in a worker",
      needs: [.file(.plain)],
      commands: [
        tabella("export", plain, "--format", "csv", check: same),
        tabella(
          "export", "--isolate", plain, "--format", "csv", label: "tabella --isolate", check: same),
      ],
      reference: "tabella", aims: [.wall(1.1, of: "tabella", command: "tabella --isolate")])
  }

  // MARK: Rows

  private var countPlain: Case { count(.plain, name: "count-plain", wallOf: "cat") }
  private var countQuoted: Case { count(.quoted, name: "count-quoted", wallOf: nil) }

  private func count(_ kind: DataKind, name: String, wallOf: String?) -> Case {
    let file = cache.path(of: kind)
    let number = Reduction(measure: .number)
    var aims: [Aim] = [.cpu(1.2, of: "floor"), .peak(mebibytes: 24)]
    if let wallOf { aims.append(.wall(1, of: wallOf)) }
    aims.append(.cpu(1.1, of: "tabella", command: "tabella --isolate"))
    return Case(
      name: name, about: "count the rows of a CSV file, respecting quotes", needs: [.file(kind)],
      commands: [
        floor("records", file, check: number),
        tabella("count", file, check: number),
        tabella("count", file, "--isolate", label: "tabella --isolate", check: number),
        peer("cat", file), peer("wc", "-l", file),
        duckdb(
          "copy (select count(*) from \(inferred(file))) to '/dev/stdout' (header false)",
          speed: .slow, check: number),
        polars("print(q(F).select(pl.len()).collect().item())", file, check: number),
        peer(
          "sqlite3", ":memory:", ".import --csv \(file) t", "select count(*) from t", speed: .far,
          check: number),
        peer("mlr", "--icsv", "--ojson", "count", file, speed: .far, check: number),
      ],
      aims: aims)
  }

  private var nthRows: Case {
    let first = sizes.plain * 9 / 10
    let rows = Reduction(measure: .order)
    let named = Reduction(measure: .order, skipping: 1)
    return Case(
      name: "nth-rows", about: "show 51 rows from nine tenths of the way into a CSV file",
      needs: [.file(.plain)],
      commands: [
        floor("rows", plain, "\(first)", "51", check: rows),
        tabella(
          "show", plain, "--rows", "\(first)..\(first + 50)", "--format", "csv", check: named),
        pipe(["tail", "-n", "+\(first + 2)", plain], ["head", "-n", "51"], check: rows),
        peer("sed", "-n", "\(first + 2),\(first + 52)p;\(first + 52)q", plain, check: rows),
        peer("awk", "NR>\(first + 1){print} NR==\(first + 52){exit}", plain, check: rows),
        duckdb(
          "copy (from \(varchars(plain)) limit 51 offset \(first)) to '/dev/stdout' (header)",
          speed: .slow, check: named.measuring(.lines)),
        polars(
          "q(F).slice(\(first),51).collect().write_csv(sys.stdout.buffer)", plain, check: named),
        peer(
          "mlr", "--csv", "filter", "NR>\(first) && NR<=\(first + 51)", plain, speed: .far,
          check: named),
      ],
      aims: [.cpu(1.2, of: "floor"), .peak(mebibytes: 24)])
  }

  // MARK: Columns

  private var selectPlain: Case {
    select(.plain, name: "select-plain", columns: ["city", "amount"], numbers: [2, 4])
  }

  private var selectQuoted: Case {
    select(.quoted, name: "select-quoted", columns: ["title", "price"], numbers: [1, 4])
  }

  private func select(
    _ kind: DataKind, name: String, columns: [String], numbers: [Int]
  ) -> Case {
    let file = cache.path(of: kind)
    let names = columns.joined(separator: ",")
    let body = Reduction(measure: .order, skipping: 1)
    var commands = [
      floor("select", file, "\(numbers[0])", "\(numbers[1])", check: body),
      tabella("export", file, "--columns", names, "--format", "csv", check: body),
      tabella(
        "export", file, "--columns", names, "--format", "csv", "--isolate",
        label: "tabella --isolate", check: body),
      duckdb(
        "copy (select \(names) from \(varchars(file))) to '/dev/stdout' (header)", speed: .slow,
        check: body.measuring(.lines)),
      polars("q(F).select(\(columns)).sink_csv(sys.stdout.buffer)", file, check: body),
      peer("mlr", "--csv", "cut", "-o", "-f", names, file, speed: .far, check: body),
      peer(
        "sqlite3", ":memory:", "-csv", "-header", ".import --csv \(file) t",
        "select \(names) from t", speed: .far, check: body.measuring(.lines)),
    ]
    if kind == .plain {
      // These programs do not understand quotes.
      let fields = numbers.map { "\($0 + 1)" }
      commands += [
        peer("cut", "-d,", "-f" + fields.joined(separator: ","), file, check: body),
        peer("awk", "-F,", "-vOFS=,", "{print $\(fields[0]),$\(fields[1])}", file, check: body),
      ]
    }
    return Case(
      name: name, about: "export two columns of a CSV file as CSV", needs: [.file(kind)],
      commands: commands,
      aims: [
        .cpu(1.5, of: "floor"), .peak(mebibytes: 24),
        .cpu(1.1, of: "tabella", command: "tabella --isolate"),
      ])
  }

  // MARK: Types

  private var typedExport: Case {
    // Polars also reads the arrays for the comparison.
    let sums = tools.has("polars") ? Reduction(measure: .order) : nil
    let typed = [tabella, "export", plain, "-o", "types=infer", "--format", "arrow-stream"]
    let sampled = typed.map { $0 == "types=infer" ? "types=sample" : $0 }
    // Adds the numbers of the table t, in the order of the columns.
    let adding = """
      n=lambda c,s: round((t[c]*s).round().sum()); \
      print(n('id',1),n('amount',100),n('qty',1),t['active'].sum(),n('score',1e6),sep='\\n')
      """
    func exported(_ label: String, _ command: [String]) -> Command {
      let export = Command(label: label, pipeline: [command], check: sums)
      guard sums != nil else { return export }
      let reading = "import polars as pl,sys; t=pl.read_ipc_stream(sys.stdin.buffer); " + adding
      return export.compared(as: [command, [tools.python ?? "python3", "-c", reading]])
    }
    return Case(
      name: "typed-export", about: "export all cells of a CSV file as typed Arrow arrays",
      needs: [.file(.plain)],
      commands: [
        floor("typed", plain, check: sums).compared(as: [[floors("typed"), plain, "sums"]]),
        exported("tabella", typed), exported("tabella, sample", sampled),
        polars("i(F).collect().write_ipc_stream(sys.stdout.buffer)", plain, check: sums)
          .compared(as: polars("t=i(F).collect(); " + adding, plain).pipeline),
        duckdb(
          "copy (select sum(id),sum(round(amount*100)),sum(qty),sum(active::int),"
            + "sum(round(score*1e6)) from \(inferred(plain))) to '/dev/null'"),
      ],
      aims: [
        .cpu(1.5, of: "floor"), .cpu(1, of: "polars"), .wall(1, of: "polars"),
        .wall(1, of: "duckdb"), .peak(mebibytes: 32),
      ])
  }

  private var describeTyped: Case {
    let number = Reduction(measure: .number)
    func described(_ types: String) -> Command {
      let words = [tabella, "describe", plain, "-o", "types=\(types)", "--json"]
      let program =
        "import json,sys; print(sum(c['type']!='text' for c in json.load(sys.stdin)['columns']))"
      return Command(
        label: types == "infer" ? "tabella" : "tabella, \(types)", pipeline: [words],
        check: number
      ).compared(as: [words, [tools.python ?? "python3", "-c", program]])
    }
    return Case(
      name: "describe-typed", about: "describe the columns of a CSV file, with their types",
      needs: [.file(.plain)],
      commands: [
        floor("typed", plain, "types", check: number), described("infer"), described("sample"),
        polars(
          "print(sum(t!=pl.String for t in i(F).collect_schema().values()))", plain,
          check: number),
      ],
      aims: [
        .cpu(1.5, of: "floor"), .wall(1, of: "polars", command: "tabella, sample"),
        .peak(mebibytes: 32),
      ])
  }

  // MARK: Groups and order

  private var group: Case { group("city", 2, name: "group", about: "count the rows of each city") }

  private var groupMany: Case {
    group("user", 3, name: "group-many", about: "count the rows of each of 24,000 users")
  }

  private var groupUnique: Case {
    group("code", 6, name: "group-unique", about: "count the rows of each code; nearly all differ")
  }

  private func group(_ column: String, _ number: Int, name: String, about: String) -> Case {
    let groups = Reduction(measure: .set)
    return Case(
      name: name, about: about, needs: [.file(.plain)],
      commands: [
        floor("group", plain, "\(number)", check: groups),
        tabella("count", plain, "--section-by", column, check: groups),
        peer(
          "awk", "-F,", "NR>1{n[$\(number + 1)]++} END{for(c in n) print c \"\\t\" n[c]}", plain,
          speed: .slow, check: groups),
        duckdb(
          "copy (select \(column), count(*) from \(varchars(plain)) group by \(column)) "
            + "to '/dev/stdout' (header false, delimiter '\\t')",
          speed: .slow, check: groups),
        polars(
          "q(F).group_by('\(column)').len().collect()"
            + ".write_csv(sys.stdout.buffer,separator='\\t',include_header=False)",
          plain, check: groups),
        peer(
          "sqlite3", ":memory:", "-tabs", ".import --csv \(plain) t",
          "select \(column), count(*) from t group by \(column)", speed: .far, check: groups),
        peer(
          "mlr", "--icsv", "--onidx", "--ofs", "tab", "count", "-g", column, plain, speed: .far,
          check: groups),
      ],
      aims: [.cpu(1.5, of: "floor"), .cpu(1, of: "duckdb"), .cpu(1, of: "polars")])
  }

  private var summarize: Case {
    summarize(
      "city", 2, name: "summarize", about: "count the rows and add the amounts of each city")
  }

  private var summarizeMany: Case {
    summarize(
      "user", 3, name: "summarize-many",
      about: "count the rows and add the amounts of each of 24,000 users")
  }

  private func summarize(_ column: String, _ number: Int, name: String, about: String) -> Case {
    let groups = Reduction(measure: .set)
    return Case(
      name: name, about: about, needs: [.file(.plain)],
      commands: [
        floor("summarize", plain, "\(number)", "4", check: groups),
        tabella(
          "summarize", plain, "--by", column, "--compute", "rows, sum amount", "--format", "plain",
          check: groups),
        duckdb(
          "copy (select \(column), count(*), sum(amount::decimal(18,2)) from \(varchars(plain)) "
            + "group by \(column)) to '/dev/stdout' (header false, delimiter '\\t')",
          speed: .slow, check: groups),
        polars(
          "i(F).group_by('\(column)').agg(pl.len(),pl.sum('amount').round(2)).collect()"
            + ".write_csv(sys.stdout.buffer,separator='\\t',include_header=False,float_precision=2)",
          plain, check: groups.measuring(.lines)),
      ],
      aims: [.cpu(2, of: "floor"), .cpu(1, of: "duckdb"), .cpu(1, of: "polars")])
  }

  private var sortFirst: Case {
    let body = Reduction(measure: .order)
    let named = Reduction(measure: .order, skipping: 1)
    return Case(
      name: "sort-first", about: "show the 20 rows with the smallest amounts",
      needs: [.file(.plain)],
      commands: [
        floor("sort", plain, "4", "20", check: body),
        tabella("show", plain, "--sort", "amount", "-n", "20", "--format", "csv", check: named),
        pipe(
          ["tail", "-n", "+2", plain], ["sort", "-t,", "-k5,5n", "-s"], ["head", "-n", "20"],
          speed: .slow, check: body),
        duckdb(
          "copy (from \(inferred(plain)) order by amount limit 20) to '/dev/stdout' (header)",
          speed: .slow, check: named.measuring(.lines)),
        polars(
          "i(F).sort('amount').head(20).collect().write_csv(sys.stdout.buffer)", plain,
          check: named.measuring(.lines)),
        peer(
          "mlr", "--csv", "top", "-n", "20", "-f", "amount", "--min", "-a", plain, speed: .far,
          check: named.measuring(.lines)),
        peer(
          "sqlite3", ":memory:", "-csv", "-header", ".import --csv \(plain) t",
          "select * from t order by cast(amount as real) limit 20", speed: .far,
          check: named.measuring(.lines)),
      ],
      aims: sortAims(1.5))
  }

  private var sortAll: Case {
    let body = Reduction(measure: .order)
    let named = Reduction(measure: .order, skipping: 1)
    return Case(
      name: "sort-all", about: "export all rows, sorted by amount, as CSV", needs: [.file(.plain)],
      commands: [
        floor("sort", plain, "4", check: body),
        tabella("export", plain, "--sort", "amount", "--format", "csv", check: named),
        pipe(
          ["tail", "-n", "+2", plain], ["sort", "-t,", "-k5,5n", "-s"], speed: .slow, check: body),
        duckdb(
          "copy (from \(inferred(plain)) order by amount) to '/dev/stdout' (header)", speed: .slow,
          check: named.measuring(.lines)),
        polars(
          "i(F).sort('amount').collect().write_csv(sys.stdout.buffer)", plain, speed: .slow,
          check: named.measuring(.lines)),
      ],
      aims: sortAims(2))
  }

  private var sortTextFirst: Case {
    let body = Reduction(measure: .order)
    let named = Reduction(measure: .order, skipping: 1)
    return Case(
      name: "sort-text-first", about: "show the first 20 rows by note, the largest amounts first",
      needs: [.file(.plain)],
      commands: [
        floor("texts", plain, "9", "4", "20", check: body),
        tabella(
          "show", plain, "--sort", "note,amount:desc", "-n", "20", "--format", "csv", check: named),
        duckdb(
          "copy (from \(inferred(plain)) order by note, amount desc limit 20) "
            + "to '/dev/stdout' (header)", speed: .slow, check: named.measuring(.lines)),
        polars(
          "i(F).sort('note','amount',descending=[False,True],maintain_order=True).head(20)"
            + ".collect().write_csv(sys.stdout.buffer)",
          plain, check: named.measuring(.lines)),
      ],
      aims: [
        .cpu(1.5, of: "floor"), .cpu(1, of: "duckdb"), .cpu(1, of: "polars"), .peak(mebibytes: 24),
      ])
  }

  private var sortTextAll: Case {
    let body = Reduction(measure: .order)
    let named = Reduction(measure: .order, skipping: 1)
    return Case(
      name: "sort-text-all", about: "export all rows by note, the largest amounts first, as CSV",
      needs: [.file(.plain)],
      commands: [
        floor("texts", plain, "9", "4", check: body),
        tabella("export", plain, "--sort", "note,amount:desc", "--format", "csv", check: named),
        duckdb(
          "copy (from \(inferred(plain)) order by note, amount desc) to '/dev/stdout' (header)",
          speed: .slow, check: named.measuring(.lines)),
        polars(
          "i(F).sort('note','amount',descending=[False,True],maintain_order=True).collect()"
            + ".write_csv(sys.stdout.buffer)",
          plain, speed: .slow, check: named.measuring(.lines)),
      ],
      aims: [.cpu(2, of: "floor"), .cpu(1, of: "duckdb"), .cpu(1, of: "polars")])
  }

  private func sortAims(_ cpu: Double) -> [Aim] {
    [
      .cpu(cpu, of: "floor"), .cpu(1, of: "duckdb"), .cpu(1, of: "polars"),
      .peak(mebibytes: 24 + Double(16 * sizes.plain) / 1_048_576),
    ]
  }

  // MARK: The same over two providers

  private var groupCells: Case {
    let groups = Reduction(measure: .set)
    return cells(
      name: "group-cells", about: "count the rows of each value, from CSV and from a provider in C",
      ["count"], ["--section-by", "a"], groups)
  }

  private var sortCells: Case {
    let rows = Reduction(measure: .order)
    return cells(
      name: "sort-cells",
      about: "show the first 20 rows in order, from CSV and from a provider in C",
      ["show"], ["--sort", "a:desc", "-n", "20", "--format", "csv"], rows)
  }

  /// Commands over the same cells from both providers. Views behave in the same way for both.
  private func cells(
    name: String, about: String, _ command: [String], _ options: [String], _ check: Reduction
  ) -> Case {
    let folder = CellsProvider(cache: cache).folder.path
    func over(_ location: String, _ label: String) -> Command {
      let environment = ["env", "TABELLA_PROVIDER_PATH=\(folder)"]
      return Command(
        label: label,
        pipeline: [environment + [tabella] + command + ["--in-process", location] + options],
        check: check)
    }
    return Case(
      name: name, about: about, needs: [.cells],
      commands: [over(cache.cellsFile, "CSV"), over("cells:\(sizes.cells)", "C")],
      reference: "CSV", aims: [.cpu(1.25, of: "CSV", command: "C")])
  }

  // MARK: Comparisons

  private var diff: Case {
    let changed = cache.changedFile
    func signs(_ text: String) -> Reduction { Reduction(measure: .lines, containing: text) }
    return Case(
      name: "diff", about: "print the rows that differ in two CSV files, a thousandth of all",
      needs: [.file(.plain), .changed],
      commands: [
        floor("differences", plain, changed, check: Reduction(measure: .lines)),
        tabella("diff", plain, changed, check: signs("~ ")),
        tabella(
          "diff", plain, changed, "--key", "id", label: "tabella --key", check: signs("~ ")),
        // diff ends with status 1 if there are differences.
        Command(
          label: "diff",
          pipeline: [["sh", "-c", "diff \"$0\" \"$1\"; test $? = 1", plain, changed]],
          tool: "diff", check: signs("> ")),
      ],
      aims: [.cpu(1, of: "diff"), .cpu(1.5, of: "tabella", command: "tabella --key")])
  }

  // MARK: Edits

  private var deleteRow: Case {
    let (edited, copied) = (cache.editedFile, cache.copiedFile)
    return Case(
      name: "delete-row", about: "delete a row in the middle of a large CSV file, on the disk",
      needs: [.file(.plain), .copy],
      commands: [
        Command(
          label: "floor",
          pipeline: [["sh", "-c", "cp \"$0\" \"$1\" && sync \"$1\"", plain, copied]]),
        Command(
          label: "tabella",
          pipeline: [
            ["env", "XDG_STATE_HOME=\(cache.path("state"))", tabella]
              + ["delete", edited, "\(sizes.plain / 2)", "--yes"]
          ]),
      ],
      aims: [.wall(1, of: "floor"), .peak(mebibytes: 32)])
  }

  // MARK: Searches

  private var searchText: Case {
    let phrase = "juniper kelp quince"
    return search(
      name: "search", about: "export the rows that contain a phrase in a column",
      floor("search", plain, phrase, check: Reduction(measure: .order)),
      // A search for small letters ignores the case, and a filter does not.
      tabella(
        "export", plain, "--filter", "note ~ \(phrase)", "--format", "csv",
        check: Reduction(measure: .order, skipping: 1)),
      peer("rg", phrase, plain, check: Reduction(measure: .order)), of: .plain)
  }

  private var searchCase: Case {
    let text = "juniper kelp quince"
    return search(
      name: "search-case",
      about: "export the rows that contain a phrase in any column, in any case",
      floor("search", plain, text, "case", check: Reduction(measure: .order)),
      tabella(
        "export", plain, "--search", text, "--format", "csv",
        check: Reduction(measure: .order, skipping: 1)),
      peer("rg", "-i", text, plain, check: Reduction(measure: .order)), of: .plain)
  }

  private var filterPattern: Case {
    let pattern = "quince [a-p]+ umbel$"
    return search(
      name: "filter-pattern", about: "export the lines that match a regular expression",
      floor("search", text, "quince ", "pattern", check: Reduction(measure: .order)),
      tabella(
        "export", "text:\(text)", "--filter", "line ~ \(pattern)", "--format", "csv", "--no-header",
        check: Reduction(measure: .order)),
      peer("rg", pattern, text, check: Reduction(measure: .order)), of: .text)
  }

  /// No text is in every match, so every line must be examined.
  private var filterClasses: Case {
    let pattern = "[0-9]7 [o-q][a-z]+ [x-z]"
    return search(
      name: "filter-classes",
      about: "export the lines that match a regular expression without a fixed text",
      nil,
      tabella(
        "export", "text:\(text)", "--filter", "line ~ \(pattern)", "--format", "csv", "--no-header",
        check: Reduction(measure: .order)),
      peer("rg", pattern, text, check: Reduction(measure: .order)), of: .text)
  }

  private func search(
    name: String, about: String, _ floor: Command?, _ tabella: Command, _ peer: Command,
    of kind: DataKind
  ) -> Case {
    var aims: [Aim] = [.cpu(1, of: "rg"), .wall(1, of: "rg"), .peak(mebibytes: 24)]
    if floor != nil { aims.append(.cpu(1.5, of: "floor")) }
    return Case(
      name: name, about: about, needs: [.file(kind)],
      commands: (floor.map { [$0] } ?? []) + [tabella, peer],
      reference: floor == nil ? "tabella" : nil, aims: aims)
  }

  // MARK: Text

  private var textCount: Case {
    let number = Reduction(measure: .number)
    return Case(
      name: "text-count", about: "count the lines of a text file", needs: [.file(.text)],
      commands: [
        floor("lines", text, check: number),
        tabella("count", "text:\(text)", check: number),
        peer("wc", "-l", text, check: number),
        peer("sed", "-n", "$=", text, check: number),
        peer("awk", "END{print NR}", text, check: number),
      ],
      aims: [.cpu(1.1, of: "wc"), .peak(mebibytes: 24)])
  }

  private var textLine: Case {
    let line = max(sizes.text * 9 / 10, 2)
    let same = Reduction(measure: .order)
    return Case(
      name: "text-line", about: "show one line from nine tenths of the way into a text file",
      needs: [.file(.text)],
      commands: [
        floor("lines", text, "\(line)", check: same),
        tabella(
          "show", "text:\(text)", "--rows", "\(line - 1)..\(line - 1)", "--format", "csv",
          "--no-header", check: same),
        pipe(["tail", "-n", "+\(line)", text], ["head", "-n", "1"], check: same),
        peer("sed", "-n", "\(line){p;q}", text, check: same),
        peer("awk", "NR==\(line){print; exit}", text, check: same),
      ],
      aims: [.cpu(1.2, of: "tail | head"), .peak(mebibytes: 24)])
  }

  // MARK: Folders

  private var folderNames: Case {
    let folder = cache.manyFiles
    let names = Reduction(measure: .set)
    return Case(
      name: "dir-names", about: "show the names in a folder", needs: [.manyFiles],
      commands: [
        floor("folder", "names", folder, check: names),
        tabella(
          "show", folder, "--columns", "name", "--format", "csv",
          check: Reduction(measure: .set, skipping: 1)),
        peer("ls", "-U", folder, check: names),
        peer("ls", folder, label: "ls, sorted", check: names),
        peer("find", folder, "-mindepth", "1", "-printf", "%f\\n", check: names),
        peer("fdfind", "-HIu", "-d1", ".", folder, check: names.measuring(.lines)),
      ],
      aims: [.cpu(1.3, of: "floor")])
  }

  private var folderStat: Case {
    let folder = cache.manyFiles
    let names = Reduction(measure: .set, upTo: comma)
    return Case(
      name: "dir-stat", about: "show a folder with all columns", needs: [.manyFiles],
      commands: [
        floor("folder", "stat", folder, check: names),
        tabella(
          "show", folder, "--format", "csv",
          check: Reduction(measure: .set, skipping: 1, upTo: comma)),
        peer("ls", "-lU", folder, check: Reduction(measure: .lines, skipping: 1)),
        peer(
          "find", folder, "-mindepth", "1", "-printf", "%f,%y,%s,%t,%m,%u,%g,%n\\n", check: names),
        peer("fdfind", "-HIu", "-d1", "-l", ".", folder, check: Reduction(measure: .lines)),
      ],
      aims: [.wall(0.75, of: "floor")])
  }

  private var folderSort: Case {
    let folder = cache.manyFiles
    let names = Reduction(measure: .order, upTo: comma)
    return Case(
      name: "dir-sort", about: "show a folder, the largest file first", needs: [.manyFiles],
      commands: [
        floor("folder", "sort", folder, check: names),
        tabella(
          "show", folder, "--sort", "size:desc", "--format", "csv",
          check: Reduction(measure: .order, skipping: 1, upTo: comma)),
        peer("ls", "-lS", folder, check: Reduction(measure: .lines, skipping: 1)),
        peer("ls", "-S", folder, label: "ls, names", check: names),
        pipe(
          ["find", folder, "-mindepth", "1", "-printf", "%s %f\\n"], ["sort", "-rn"],
          check: names.measuring(.lines)),
      ],
      aims: [.cpu(1.3, of: "floor")])
  }

  private var folderTotal: Case {
    let folder = cache.manyFiles
    let name = folder.split(separator: "/").last ?? ""
    let sum = Reduction(measure: .number)
    return Case(
      name: "total", about: "the size of everything in a folder", needs: [.manyFiles],
      commands: [
        floor("total", folder, check: sum),
        tabella(
          "export", String(folder.dropLast(name.count)), "--filter",
          "name = \(name)", "--columns", "total", "--no-header", check: sum),
        peer("du", "-sb", folder, check: sum),
      ],
      aims: [.wall(0.75, of: "floor")])
  }

  // MARK: Processes

  private var processes: Case {
    // Other processes come and go, so only those of the herd are counted.
    let herd = Reduction(measure: .lines, containing: "tabella-herd")
    return Case(
      name: "processes", about: "show all processes with all columns", needs: [.herd],
      commands: [
        floor("processes", check: herd),
        tabella("show", "processes:", "--format", "csv", check: herd),
        peer("ps", "-eo", "pid,ppid,user,stat,ni,pcpu,rss,lstart,comm,args", check: herd),
      ],
      aims: [.cpu(0.65, of: "ps")])
  }

  // MARK: Words

  private let comma = UInt8(ascii: ",")

  private func floor(_ program: String, _ words: String..., check: Reduction? = nil) -> Command {
    Command(label: "floor", pipeline: [[floors(program)] + words], check: check)
  }

  private func tabella(
    _ words: String..., label: String = "tabella", check: Reduction? = nil
  ) -> Command {
    Command(label: label, pipeline: [[tabella] + words], check: check)
  }

  private func peer(
    _ words: String..., label: String? = nil, speed: Command.Speed = .near,
    check: Reduction? = nil
  ) -> Command {
    Command(
      label: label ?? words[0], pipeline: [words], tool: words[0], speed: speed, check: check)
  }

  private func pipe(
    _ pipeline: [String]..., speed: Command.Speed = .near, check: Reduction? = nil
  ) -> Command {
    Command(
      label: pipeline.map { $0[0] }.joined(separator: " | "), pipeline: pipeline,
      tool: pipeline[0][0], speed: speed, check: check)
  }

  private func duckdb(
    _ query: String, speed: Command.Speed = .near, check: Reduction? = nil
  ) -> Command {
    // Its progress would be written between the rows of the output.
    let program =
      "import duckdb,sys; c=duckdb.connect(); c.execute('set enable_progress_bar=false'); "
      + "c.execute(sys.argv[1])"
    return Command(
      label: "duckdb", pipeline: [[tools.python ?? "python3", "-c", program, query]],
      tool: "duckdb", speed: speed, check: check)
  }

  /// Polars code. `q` reads every column as text, `i` infers types, and `F` is the file.
  private func polars(
    _ expression: String, _ file: String, speed: Command.Speed = .near, check: Reduction? = nil
  ) -> Command {
    let program = """
      import polars as pl,sys; F=sys.argv[1]; i=pl.scan_csv; \
      q=lambda f: i(f,infer_schema=False); \(expression)
      """
    return Command(
      label: "polars", pipeline: [[tools.python ?? "python3", "-c", program, file]],
      tool: "polars", speed: speed, check: check)
  }

  private func varchars(_ file: String) -> String { "read_csv('\(file)', all_varchar=true)" }
  private func inferred(_ file: String) -> String { "read_csv('\(file)')" }
}
