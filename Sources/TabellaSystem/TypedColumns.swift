import Tabella
import TabellaThreads

extension [Column] {
  /// The number of cells that are worth a thread.
  private static var share: Int { 1 << 15 }

  /// The values of some cells of each column; see `Column.values(of:)`. All processors convert long columns.
  package func values(of cells: [ColumnBatch]) -> [ColumnBatch] {
    let texts = indices.filter { self[$0].reads != nil && cells[$0].type == .text }
    let count = texts.reduce(0) { $0 + cells[$1].count }
    let threads = Swift.min(Cores.count, texts.count, count / Self.share)
    guard threads > 1 else { return zip(self, cells).map { $0.values(of: $1) } }
    var values = cells
    values.withUnsafeMutableBufferPointer { values in
      nonisolated(unsafe) let values = values
      inParallel(threads) { thread in
        for place in stride(from: thread, to: texts.count, by: threads) {
          let column = texts[place]
          values[column] = self[column].values(of: cells[column])
        }
      }
    }
    return values
  }
}
