// Text for readers of Arrow, which require that all bytes are UTF-8.

extension ColumnBatch {
  /// A text column for readers of Arrow, and the first row whose text is not UTF-8; nil if there is none.
  ///
  /// Missing cells may hide bytes that are not UTF-8, and readers of Arrow look at them. The result is then a copy without
  /// such bytes.
  /// - Complexity: O(bytes), and O(cells) if not all bytes are ASCII.
  package var asUTF8: (column: ColumnBatch, wrongRow: Int?) {
    if isUTF8 { return (self, nil) }
    let wrong = (0..<count).first { row in !isMissing(row) && !withBytes(at: row, \.isUTF8) }
    return (withoutHiddenBytes, wrong)
  }

  /// A copy without bytes under missing cells.
  private var withoutHiddenBytes: ColumnBatch {
    if missingCount == 0 { return self }
    let builder = BatchBuilder([type], capacity: count)
    for row in 0..<count {
      if isMissing(row) {
        builder.columns[0].appendMissing()
      } else {
        withBytes(at: row) { builder.columns[0].append(bytes: $0) }
      }
    }
    return builder.finish().columns[0]
  }
}
