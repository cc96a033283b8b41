import TabellaFiles

/// Records of a share that deserve a diagnostic. The source writes the diagnostic, because it knows their numbers.
final class ShareNotes: RowNotes {
  struct Remark {
    var kind: CSVSource.DiagnosticKind
    var record: Int
    /// The column in which the cell lies, if that is known.
    var column: Int?
  }

  /// The first remark of each kind.
  private(set) var remarks: [Remark] = []
  private(set) var checksUTF8: Bool
  private(set) var checksLongCells: Bool
  private let lastColumn: Int

  /// Looks for what `source` still looks for.
  init(for source: (checksUTF8: Bool, checksLongCells: Bool), lastColumn: Int) {
    (checksUTF8, checksLongCells) = source
    self.lastColumn = lastColumn
  }

  private func add(
    _ kind: CSVSource.DiagnosticKind, _ page: RecordPage, _ record: Int, column: Int? = nil
  ) {
    if remarks.contains(where: { $0.kind == kind }) { return }
    remarks.append(Remark(kind: kind, record: page.textNumber(of: record), column: column))
  }

  func noteSurplus(_ page: RecordPage, _ record: Int) {
    add(.surplus, page, record, column: lastColumn)
  }

  func noteEncoding(_ column: Int, _ page: RecordPage, _ record: Int) {
    checksUTF8 = false
    add(.encoding, page, record, column: column)
  }

  func noteUnclosed(_ page: RecordPage) {
    add(.unclosed, page, page.numbers.upperBound - 1)
  }

  func noteLongCell(_ page: RecordPage, _ record: Int, _ cell: UnsafeRawBufferPointer) {
    checksLongCells = false
    add(.longCell, page, record)
  }
}
