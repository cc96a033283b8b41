import CTabella
import Tabella

/// The id of a table that is not part of the contract. Only hosts and providers of the same build use it, so its
/// functions can change with the number in the id.
private let digestingID = "tabella.internal.digesting/1"

/// The C form of ``RowDigesting``.
private struct DigestingTable {
  /// Whether the source can compute the digests of some columns: 1 or 0.
  typealias CanDigest =
    @convention(c) (
      _ source: UnsafeMutableRawPointer, _ columns: UnsafePointer<Int64>?, _ count: Int64
    ) -> Int32
  /// Makes the source of digests. `columns` has all lists of columns, one after the other, and `counts` their lengths.
  typealias Digests =
    @convention(c) (
      _ source: UnsafeMutableRawPointer, _ columns: UnsafePointer<Int64>?,
      _ counts: UnsafePointer<Int64>?, _ lists: Int64, _ first: UInt64, _ second: UInt64,
      _ out: UnsafeMutablePointer<tabella_source>, _ error: UnsafeMutablePointer<tabella_error>
    ) -> Int32

  var canDigest: CanDigest?
  var digests: Digests?
}

nonisolated(unsafe) private let digestingTable = immortal(
  DigestingTable(
    canDigest: { source, columns, count in
      let box = Unmanaged<SourceBox>.fromOpaque(source).takeUnretainedValue()
      guard let digesting = box.base as? any RowDigesting,
        let numbers = try? columnNumbers(columns, count)
      else { return 0 }
      return digesting.canDigest(numbers) ? 1 : 0
    },
    digests: { source, columns, counts, lists, first, second, out, error in
      answer(source, error) { box throws(TableError) in
        guard let digesting = box.base as? any RowDigesting else {
          throw TableError(.notSupported, "no digests")
        }
        let counts = try columnNumbers(counts, lists)
        var rest = try columnNumbers(columns, Int64(counts.reduce(0, +)))[...]
        let numbers = counts.map { count in
          defer { rest = rest.dropFirst(count) }
          return Array(rest.prefix(count))
        }
        guard numbers.allSatisfy(digesting.canDigest) else {
          throw TableError(.notSupported, "no digests of these columns")
        }
        out.pointee = exportSource(
          try digesting.digests(of: numbers, from: RowDigest(first, second)))
      }
    }))

extension SourceBox {
  /// The table of the source if it can compute digests and this is the id of the table.
  func digestingTable(for id: tabella_string) -> UnsafeRawPointer? {
    // A gate lets one call at a time pass.
    guard id.holds(digestingID), gate == nil, base is any RowDigesting else { return nil }
    return UnsafeRawPointer(TabellaBridge.digestingTable)
  }
}

/// Asks a C source for digests through the internal table.
final class ImportedDigesting: RowDigesting {
  private unowned let source: ImportedSource
  /// The table, which is asked for only if tables are compared.
  private lazy var table = try? source.foreign.ability(digestingID, DigestingTable.self) {
    [("canDigest", $0.canDigest != nil), ("digests", $0.digests != nil)]
  }

  init(_ source: ImportedSource) { self.source = source }

  func canDigest(_ columns: [Int]) -> Bool {
    guard let table else { return false }
    let numbers = columns.map { Int64($0) }
    return table.canDigest!(source.foreign.source, numbers, Int64(numbers.count)) == 1
  }

  func digests(
    of lists: [[Int]], from empty: RowDigest
  ) throws(TableError) -> any TableDataSource {
    guard let table else { throw TableError(.notSupported, "no digests") }
    let foreign = source.foreign
    let columns = lists.flatMap { $0.map { Int64($0) } }
    let counts = lists.map { Int64($0.count) }
    var raw = tabella_source()
    try foreign.call("digesting.digests") {
      table.digests!(
        foreign.source, columns, counts, Int64(counts.count), empty.first, empty.second, &raw, $0)
    }
    let digests = try ImportedSource(
      share: ForeignSource(raw, provider: foreign.provider), Array(digestsOf: lists.count))
    return try CheckedSource(
      digests, provider: foreign.provider, sharer: ImportedSharing(digests))
  }
}
