import Tabella

/// The environment of a law: sources and random numbers.
///
/// It validates every batch that it returns.
final class Trial {
  /// The numbers of sections, and of rows per section, that a law examines.
  static let sectionLimit = 12
  static let rowLimit = 200

  private let makeSource: () throws(TableError) -> any TableDataSource
  private let makeScratch: ConformanceSuite.Scratch?
  private let meter: ConformanceSuite.Meter
  /// The size of the data in bytes; 0 if it is unknown.
  private let dataSize: Int
  private var numbers: Numbers
  /// The parts to which the law is limited, in words.
  private var limits: [String] = []

  init(
    seed: UInt64, open: @escaping () throws(TableError) -> any TableDataSource,
    scratch: ConformanceSuite.Scratch?, meter: @escaping ConformanceSuite.Meter, dataSize: Int
  ) {
    self.dataSize = dataSize
    makeSource = open
    makeScratch = scratch
    self.meter = meter
    numbers = Numbers(seed: seed)
  }

  func open() throws -> any TableDataSource { try makeSource() }

  /// A closure that opens editable data.
  func scratch() throws -> () throws(TableError) -> any TableDataSource {
    guard let makeScratch else {
      throw Skipped(reason: "there is no data that the checks may edit")
    }
    return try makeScratch()
  }

  /// The resources of the process in which a source lives.
  func resources(of source: any TableDataSource) throws -> ResourceUse { try meter(source) }

  /// A generator of random numbers (SplitMix64), so that a seed repeats a run on any machine.
  struct Numbers {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func draw(_ range: Range<Int>) -> Int {
      state &+= 0x9E37_79B9_7F4A_7C15
      var mixed = state
      mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
      mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
      mixed ^= mixed >> 31
      return range.lowerBound + Int(mixed % UInt64(range.count))
    }
  }

  /// A random number in the range.
  func draw(_ range: Range<Int>) -> Int { numbers.draw(range) }

  /// A random case of an enumeration.
  func draw<Choice: CaseIterable>(_ choices: Choice.Type) -> Choice
  where Choice.AllCases == [Choice] {
    let all = choices.allCases
    return all[draw(0..<all.count)]
  }

  // The limits of the work

  /// Data above this size limits the repetitions of work that takes time in proportion to the data. In bytes.
  private static let largeData = 1 << 20
  /// The maximum product of repetitions and size for such data.
  private static let mostBytes = 16 << 20

  /// The number of times to repeat work that takes time in proportion to the data: `usual`, or fewer for large data.
  ///
  /// It depends only on the size, so a seed still repeats a run.
  func repetitions(_ usual: Int, least: Int) -> Int {
    guard dataSize > Trial.largeData else { return usual }
    let count = max(least, min(usual, Trial.mostBytes / dataSize))
    if count < usual { note("fewer repetitions, because the data has \(dataSize >> 20) MiB") }
    return count
  }

  /// The parts to which the law was limited, in words; nil if it examined everything.
  var sampling: String? { limits.isEmpty ? nil : limits.joined(separator: "; ") }

  private func note(_ limit: String) {
    if !limits.contains(limit) { limits.append(limit) }
  }

  /// The sections to examine.
  func sections(_ source: any TableDataSource) throws -> Range<Int> {
    let count = try source.numberOfSections(knowing: Trial.sectionLimit).value
    if count > Trial.sectionLimit { note("only the first \(Trial.sectionLimit) sections") }
    return 0..<min(count, Trial.sectionLimit)
  }

  /// The number of rows to examine in a section.
  func rowCount(_ source: any TableDataSource, _ section: Int) throws -> Int {
    let count = try source.numberOfRows(inSection: section, knowing: Trial.rowLimit)
    if count.value > Trial.rowLimit || !count.isExact {
      note("only the first \(Trial.rowLimit) rows of a section")
    }
    return min(count.value, Trial.rowLimit)
  }

  /// One validated batch of rows.
  func fetch(_ source: any TableDataSource, _ request: RowRequest) throws -> Batch {
    let batch = try source.rows(request)
    do {
      try batch.validate(answering: request, of: source.columns)
    } catch {
      throw LawBroken("\(describe(request)) returned an invalid batch: \(error)")
    }
    return batch
  }

