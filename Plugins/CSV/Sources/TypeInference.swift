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
  /// `least`, the number of bytes that are worth a thread.
  func typesOfAllCells(
    _ cancel: CancelFlag, threads: Int = Cores.count, least: Int = 1 << 20
  ) throws(TableError) -> CellTypes {
    let shares = try reader.shares(threads, least: least)
    guard shares.count > 1 else { return try observe(reader, cancel) { _ in true } }
    var results: [Result<CellTypes, TableError>?] = Array(repeating: nil, count: shares.count)
    results.withUnsafeMutableBufferPointer { results in
      nonisolated(unsafe) let results = results
      inParallel(shares.count) { number in
        let share = shares[number]
        results[number] = Result { () throws(TableError) in
          try observe(reader.reader(of: share), cancel) { $0.end < share.upperBound }
        }
      }
    }
    var types = CellTypes(columns)
    for result in results { if let result { types.merge(try result.get()) } }
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
