/// The columns that a cursor reads, and where their cells are in its batches.
@usableFromInline final class ReadColumns {
  /// The columns of the table.
  @usableFromInline let columns: [Column]
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

/// Finds the columns of a decoder's keys, and notes the columns that it asks for. It belongs to one decoding of many rows.
final class AskedColumns {
  /// Whether the decoder asked for a column that is not read.
  var missesOne = false

  private let names: ColumnNames
  private var isAsked: [Bool]
  /// The column that was found last.
  private var last: Int
  /// For each column, the one that was found after it; at the end, the first one of a row.
  private var following: [Int]

  init(_ names: ColumnNames) {
    self.names = names
    last = names.names.count
    isAsked = [Bool](repeating: false, count: last)
    following = Array(1...last + 1)
    following[last] = 0
  }

  /// The numbers of the columns that the decoder asked for, in order.
  var numbers: [Int] { isAsked.indices.filter { isAsked[$0] } }

  /// Notes that the decoder asked for a column.
  func insert(_ number: Int) {
    if isAsked.indices.contains(number) { isAsked[number] = true }
  }

  /// The number of the column with this name; nil if there is none. A type asks for its keys in the same order for each
  /// row, so the column that followed last time is tried first.
  func find(_ name: String) -> Int? {
    let guess = following[last]
    if names.names.indices.contains(guess), names.isName(name, of: guess) {
      last = guess
      return guess
    }
    guard let number = names.find(name) else { return nil }
    following[last] = number
    last = number
    return number
  }
}

/// A batch of consecutive rows of one section, shared by its rows.
@usableFromInline final class ReadRows {
  let batch: Batch
  @usableFromInline let columns: ReadColumns
  /// The path of the first row.
  let start: IndexPath
  /// The version in which the rows were read, if their editors need it.
  let version: Version?
  /// Whether the rows can be named in an edit.
  let isForEditing: Bool
  /// The columns that a decoder of many rows asks for; nil if there is none.
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
