/// The columns that a cursor reads, and where their cells are in its batches.
final class ReadColumns {
  /// The columns of the table.
  let columns: [Column]
  let names: ColumnNames
  /// The numbers of the read columns, in the order of a batch.
  let numbers: [Int]
  /// For each column of the table, its index in a batch; -1 if it is not read.
  private let indices: [Int]

  init(_ columns: [Column], _ names: ColumnNames, numbers: [Int]) {
    self.columns = columns
    self.names = names
    self.numbers = numbers
    var indices = [Int](repeating: -1, count: columns.count)
    for (index, number) in numbers.enumerated() { indices[number] = index }
    self.indices = indices
  }

  /// The index of a column in a batch; nil if the column is not read.
  func index(of number: Int) -> Int? {
    guard indices.indices.contains(number), indices[number] >= 0 else { return nil }
    return indices[number]
  }
}

/// The columns that a decoder asked for.
final class AskedColumns {
  private(set) var numbers: Set<Int> = []
  /// Whether the decoder asked for a column that is not read.
  var missesOne = false

  func insert(_ number: Int) { numbers.insert(number) }
}

/// A batch of consecutive rows of one section, shared by its rows.
final class ReadRows {
  let batch: Batch
  let columns: ReadColumns
  /// The path of the first row.
  let start: IndexPath
  /// The version in which the rows were read, if their editors need it.
  let version: Version?
  /// Whether the rows can be named in an edit.
  let isForEditing: Bool
  /// Records the columns that a decoder asks for; nil if nobody wants to know them.
  let asked: AskedColumns?

  init(
    _ batch: Batch, _ columns: ReadColumns, start: IndexPath, version: Version?,
    isForEditing: Bool, asked: AskedColumns?
  ) {
    self.batch = batch
    self.columns = columns
    self.start = start
    self.version = version
    self.isForEditing = isForEditing
    self.asked = asked
  }
}
