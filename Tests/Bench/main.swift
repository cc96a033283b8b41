import Foundation

// All programs must sort in the same order.
setenv("LC_ALL", "C", 1)

do {
  exit(try run(Options(Array(CommandLine.arguments.dropFirst()))))
} catch let error as UsageError {
  note("\(error.message) (see --help)")
  exit(2)
} catch {
  note("\(error)")
  exit(1)
}

private func run(_ options: Options) throws -> Int32 {
  if options.help {
    print(Options.usage)
    return 0
  }
  let cache = Cache(
    folder: options.cache, seed: options.seed, sizes: Sizes(plain: options.size))
  if options.clean {
    try cache.clean()
    return 0
  }
  guard let tabella = Tools.find(URL(fileURLWithPath: options.tabella).path) else {
    throw BenchError("there is no \(options.tabella): build it first, or say --tabella FILE")
  }
  let tools = Tools(python: options.python)
  let floors = Floors(cache: cache)
  func cases(_ cache: Cache) -> [Case] {
    Cases(tabella: tabella, tools: tools, cache: cache, floors: floors).all
  }
  let list = cases(cache)
  if options.list {
    print(list.map { "\($0.name): \($0.about)" }.joined(separator: "\n"))
    return 0
  }
  let chosen =
    try options.isWhole ? list : options.cases.map { try named($0, in: list) }
  try cache.create()
  try floors.build()
  let bench = Bench(cache: cache, floors: floors, tools: tools, rounds: options.rounds)
  var crossing: [Crossing.Figure] = []
  if options.isWhole || options.crossing {
    note("crossing")
    crossing = try Crossing(cache: cache, rounds: options.rounds).measure()
  }
  var live: [Live.Figure] = []
  if options.isWhole || options.live {
    note("live")
    live = try Live(tabella: tabella, tools: tools, cache: cache, herd: floors.herd).measure()
  }
  let results = try measure(chosen, bench)
  var growth: Growth?
  if options.isWhole || options.growth {
    note("growth")
    growth = try Growth(beside: results, bench, cases)
  }
  return try report(results, crossing, live, growth, bench, tabella: tabella, options)
}

private func named(_ name: String, in list: [Case]) throws(UsageError) -> Case {
  guard let found = list.first(where: { $0.name == name }) else {
    throw UsageError(
      "there is no case \(name); there are \(list.map(\.name).joined(separator: " "))")
  }
  return found
}

private func measure(_ cases: [Case], _ bench: Bench) throws -> [CaseResult] {
  try bench.cache.prepareSmallFiles()
  // Removes the folder of this run, or of an interrupted one.
  try bench.cache.removeFolder()
  defer { try? bench.cache.removeFolder() }
  return try cases.map { each in
    note(each.name)
    return try bench.run(each)
  }
}

private func report(
  _ results: [CaseResult], _ crossing: [Crossing.Figure], _ live: [Live.Figure], _ growth: Growth?,
  _ bench: Bench, tabella: String, _ options: Options
) throws -> Int32 {
  var tables: [String] = []
  if !results.isEmpty { tables.append(Report.table(results, hiding: bench.cache)) }
  if !crossing.isEmpty {
    tables.append(
      Report.table(head: ["crossing", "median", "least to most"], rows: crossing.map(\.row)))
  }
  if !live.isEmpty {
    tables.append(Report.table(head: ["live tables", "", "aim"], rows: live.map(\.row)))
  }
  if let growth { tables.append(Report.table(head: Growth.head, rows: growth.rows)) }
  let text = tables.joined(separator: "\n")
  if options.isWhole {
    // The tables of all cases are hundreds of lines.
    let file = bench.cache.path("figures.md")
    try Data(text.utf8).write(to: URL(fileURLWithPath: file))
    note("the tables are in \(file)")
  } else {
    print(text)
  }
  let absent = bench.absentTools(results.map(\.case))
  if !results.isEmpty {
    let rows = bench.cache.sizes.plain
    print(Summary(results: results, live: live, absent: absent, rows: rows).text, terminator: "")
  }
  if options.write {
    try Page(
      results: results, crossing: crossing, live: live, growth: growth, bench: bench,
      tabella: tabella
    ).write()
  }
  let wrong = results.filter { $0.isWrong(strict: options.strict) }.map(\.case.name)
  guard !wrong.isEmpty else { return 0 }
  note("wrong: \(wrong.joined(separator: ", "))")
  return 1
}

private func note(_ text: String) {
  FileHandle.standardError.write(Data("tabella-bench: \(text)\n".utf8))
}
