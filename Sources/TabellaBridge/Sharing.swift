import CTabella
import Tabella

/// The id of a table that is not part of the contract. Only hosts and providers of the same build use it, so its
/// functions can change with the number in the id.
private let sharingID = "tabella.internal.sharing/2"

/// The C form of ``RowSharing`` and ``RowShares``.
private struct SharingTable {
  /// Divides the rows of a section. `out` receives the shares, or null, and `count` their number.
  typealias Divide =
    @convention(c) (
      _ source: UnsafeMutableRawPointer, _ section: Int64, _ first: Int64, _ size: Int64,
      _ out: UnsafeMutablePointer<UnsafeMutableRawPointer?>, _ count: UnsafeMutablePointer<Int64>,
      _ error: UnsafeMutablePointer<tabella_error>
    ) -> Int32
  /// Divides rows of a section, which have these numbers. `covered` receives how many of them the shares have. The rest is
  /// as in `Divide`.
  typealias Gather =
    @convention(c) (
      _ source: UnsafeMutableRawPointer, _ section: Int64, _ rows: UnsafePointer<UInt32>?,
      _ rowCount: Int64, _ size: Int64, _ out: UnsafeMutablePointer<UnsafeMutableRawPointer?>,
      _ count: UnsafeMutablePointer<Int64>, _ covered: UnsafeMutablePointer<Int64>,
      _ error: UnsafeMutablePointer<tabella_error>
    ) -> Int32
  typealias Share =
    @convention(c) (
      _ shares: UnsafeMutableRawPointer, _ number: Int64,
      _ out: UnsafeMutablePointer<tabella_source>, _ error: UnsafeMutablePointer<tabella_error>
    ) -> Int32
  typealias Take =
    @convention(c) (
      _ shares: UnsafeMutableRawPointer, _ share: UnsafeMutableRawPointer,
      _ error: UnsafeMutablePointer<tabella_error>
    ) -> Int32

  var divide: Divide?
  var gather: Gather?
  var share: Share?
  var take: Take?
  var release: (@convention(c) (_ shares: UnsafeMutableRawPointer) -> Void)?
}

/// Owns the shares while C uses them.
private final class SharesBox {
  let shares: any RowShares

  init(_ shares: any RowShares) { self.shares = shares }

  static func of(_ pointer: UnsafeMutableRawPointer) -> SharesBox {
    Unmanaged<SharesBox>.fromOpaque(pointer).takeUnretainedValue()
  }
}

nonisolated(unsafe) private let sharingTable = immortal(
  SharingTable(
    divide: { source, section, first, size, out, count, error in
      answer(source, error) { box throws(TableError) in
        guard let sharing = box.base.sharing else {
          throw TableError(.notSupported, "no sharing")
        }
        let shares = try sharing.shares(
          ofSection: Int(section), from: Int(first), size: Int(size))
        count.pointee = Int64(shares?.count ?? 0)
        out.pointee = shares.map { Unmanaged.passRetained(SharesBox($0)).toOpaque() }
      }
    },
    gather: { source, section, rows, rowCount, size, out, count, covered, error in
      answer(source, error) { box throws(TableError) in
        guard let sharing = box.base.sharing else {
          throw TableError(.notSupported, "no sharing")
        }
        let shares = try sharing.shares(
          gathering: UnsafeBufferPointer(start: rows, count: Int(rowCount)),
          inSection: Int(section), size: Int(size))
        count.pointee = Int64(shares?.count ?? 0)
        covered.pointee = Int64(shares?.rowCount ?? Int(rowCount))
        out.pointee = shares.map { Unmanaged.passRetained(SharesBox($0)).toOpaque() }
      }
    },
    share: { shares, number, out, error in
      answer(error) { () throws(TableError) in
        out.pointee = exportSource(try SharesBox.of(shares).shares.share(Int(number)))
      }
    },
    take: { shares, share, error in
      answer(error) { () throws(TableError) in
        let box = Unmanaged<SourceBox>.fromOpaque(share).takeUnretainedValue()
        try SharesBox.of(shares).shares.take(box.base)
      }
    },
    release: { Unmanaged<SharesBox>.fromOpaque($0).release() }))

