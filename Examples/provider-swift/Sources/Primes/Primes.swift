import TabellaSDK

/// A provider in Swift: `primes:100` shows the primes below 100.
struct PrimesProvider: Provider {
  static let id = "primes"
  static let version = "1.0"

  func open(_ request: OpenRequest) throws(TableError) -> any TableDataSource {
    guard let limit = Int(request.locationText), 0...1_000_000 ~= limit else {
      throw TableError(.invalidArgument, "write primes:LIMIT with a limit up to 1000000")
    }
    return Primes(below: limit)
  }
}

final class Primes: ProviderSource, TableIdentity {
  let columns = [Column("prime", .integer), Column("gap", .integer)]
  private let primes: [Int]

  init(below limit: Int) {
    var isPrime = [Bool](repeating: true, count: max(limit, 2))
    for number in 2..<max(limit, 2) where isPrime[number] {
      for multiple in stride(from: number * number, to: limit, by: number) {
        isPrime[multiple] = false
      }
    }
    primes = (2..<max(limit, 2)).filter { isPrime[$0] && $0 < limit }
  }

  func numberOfRows(inSection section: Int, knowing minimum: Int) throws(TableError) -> Count {
    guard section == 0 else { throw .noSection(section) }
    return .exact(primes.count)
  }

  func rows(_ request: RowRequest) throws(TableError) -> Batch {
    try check(request)
    guard request.section == 0 else { throw .noSection(request.section) }
    guard request.first <= primes.count else {
      throw .noRow(request.first, inSection: 0, of: primes.count)
    }
    let builder = BatchBuilder(for: request, of: columns)
    let end = request.first + min(request.count, primes.count - request.first)
    for row in request.first..<end {
      for (cells, column) in zip(builder.columns, request.columns) {
        if column == 0 {
          cells.append(Int64(primes[row]))
        } else if row == 0 {
          cells.appendMissing()
        } else {
          cells.append(Int64(primes[row] - primes[row - 1]))
        }
      }
      builder.ids?.append("\(primes[row])")
    }
    return builder.finish(rowCount: end - request.first)
  }

  func indexPath(forID id: String) throws(TableError) -> IndexPath {
    guard let row = primes.firstIndex(where: { "\($0)" == id }) else {
      throw TableError(.notFound, "\(id) is not among the primes")
    }
    return IndexPath(section: 0, row: row)
  }
}

// The contract fixes this name.
// swift-format-ignore: AlwaysUseLowerCamelCase
@c @implementation
public func tabella_provider_entry(_ entry: UnsafeMutablePointer<tabella_entry>) -> Int32 {
  PrimesProvider.export(to: entry)
}
