import Tabella
import Testing

@testable import TabellaTestSupport

@Suite struct CellTextTests {
  /// Reals with few digits have a way of their own. Their text is the shortest that reads back, as in the library.
  @Test func realsHaveTheirShortestText() {
    var generator = SeededGenerator(seed: 4)
    var reals: [Double] = [0, -0.0, 0.001, 0.0009, 1e11, 1e11 - 1, 99_999_999_999.999_9, 0.1 + 0.2]
    for _ in 0..<20_000 {
      let places = Int.random(in: 0...7, using: &generator)
      let digits = Int64.random(in: -(1 << 50)...(1 << 50), using: &generator)
      let scale = (0..<places).reduce(1.0) { power, _ in power * 10 }
      reals.append(Double(digits >> Int64.random(in: 0...50, using: &generator)) / scale)
      reals.append(Double(bitPattern: .random(in: .min ... .max, using: &generator)))
    }
    let builder = BatchBuilder([.real])
    for real in reals { builder.columns[0].append(real) }
    let column = builder.finish().columns[0]
    var place = [UInt8](repeating: 0, count: ColumnBatch.longestText)
    for (row, real) in reals.enumerated() {
      let count = place.withUnsafeMutableBytes { column.writeText(of: row, to: $0.baseAddress!) }
      // In a literal, a NaN has its payload.
      let text = real.description
      let shortest = text.hasSuffix(".0") ? String(text.dropLast(2)) : text
      #expect(String(decoding: place[..<count], as: UTF8.self) == shortest)
      #expect(Cell.real(real).description == shortest)
    }
  }

  /// The written text equals the description, to the last digit.
  @Test func textIsTheDescription() throws {
    var integers: [Int64] = [0, 1, -1, .max, .min, 9, 10, -10]
    var power: Int64 = 1
    for _ in 0..<18 {
      power *= 10
      integers += [power, power - 1, -power, 1 - power]
    }
    let reals: [Double] = [
      0, -0.5, 1, 1.5e300, .infinity, -.infinity, .nan, .leastNonzeroMagnitude,
      .greatestFiniteMagnitude, 0.1,
    ]
    let dates = [0, -1, 1_700_000_000_123_456_789, .max, .min].map {
      Timestamp(nanoseconds: $0)
    }
    let cells: [(ColumnType, [Cell])] = [
      (.integer, integers.map { .integer($0) }), (.real, reals.map { .real($0) }),
      (.boolean, [true, false]), (.date, dates.map { .date($0) }),
    ]
    for (type, cells) in cells {
      let builder = BatchBuilder([type])
      for cell in cells { builder.columns[0].append(cell) }
      let column = builder.finish().columns[0]
      var place = [UInt8](repeating: 0, count: ColumnBatch.longestText)
      for (row, cell) in cells.enumerated() {
        let count = place.withUnsafeMutableBytes { column.writeText(of: row, to: $0.baseAddress!) }
        #expect(String(decoding: place[..<count], as: UTF8.self) == cell.description)
      }
    }
  }
}
