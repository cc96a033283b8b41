import Tabella

// The laws of ownership.

extension Law {
  static let batchOutlivesSource = Law(
    "batch-outlives-source", "A batch can be read after its source is released.",
    hint: "a batch owns its memory; it must not point into the source", needsOneProcess: true
  ) { trial in
    var source: (any TableDataSource)? = try trial.open()
    guard let opened = source, try opened.numberOfSections(knowing: 1).value > 0 else {
      throw Skipped(reason: "no sections")
    }
    let request = RowRequest(first: 0, count: 50, columns: Array(opened.columns.indices))
    let batch = try trial.fetch(opened, request)
    let before = (0..<batch.rowCount).map { batch.row($0) }
    let other = try trial.fetch(opened, request)
    source = nil
    _ = other
    let after = (0..<batch.rowCount).map { batch.row($0) }
    try require(
      same(before, after),
      "a batch changed when its source was released: \(firstDifference(before, after))"
    )
  }

  static let memoryReturns = Law(
    "memory-returns", "Repeated reads of the same rows take no more memory.",
    hint: "the release of a batch must free it once; do not keep results forever",
    needsQuiet: true
  ) { trial in
    let source = try trial.open()
    let sections = try trial.sections(source)
    let columns = Array(source.columns.indices)
    try trial.requireReturn("reading", of: source, calls: max(sections.count, 1)) {
      for section in sections {
        _ = try source.rows(RowRequest(section: section, first: 0, count: 64, columns: columns))
        _ = try source.sections?.title(.header, ofSection: section)
      }
    }
  }

  static let answersReturn = Law(
    "answers-return",
    "No result or error is kept: repeating a call takes no more memory, "
      + "descriptors or threads.",
    hint: "free the memory of errors, elements and lookups, also when a call is refused",
    needsQuiet: true
  ) { trial in
    let source = try trial.open()
    for (what, ask) in try trial.answers(of: source) {
      try trial.requireReturn(what, of: source, calls: 1, ask)
    }
  }

  static let dryRunsReturn = Law(
    "dry-runs-return",
    "A dry run keeps no memory: results and changes are freed when they are released.",
    hint: "free all of a tabella_edit_result in its release, changes included", needsQuiet: true,
    edits: true
  ) { trial in
    let table = try trial.editedTable()
    guard var batch = try trial.drawBatch(table) else {
      throw Skipped(reason: "no edit could be made")
    }
    batch.isDryRun = true
    try trial.requireReturn("a dry run", of: table.source, calls: 1, rounds: 40) {
      _ = try table.attempt(batch)
    }
    try table.expectUnchanged("a dry run")
  }

  static let openingsReturn = Law(
    "openings-return",
    "Repeated opening, reading and releasing takes no more memory, descriptors or threads.",
    hint: "release must free everything that open allocated, close its files and end its threads",
    needsQuiet: true, needsOneProcess: true
  ) { trial in
    let keeper = try trial.open()
    try trial.requireReturn("an opening", of: keeper, calls: 1, rounds: 40) {
      let source = try trial.open()
      guard try source.numberOfSections(knowing: 1).value > 0 else { return }
      _ = try source.rows(
        RowRequest(first: 0, count: 20, columns: Array(source.columns.indices)))
    }
  }
}

extension Trial {
  /// Throws if `rounds` more rounds of `body` make the source's process use more and more resources. A round consists
  /// of `calls` calls.
  ///
  /// Caches may fill at first, and live data may grow. A leak keeps growing by at least a pointer and malloc's overhead
  /// per call. malloc's own caches of free memory count as used, and fill slowly if sizes vary: so heap that grows is
  /// measured sixty times before it counts as a leak.
  fileprivate func requireReturn(
    _ what: String, of source: any TableDataSource, calls: Int, rounds: Int = 200,
    _ body: () throws -> Void
  ) throws {
    let rounds = repetitions(rounds, least: 4)
    func holding() throws -> ResourceUse {
      for _ in 0..<rounds { try body() }
      return try resources(of: source)
    }
    var last = try holding()
    var least = ResourceUse(heap: .max, descriptors: .max, threads: .max)
    for measurement in 0..<60 {
      guard measurement < 3 || least.heap >= rounds * calls * 16 else { break }
      let now = try holding()
      least.heap = min(least.heap, now.heap - last.heap)
      least.descriptors = min(least.descriptors, now.descriptors - last.descriptors)
      least.threads = min(least.threads, now.threads - last.threads)
      last = now
    }
    try require(
      least.heap < rounds * calls * 16,
      "\(rounds) more rounds of \(what) took \(least.heap) bytes more, each time")
    try require(
      least.descriptors <= 0,
      "\(rounds) more rounds of \(what) left \(least.descriptors) descriptors open, each time")
    try require(
      least.threads <= 0,
      "\(rounds) more rounds of \(what) left \(least.threads) threads, each time")
  }

  /// Requests other than for rows, with their names.
  fileprivate func answers(
    of source: any TableDataSource
  ) throws -> [(what: String, ask: () throws -> Void)] {
    var answers: [(String, () throws -> Void)] = [
      ("versions", { _ = try source.version() }),
      ("counts", { _ = try source.numberOfSections(knowing: 1) }),
      ("refusals", { _ = try? source.numberOfRows(inSection: -1, knowing: 0) }),
    ]
    let section = try sections(source).first { try rowCount(source, $0) > 0 }
    guard let section else { return answers }
    let path = IndexPath(section: section, row: 0)
    let columns = Array(source.columns.indices)
    answers.append(
      (
        "refused rows",
        {
          _ = try? source.rows(
            RowRequest(section: section, first: .max, count: 1, columns: columns))
        }
      ))
    if let identity = source.identity {
      let id = try ids(source, section: section, rows: 0..<1)[0]
      answers.append(("lookups of an id", { _ = try identity.indexPath(forID: id) }))
      answers.append(
        ("failed lookups", { _ = try? identity.indexPath(forID: "no-such-id") }))
    }
    if let gathering = source.gathering {
      answers.append(
        (
          "gathering",
          { _ = try gathering.rows(at: [path, path], columns: columns, includesIDs: false) }
        ))
    }
    if let index = source.sectionIndex {
      answers.append(("the index", { _ = try index.sectionIndexTitles() }))
    }
    if let supplementary = source.supplementary {
      answers.append(("the kinds of elements", { _ = try supplementary.supplementaryKinds() }))
      for kind in try supplementary.supplementaryKinds() {
        answers.append(
          (
            "the \(kind) of a row",
            { _ = try? supplementary.supplementaryElement(ofKind: kind, at: path) }
          ))
      }
    }
    if let accessories = source.accessories {
      answers.append(
        ("where a row leads", { _ = try accessories.location(forRowAt: path) }))
    }
    if let editing = source.editing {
      answers.append(
        (
          "whether a row may be edited",
          {
            _ = try editing.editability(ofRows: path.row..<path.row + 1, inSection: section)
            _ = try editing.editableColumns()
          }
        ))
    }
    if let changes = source.changes {
      answers.append(("pulling", { _ = try changes.pull() }))
    }
    return answers
  }
}
