import Tabella
import TabellaFiles
import TabellaSystem
import TabellaThreads

extension DelimitedText {
  /// Determines the types of the columns.
  func findTypes(_ options: Options, _ cancel: CancelFlag) throws(TableError) {
    for (column, type) in zip(columns.indices, options.columnTypes) { columns[column].reads = type }
    let found: CellTypes
    switch options.types {
    case .text: return
    case .infer: found = try typesOfAllCells(cancel)
    case .sample:
      found = try observe(reader, cancel, waits: false) {
        $0.end - start < Sniffer.sampleSize
      }
    }
    for (column, type) in found.types.enumerated() { columns[column].reads = type }
  }

  /// Observes all cells. All processors read a stored text; a stream is read to its end. Only tests set `threads` and
  /// `size`, the size of a share in bytes.
  func typesOfAllCells(
    _ cancel: CancelFlag, threads: Int = Cores.count, size: Int = ShareSize.results
  ) throws(TableError) -> CellTypes {
    if threads > 1, let shares = try reader.shares(from: 0, size: size),
      let types = try types(of: shares, threads, cancel)
    {
      if types.undecided.isEmpty { forgetRead() }
      return types
    }
    let types = try observe(reader, cancel) { _ in true }
    if types.undecided.isEmpty { forgetRead() }
    return types
  }

  /// Forgets which records are known, so that this does not depend on the number of threads.
  private func forgetRead() {
    reader.forget()
    reader.index.reopen(at: 0, offset: start)
  }

  /// Observes the cells of all shares. Returns nil if a border between two of them is wrong.
  private func types(
    of shares: RecordShares, _ threads: Int, _ cancel: CancelFlag
  ) throws(TableError) -> CellTypes? {
    var types: CellTypes? = CellTypes(columns)
    var failure: TableError?
    produceInOrder(shares.count, threads: threads, ahead: 2 * threads) { number in
      Result { () throws(TableError) in
        guard let reader = try shares.reader(of: number) else { return nil }
        let types = try observe(reader, cancel) { _ in true }
        return (reader, types)
      }
    } consume: { (_, result: Result<(RecordReader, CellTypes)?, TableError>) in
      do throws(TableError) {
        guard let (reader, found) = try result.get() else { return .all }
        // A share ends early if its columns have turned out to be text.
        let isEnough = found.undecided.isEmpty && !reader.index.endsOpen
        guard shares.continues(with: reader), isEnough || shares.isWhole(reader) else {
          types = nil
          return .none
        }
        types?.merge(found)
        if isEnough { return .none }
        try shares.take(reader)
        return .all
      } catch {
        failure = error
        return .none
      }
    }
    if let failure { throw failure }
    return types
  }

  /// Observes the cells of one page after the other, as long as `goesOn` says so and a type can still change.
  ///
  /// If `waits` is false, only the first page waits for the bytes of a stream.
  private func observe(
    _ reader: RecordReader, _ cancel: CancelFlag, waits: Bool = true,
    while goesOn: (RecordPage) -> Bool
  ) throws(TableError) -> CellTypes {
    var types = CellTypes(columns)
    let builder = BatchBuilder([.text]).columns[0]
    var number = 0
    while let page = try reader.page(with: number, waits: waits || number == 0) {
      try cancel.check()
      let layout = layout(page, page.numbers)
      for column in types.undecided {
        _ = append(column, page, page.numbers, layout, to: builder)
        builder.useOnce { types.observe($0, column: column) }
      }
      number = page.numbers.upperBound
      if types.undecided.isEmpty || !goesOn(page) { break }
    }
    return types
  }
}