  /// One validated batch of gathered rows.
  func gather(
    _ gathering: any TableGathering, _ source: any TableDataSource, _ paths: [IndexPath],
    _ columns: [Int], ids: Bool
  ) throws -> Batch {
    let batch = try gathering.rows(at: paths, columns: columns, includesIDs: ids)
    do {
      try batch.validate(
        answering: RowRequest(gathering: paths, columns: columns, includesIDs: ids),
        of: source.columns)
    } catch {
      throw LawBroken("the rows \(paths), columns \(columns), returned an invalid batch: \(error)")
    }
    return batch
  }

  /// The cells of rows, read in batches of at most `size` rows.
  func read(
    _ source: any TableDataSource, section: Int, rows: Range<Int>, columns: [Int]? = nil,
    size: Int = 64
  ) throws -> [[Cell]] {
    var cells: [[Cell]] = []
    try forEachBatch(source, section, rows, columns, size, ids: false) { batch in
      for row in 0..<batch.rowCount { cells.append(batch.row(row)) }
    }
    return cells
  }

  /// The ids of rows, read in batches of at most `size` rows.
  func ids(
    _ source: any TableDataSource, section: Int, rows: Range<Int>, size: Int = 64
  ) throws -> [String] {
    var ids: [String] = []
    try forEachBatch(source, section, rows, [], size, ids: true) { batch in
      for row in 0..<batch.rowCount { ids.append(batch.id(row) ?? "") }
    }
    return ids
  }

  private func forEachBatch(
    _ source: any TableDataSource, _ section: Int, _ rows: Range<Int>, _ columns: [Int]?,
    _ size: Int, ids: Bool, _ body: (Batch) throws -> Void
  ) throws {
    var first = rows.lowerBound
    while first < rows.upperBound {
      let request = RowRequest(
        section: section, first: first, count: min(size, rows.upperBound - first),
        columns: columns ?? Array(source.columns.indices), includesIDs: ids)
      let batch = try fetch(source, request)
      try require(
        batch.rowCount > 0,
        "\(describe(request)) returned no rows, but the count includes row \(rows.upperBound - 1)")
      try body(batch)
      first += batch.rowCount
    }
  }

  /// Runs a call that must be refused and checks the refusal.
  func expectRefusal(
    _ what: String, _ codes: [TableError.Code], _ body: () throws -> Void
  ) throws {
    do {
      try body()
    } catch let error as TableError {
      let names = codes.map(\.name).joined(separator: " or ")
      try require(
        codes.contains(error.code), "\(what) was refused as \(error.code.name), not \(names)")
      try require(!error.message.isEmpty, "\(what) was refused without a message")
      try require(
        !error.message.utf8.contains { $0 == 10 || $0 == 13 },
        "\(what) was refused with a message of several lines")
      return
    }
    throw LawBroken("\(what) was not refused")
  }

  private func describe(_ request: RowRequest) -> String {
    "section \(request.section), rows \(request.first)..<\(request.first + request.count), columns \(request.columns)"
  }
}

/// Whether two rows have equal cells. NaN equals itself here.
func same(_ left: [Cell], _ right: [Cell]) -> Bool {
  left.count == right.count
    && zip(left, right).allSatisfy { pair in
      if case (.real(let a), .real(let b)) = pair { return a.bitPattern == b.bitPattern }
      return pair.0 == pair.1
    }
}

func same(_ left: [[Cell]], _ right: [[Cell]]) -> Bool {
  left.count == right.count && zip(left, right).allSatisfy { same($0, $1) }
}

/// A description of the first difference between two readings of rows.
func firstDifference(_ left: [[Cell]], _ right: [[Cell]]) -> String {
  for (row, pair) in zip(left, right).enumerated() where !same(pair.0, pair.1) {
    return "row \(row) is \(pair.0) and \(pair.1)"
  }
  return "\(left.count) rows and \(right.count) rows"
}
