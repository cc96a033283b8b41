import Foundation
import Tabella
import TabellaHost

/// The cost of calls between host and provider, measured inside this program. The provider in C makes cells
/// without cost, in this process and in a worker. SQLite reads the same cells from a virtual table.
struct Crossing {
  let cache: Cache
  let rounds: Int

  /// A figure with its name and values.
  struct Figure {
    let name: String
    let unit: String
    let spread: Spread
  }

  func measure() throws -> [Figure] {
    try CellsProvider(cache: cache).build()
    try buildVirtual()
    var cells: [Double] = []
    var isolatedCells: [Double] = []
    var calls: [Double] = []
    var isolatedCalls: [Double] = []
    var starts: [Double] = []
    var virtual: [Double] = []
    for _ in 0..<rounds {
      let here = try open(.never)
      let there = try open(.always)
      cells.append(try scan(here))
      isolatedCells.append(try scan(there))
      calls.append(try call(here, 10_000))
      isolatedCalls.append(try call(there, 2_000))
      starts.append(try start())
      if let time = try sqlite() { virtual.append(time) }
    }
    let figures: [(String, String, [Double])] = [
      ("a cell, in batches, in process", "ns", cells),
      ("a cell, in batches, in a worker", "ns", isolatedCells),
      ("a cell of a SQLite virtual table", "ns", virtual),
      ("a call and its answer, in process", "µs", calls),
      ("a call and its answer, in a worker", "µs", isolatedCalls),
      ("a worker: started, a location opened, ended", "ms", starts),
    ]
    return figures.compactMap { name, unit, values in
      Spread(values).map { Figure(name: name, unit: unit, spread: $0) }
    }
  }

  // Measurements

  private func open(_ isolation: TabellaHost.Host.Isolation) throws -> any TableDataSource {
    let host = TabellaHost.Host(
      searchPath: SearchPath([CellsProvider(cache: cache).folder.path]))
    host.isolation = isolation
    return try host.open("cells:").source
  }

  /// The nanoseconds per cell for reading all rows in batches of 4096 and adding up every cell.
  private func scan(_ source: any TableDataSource) throws -> Double {
    let columns = Array(source.columns.indices)
    let count = try source.exactNumberOfRows(inSection: 0)
    var (first, sum) = (0, Int64(0))
    let time = try seconds {
      while first < count {
        let batch = try source.rows(RowRequest(first: first, count: 4096, columns: columns))
        for column in batch.columns {
          for row in 0..<batch.rowCount { sum &+= column.integer(row) }
        }
        first += batch.rowCount
      }
    }
    // The cells of a batch are the numbers from 0 to 32767.
    guard sum == Int64(count / 4096) * (32767 * 16384) else {
      throw BenchError("the cells came out wrong")
    }
    return time * 1e9 / Double(count * columns.count)
  }

  /// The microseconds per call of the shortest kind.
  private func call(_ source: any TableDataSource, _ count: Int) throws -> Double {
    let time = try seconds {
      for _ in 0..<count { _ = try source.numberOfRows(inSection: 0, knowing: 0) }
    }
    return time * 1e6 / Double(count)
  }

  /// The milliseconds to start a worker, open a location, make one call and end the worker.
  private func start() throws -> Double {
    try seconds { _ = try open(.always).version() } * 1e3
  }

  private func seconds(_ body: () throws -> Void) rethrows -> Double {
    let clock = ContinuousClock()
    let duration = try clock.measure(body).components
    return Double(duration.seconds) + Double(duration.attoseconds) / 1e18
  }

  // SQLite

  private func buildVirtual() throws {
    // SQLite's headers may be missing.
    _ = output([
      try CellsProvider.compiler(), "-O2",
      CellsProvider.sources.appendingPathComponent("virtual.c").path, "-lsqlite3", "-o",
      cache.path("virtual"),
    ])
  }

  /// The nanoseconds per cell with SQLite; nil if the program could not be compiled.
  private func sqlite() throws -> Double? {
    guard FileManager.default.isExecutableFile(atPath: cache.path("virtual")) else { return nil }
    return output([cache.path("virtual")]).flatMap { Double($0) }
  }
}

extension Crossing.Figure {
  /// A row of a table: name, median, minimum and maximum.
  var row: [String] {
    func text(_ value: Double) -> String { String(format: value < 10 ? "%.2f" : "%.1f", value) }
    return [
      name, "\(text(spread.median)) \(unit)", "\(text(spread.least)) to \(text(spread.most))",
    ]
  }
}
