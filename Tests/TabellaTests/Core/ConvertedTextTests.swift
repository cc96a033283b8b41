import Testing

@testable import Tabella
@testable import TabellaTestSupport

/// Whole columns are converted eight bytes at a time. The result is that of `TextValue`, cell by cell. A date may also be
/// a time without a zone.
@Suite struct ConvertedTextTests {
  private static let types: [ColumnType] = [.integer, .real, .boolean, .date]

  /// The cells that `TextValue` makes of a column.
  private func naive(
    _ cells: ColumnBatch, _ type: ColumnType, _ hasComma: Bool, readsClocks: Bool = false
  ) -> [Cell] {
    (0..<cells.count).map { row in
      guard !cells.isMissing(row) else { return .missing }
      return cells.withBytes(at: row) {
        type == .date && readsClocks
          ? Timestamp(clock: $0).map { .date($0) } ?? .missing
          : TextValue.value(in: $0, as: type, hasDecimalComma: hasComma) ?? .missing
      }
    }
  }

  /// Cells with the bits of their reals, because -0 equals 0.
  private func bits(_ cells: [Cell]) -> [Cell] {
    cells.map { cell in
      guard case .real(let value) = cell else { return cell }
      return .integer(Int64(bitPattern: value.bitPattern))
    }
  }

  /// Checks conversion and verification, also of columns that begin inside their memory.
  private func check(_ texts: [[UInt8]?]) {
    let builder = BatchBuilder([.text])
    for text in texts { builder.columns[0].append(text.map { .text($0) } ?? .missing) }
    let all = builder.finish().columns[0]
    for cells in [all, all[min(3, all.count)..<all.count], all[0..<all.count / 2]] {
      for type in Self.types {
        for hasComma in [false, true] {
          let expected = naive(cells, type, hasComma, readsClocks: true)
          let converted = cells.converted(to: type, hasDecimalComma: hasComma)
          #expect(converted.missingCount == expected.count { $0 == .missing })
          #expect(bits((0..<cells.count).map { converted[$0] }) == bits(expected), "\(type)")
          checkMisfits(cells, type, hasComma, naive(cells, type, hasComma))
        }
      }
      #expect(cells.firstText() == (0..<cells.count).first { hasText(cells, $0) })
    }
  }

  private func hasText(_ cells: ColumnBatch, _ row: Int) -> Bool {
    !cells.isMissing(row) && cells.withBytes(at: row) { !$0.isEmpty }
  }

  private func checkMisfits(
    _ cells: ColumnBatch, _ type: ColumnType, _ hasComma: Bool, _ values: [Cell]
  ) {
    let misfits = values.indices.filter { values[$0] == .missing && hasText(cells, $0) }
    var row = 0
    var found: [Int] = []
    while let misfit = cells.firstMisfit(of: type, from: row, hasDecimalComma: hasComma) {
      found.append(misfit)
      row = misfit + 1
    }
    #expect(found == misfits, "\(type)")
  }

  @Test(arguments: 0..<60)
  func columnsAreConvertedLikeCells(_ seed: Int) {
    var generator = SeededGenerator(seed: UInt64(seed))
    let texts = (0..<150).map { _ -> [UInt8]? in
      let kind =
        seed % 7 < DrawnTexts.kinds ? seed % 7 : Int.random(in: 0..<6, using: &generator)
      switch Int.random(in: 0..<12, using: &generator) {
      case 0: return nil
      case 1: return []
      case 2, 3, 4:
        let text = DrawnTexts.text(kind, using: &generator)
        return DrawnTexts.changed(text, using: &generator)
      default: return DrawnTexts.text(kind, using: &generator)
      }
    }
    check(texts)
  }

  /// Missing cells may hide bytes, which are no values.
  @Test func hiddenBytesAreMissing() {
    let bytes = Array("1234".utf8)
    let (offsets, validity): ([Int32], [UInt8]) = ([0, 2, 3, 4], [0b101])
    bytes.withUnsafeBytes { bytes in
      offsets.withUnsafeBufferPointer { offsets in
        validity.withUnsafeBufferPointer { validity in
          let cells = ColumnBatch(
            unsafeLayout: .init(
              validity: validity.baseAddress, values: bytes.baseAddress,
              offsets: offsets.baseAddress), type: .text, count: 3, missingCount: 1, owner: nil)
          let values = cells.converted(to: .integer, hasDecimalComma: false)
          #expect((0..<3).map { values[$0] } == [12, .missing, 4])
          #expect(cells.firstMisfit(of: .date, from: 1, hasDecimalComma: false) == 2)
        }
      }
    }
  }

  /// Long mantissas need more bits than a double has. The nearest double is that of the standard library.
  @Test func longFractionsAreRoundedOnce() throws {
    var generator = SeededGenerator(seed: 1)
    let texts = (0..<20_000).map { _ -> String in
      let digits = String(UInt64.random(in: 1 << 53..<9_999_999_999_999_999_999, using: &generator))
      let whole = Int.random(in: 1..<digits.count, using: &generator)
      return "\(digits.prefix(whole)).\(digits.dropFirst(whole))"
    }
    let builder = BatchBuilder([.text])
    for text in texts { builder.columns[0].append(text) }
    let values = builder.finish().columns[0].converted(to: .real, hasDecimalComma: false)
    let wrong = texts.indices.filter { Double(texts[$0]) != values.real($0) }
    #expect(wrong.isEmpty, "\(wrong.prefix(3).map { texts[$0] })")
  }
}
