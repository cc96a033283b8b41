import Tabella
import Testing

@testable import TabellaTestSupport

/// A slice of a batch has the same cells as the whole batch there.
@Test(arguments: 0..<20)
func partsHaveTheCellsOfTheWhole(_ seed: Int) {
  var generator = SeededGenerator(seed: UInt64(seed))
  let count = Int.random(in: 0...40, using: &generator)
  let cells = ColumnType.allCases.map { type in
    (0..<count).map { _ in AwkwardCells.cell(type, &generator) }
  }
  let batch = AwkwardCells.batch(cells, ColumnType.allCases)
  let first = Int.random(in: 0...count, using: &generator)
  let part = batch[first..<Int.random(in: first...count, using: &generator)]
  for row in 0..<part.rowCount {
    for (index, column) in part.columns.enumerated() {
      #expect("\(column[row])" == "\(cells[index][first + row])")
      #expect(
        column.missingCount == cells[index][first..<first + part.rowCount].count { $0 == .missing })
    }
  }
}

@Suite struct BatchTests {
  /// Appended cells read back equal, for every type and any pattern of missing cells.
  @Test(arguments: 0..<50)
  func readsWhatWasAppended(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let count = Int.random(in: 0...40, using: &generator)
    let rarity = Int.random(in: 1...10, using: &generator)
    let columns = ColumnType.allCases.map { Column($0.name, $0) }
    let rows: [[Cell]] = (0..<count).map { _ in
      columns.map { column in
        Int.random(in: 0..<rarity, using: &generator) == 0
          ? .missing : randomCell(column.type, &generator)
      }
    }
    let request = RowRequest(
      first: 0, count: max(count, 1), columns: Array(columns.indices), includesIDs: true)
    let builder = BatchBuilder(for: request, of: columns)
    for (number, row) in rows.enumerated() {
      for (column, cell) in zip(builder.columns, row) { column.append(cell) }
      builder.ids?.append("id-\(number)")
    }
    let batch = builder.finish()
    try batch.validate(answering: request, of: columns)
    #expect((0..<count).map { batch.row($0) } == rows)
    #expect((0..<count).map { batch.id($0) } == (0..<count).map { "id-\($0)" })
    for (column, index) in zip(batch.columns, columns.indices) {
      #expect(column.missingCount == rows.count { $0[index] == .missing })
    }
  }

  func randomCell(_ type: ColumnType, _ generator: inout SeededGenerator) -> Cell {
    let bytes = (0..<Int.random(in: 0...20, using: &generator)).map { _ in
      UInt8.random(in: 0...255, using: &generator)
    }
    return switch type {
    case .text: .text(bytes)
    case .binary: .binary(bytes)
    case .integer: .integer(Int64(truncatingIfNeeded: generator.next()))
    case .real: .real(Double(Int32(truncatingIfNeeded: generator.next())) / 7)
    case .boolean: .boolean(generator.next() & 1 == 0)
    case .date: .date(Timestamp(nanoseconds: Int64(truncatingIfNeeded: generator.next())))
    }
  }

  /// The fast UTF-8 check agrees with the standard library on every short string of special bytes.
  @Test func utf8() {
    let tricky: [UInt8] = [0x41, 0x80, 0xBF, 0xC2, 0xE0, 0xED, 0xA0, 0xF0, 0x90, 0xF4, 0xFF]
    var texts: [[UInt8]] = [[]]
    for _ in 0..<4 { texts += texts.flatMap { text in tricky.map { text + [$0] } } }
    for text in Set(texts) {
      for padding in [0, 7, 8] {
        let bytes = [UInt8](repeating: 0x61, count: padding) + text
        let expected = String(validating: bytes, as: UTF8.self) != nil
        #expect(bytes.withUnsafeBytes { $0.isUTF8 } == expected)
      }
    }
  }

  /// A promise of UTF-8 is broken even if only a boundary between cells cuts a character.
  @Test func aCharacterCutByCellsIsNotUTF8() {
    let builder = BatchBuilder([.text])
    for byte in Array("é".utf8) { builder.columns[0].append(.text([byte])) }
    let batch = builder.finish(isUTF8: true)
    #expect(throws: TableError.self) {
      try batch.validate(
        answering: RowRequest(first: 0, count: 2, columns: [0]), of: [Column("a")])
    }
  }
}
