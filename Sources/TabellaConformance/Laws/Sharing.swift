import Tabella

// The laws of resources that sources share: threads, and the library.

extension Law {
  static let threadsMayChange = Law(
    "threads-may-change",
    "Calls can come from any thread, one at a time; the results do not depend on the thread.",
    hint: "keep nothing in thread-local storage, and compare no thread with another",
    needsOneProcess: true
  ) { trial in
    // The source is opened, used and released on different threads.
    var source: (any TableDataSource)? = try OtherThread.run { try trial.open() }
    func asked<R>(_ body: (any TableDataSource) throws -> R) throws -> R {
      guard let source else { throw LawBroken("the source was released too early") }
      return try OtherThread.run { try body(source) }
    }
    let recorded = try asked { try Recorded($0, trial) }
    for round in 0..<24 {
      guard let path = recorded.drawRow(trial) else { break }
      func read(_ source: any TableDataSource) throws {
        try recorded.requireRows(
          from: path, of: source, trial, after: "calls from other threads")
        try require(
          try source.version() == recorded.version, "another thread gets another version")
      }
      if round % 3 == 0, let source { try read(source) } else { try asked(read) }
    }
    try OtherThread.run { source = nil }
  }

  static let openingsAreIndependent = Law(
    "openings-are-independent",
    "Sources of one library do not affect each other, also when one is released.",
    hint: "keep no state of a source in global variables", needsOneProcess: true
  ) { trial in
    var sources = [try trial.open(), try trial.open(), try trial.open()]
    // Each source is compared with its own record, because live data differs between openings.
    var models: [Recorded] = []
    for source in sources { models.append(try Recorded(source, trial)) }
    while true {
      for _ in 0..<30 {
        let number = trial.draw(0..<sources.count)
        guard let path = models[number].drawRow(trial) else { continue }
        try models[number].requireRows(
          from: path, of: sources[number], trial, after: "another opening was read")
        try require(
          try sources[number].version() == models[number].version,
          "the version changed when another opening was read")
      }
      guard sources.count > 1 else { break }
      let ended = trial.draw(0..<sources.count)
      sources.remove(at: ended)
      models.remove(at: ended)
    }
  }
}
