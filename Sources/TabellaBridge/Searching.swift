import CTabella
import Tabella

/// The id of a table that is not part of the contract. Only hosts and providers of the same build use it, so its
/// functions can change with the number in the id.
private let searchingID = "tabella.internal.searching/1"

/// The C form of ``RowSearching``. The terms cross as bytes; see ``SearchTerms``.
private struct SearchingTable {
  typealias Rows =
    @convention(c) (
      _ source: UnsafeMutableRawPointer, _ request: UnsafePointer<tabella_row_request>,
      _ terms: tabella_string, _ out: UnsafeMutablePointer<tabella_batch>,
      _ next: UnsafeMutablePointer<Int64>, _ error: UnsafeMutablePointer<tabella_error>
    ) -> Int32

  var rows: Rows?
}

nonisolated(unsafe) private let searchingTable = immortal(
  SearchingTable(rows: { source, request, terms, out, next, error in
    answer(source, error) { box throws(TableError) in
      guard let searching = box.base.searching else {
        throw TableError(.notSupported, "no searching")
      }
      let asked = request.pointee
      let found = try searching.rows(
        RowRequest(
          section: Int(asked.section), first: Int(asked.first), count: Int(asked.count),
          columns: try columnNumbers(asked.columns, asked.column_count),
          includesIDs: asked.flags & TABELLA_ROWS_IDS != 0),
        containing: try SearchTerms.decoded(try terms.copied("the terms") ?? []))
      next.pointee = Int64(found.next)
      exportBatch(found.batch, to: out)
    }
  }))

extension SourceBox {
  /// The table of the source if it can search and this is the id of the table.
  func searchingTable(for id: tabella_string) -> UnsafeRawPointer? {
    guard id.holds(searchingID), base.searching != nil else { return nil }
    return UnsafeRawPointer(TabellaBridge.searchingTable)
  }
}

/// Searches through the internal table of a C source.
final class ImportedSearching: RowSearching {
  private unowned let source: ImportedSource
  /// The table, which is asked for only if a filter needs it.
  private lazy var table = try? source.foreign.ability(searchingID, SearchingTable.self) {
    [("rows", $0.rows != nil)]
  }

  init(_ source: ImportedSource) { self.source = source }

  var canSearch: Bool { table != nil }

  func rows(_ request: RowRequest, containing terms: [SearchTerm]) throws(TableError) -> FoundRows {
    guard let rows = table?.rows else { throw TableError(.notSupported, "no searching") }
    try source.refreshColumns()
    let foreign = source.foreign
    var raw = tabella_batch()
    var next: Int64 = 0
    let columnNumbers = request.columns.map { Int64($0) }
    let encoded = SearchTerms.encoded(terms)
    try foreign.call("searching.rows") { error in
      columnNumbers.withUnsafeBufferPointer { numbers in
        encoded.withUnsafeBytes { bytes in
          var asked = tabella_row_request(
            section: Int64(request.section), first: Int64(request.first),
            count: Int64(request.count), columns: numbers.baseAddress,
            column_count: Int64(numbers.count),
            flags: request.includesIDs ? TABELLA_ROWS_IDS : 0, reserved: 0)
          let text = tabella_string(
            bytes: bytes.baseAddress?.assumingMemoryBound(to: CChar.self),
            length: Int64(bytes.count))
          return rows(foreign.source, &asked, text, &raw, &next, error)
        }
      }
    }
    return try foreign.checking("searching.rows") { () throws(TableError) in
      let asked = request.numbered(of: source.columns)
      let batch = try importBatch(raw, answering: asked.request, of: asked.columns, foreign.witness)
      return FoundRows(batch, next: Int(next))
    }
  }
}

/// Terms as bytes: for each term a byte for the case rule and the number of texts, then each text with its length.
/// Numbers have 4 bytes, the lowest first.
enum SearchTerms {
  static func encoded(_ terms: [SearchTerm]) -> [UInt8] {
    var bytes: [UInt8] = []
    func put(_ number: Int) {
      for shift in stride(from: 0, to: 32, by: 8) {
        bytes.append(UInt8(truncatingIfNeeded: number >> shift))
      }
    }
    for term in terms {
      bytes.append(term.ignoresCase ? 1 : 0)
      put(term.texts.count)
      for text in term.texts {
        put(text.count)
        bytes += text
      }
    }
    return bytes
  }

  /// Throws ``TableError`` with `.invalidArgument` for bytes that no encoding returns.
  static func decoded(_ bytes: [UInt8]) throws(TableError) -> [SearchTerm] {
    let wrong = TableError(.invalidArgument, "the terms of a search are malformed")
    var rest = bytes[...]
    func take(_ count: Int) throws(TableError) -> ArraySlice<UInt8> {
      guard rest.count >= count else { throw wrong }
      defer { rest = rest.dropFirst(count) }
      return rest.prefix(count)
    }
    func number() throws(TableError) -> Int {
      try take(4).reversed().reduce(0) { $0 << 8 | Int($1) }
    }
    var terms: [SearchTerm] = []
    while !rest.isEmpty {
      let ignoresCase = try take(1).first == 1
      var texts: [[UInt8]] = []
      for _ in 0..<(try number()) {
        let text = Array(try take(try number()))
        guard !text.isEmpty else { throw wrong }
        texts.append(text)
      }
      guard !texts.isEmpty else { throw wrong }
      terms.append(SearchTerm(texts, ignoresCase: ignoresCase))
    }
    return terms
  }
}