/// Runs `body`, and converts a thrown error to a C error.
private func answer(
  _ error: UnsafeMutablePointer<tabella_error>, _ body: () throws(TableError) -> Void
) -> Int32 {
  do throws(TableError) {
    try body()
    return TABELLA_OK
  } catch let failure {
    return report(failure, to: error)
  }
}

extension SourceBox {
  /// The table of the source if it can divide its rows and this is the id of the table.
  func sharingTable(for id: tabella_string) -> UnsafeRawPointer? {
    // A gate lets one call at a time pass.
    guard id.holds(sharingID), gate == nil, base.sharing != nil else { return nil }
    return UnsafeRawPointer(TabellaBridge.sharingTable)
  }
}

/// Divides the rows of a C source through the internal table.
final class ImportedSharing: RowSharing {
  private unowned let source: ImportedSource
  /// The table, which is asked for only if many rows are read.
  private lazy var table = try? source.foreign.ability(sharingID, SharingTable.self) {
    [
      ("divide", $0.divide != nil), ("gather", $0.gather != nil), ("share", $0.share != nil),
      ("take", $0.take != nil), ("release", $0.release != nil),
    ]
  }

  init(_ source: ImportedSource) { self.source = source }

  var canShare: Bool { table != nil }

  func shares(
    ofSection section: Int, from first: Int, size: Int
  ) throws(TableError) -> (any RowShares)? {
    guard let table else { throw TableError(.notSupported, "no sharing") }
    try source.refreshColumns()
    let foreign = source.foreign
    var raw: UnsafeMutableRawPointer?
    var count: Int64 = 0
    try foreign.call("sharing.divide") {
      table.divide!(foreign.source, Int64(section), Int64(first), Int64(size), &raw, &count, $0)
    }
    return raw.map { ImportedShares(source, table, $0, count: Int(count), rowCount: nil) }
  }

  func shares(
    gathering rows: UnsafeBufferPointer<UInt32>, inSection section: Int, size: Int
  ) throws(TableError) -> (any RowShares)? {
    guard let table else { throw TableError(.notSupported, "no sharing") }
    try source.refreshColumns()
    let foreign = source.foreign
    var raw: UnsafeMutableRawPointer?
    var (count, covered): (Int64, Int64) = (0, 0)
    try foreign.call("sharing.gather") {
      table.gather!(
        foreign.source, Int64(section), rows.baseAddress, Int64(rows.count), Int64(size), &raw,
        &count, &covered, $0)
    }
    return raw.map { ImportedShares(source, table, $0, count: Int(count), rowCount: Int(covered)) }
  }
}

/// The shares of a C source.
private final class ImportedShares: RowShares {
  let count: Int
  let rowCount: Int?
  private let foreign: ForeignSource
  private let columns: [Column]
  private let table: SharingTable
  private let shares: UnsafeMutableRawPointer

  init(
    _ source: ImportedSource, _ table: SharingTable, _ shares: UnsafeMutableRawPointer, count: Int,
    rowCount: Int?
  ) {
    (foreign, columns) = (source.foreign, source.columns)
    (self.table, self.shares) = (table, shares)
    (self.count, self.rowCount) = (count, rowCount)
  }

  deinit { table.release!(shares) }

  func share(_ number: Int) throws(TableError) -> any TableDataSource {
    var raw = tabella_source()
    try foreign.checking("sharing.share") { () throws(TableError) in
      try TabellaBridge.call("sharing.share") { table.share!(shares, Int64(number), &raw, $0) }
    }
    let source = try ImportedSource(
      share: ForeignSource(raw, provider: foreign.provider), columns)
    return try CheckedSource(
      source, provider: foreign.provider, searcher: ImportedSearching(source))
  }

  func take(_ share: any TableDataSource) throws(TableError) {
    guard let share = ((share as? CheckedSource)?.base as? ImportedSource)?.foreign else {
      throw TableError(.invalidArgument, "the share belongs to another source")
    }
    try foreign.call("sharing.take") { table.take!(shares, share.source, $0) }
  }
}
