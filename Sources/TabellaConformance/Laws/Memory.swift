import CTabellaSystem
import Tabella

// The laws of ownership.

extension Law {
  static let batchOutlivesSource = Law(
    "batch-outlives-source", "A batch can be read after its source was released.",
    hint: "a batch owns its memory; nothing in it may point into the source"
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
      "a batch changed with its source's end: \(firstDifference(before, after))"
    )
  }

  static let memoryReturns = Law(
    "memory-returns", "Reading the same rows again and again takes no more memory.",
    hint: "a batch's release must free it, once; an answer must not be kept for ever",
    needsQuiet: true
  ) { trial in
    let source = try trial.open()
    let sections = try trial.sections(source)
    let columns = Array(source.columns.indices)
    func rounds(_ count: Int) throws -> Int {
      for _ in 0..<count {
        for section in sections {
          _ = try source.rows(
            RowRequest(section: section, first: 0, count: 64, columns: columns))
          _ = try source.sections?.title(.header, ofSection: section)
        }
      }
      return Int(tabella_system_heap_in_use())
    }
    // Caches may fill at first; a leak goes on growing by at least a pointer a fetch.
    var last = try rounds(200)
    var growths: [Int] = []
    for _ in 0..<3 {
      let now = try rounds(200)
      growths.append(now - last)
      last = now
    }
    let threshold = 200 * max(sections.count, 1) * 16
    try require(
      growths.min()! < threshold,
      "200 more rounds of reading took \(growths.min()!) bytes more, each time"
    )
  }
}
