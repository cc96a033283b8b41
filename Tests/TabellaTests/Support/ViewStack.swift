import Tabella

/// A random stack of views, which can be built again on the same tables.
struct ViewStack: CustomStringConvertible {
  enum Layer: CaseIterable {
    case atLeastTwo, compared, search, number, twoColumns, unsorted, kind, amountAndKind, letter,
      rowCount,
      sum, first, joined
  }

  var layers: [Layer]

  var description: String { "\(layers)" }

  init(_ layers: [Layer]) { self.layers = layers }

  init(_ generator: inout SeededGenerator) {
    let count = Int.random(in: 1...4, using: &generator)
    layers = (0..<count).map { _ in Layer.allCases.randomElement(using: &generator)! }
  }

  /// The views over a table. A joined layer adds the other table.
  func view(
    of table: any TableDataSource, joining other: any TableDataSource
  ) throws(TableError) -> any TableDataSource {
    var source = table
    var joins = 0
    for layer in layers {
      if layer == .joined {
        joins += 1
        // A table belongs to one view.
        if joins > 1 { continue }
      }
      source = try layer.view(of: source, joining: other)
    }
    return source
  }
}

extension ViewStack.Layer {
  fileprivate func view(
    of base: any TableDataSource, joining other: any TableDataSource
  ) throws(TableError) -> any TableDataSource {
    switch self {
    case .atLeastTwo:
      return try base.filtered(
        by: [Condition(column: 0, comparison: .greaterOrEqual, value: Array("2".utf8))])
    case .compared:
      return try base.filtered(by: [Condition(column: 0, comparison: .notEqual, otherColumn: 2)])
    case .search: return try base.filtered(by: [], search: Array("e".utf8))
    case .number: return try base.sorted(by: [.init(column: 0)])
    case .twoColumns:
      return try base.sorted(by: [.init(column: 1, isDescending: true), .init(column: 2)])
    case .unsorted: return try base.sorted(by: [])
    case .kind: return try base.grouped(by: .init(column: 1))
    case .amountAndKind: return try base.grouped(by: [.init(column: 2), .init(column: 1)])
    case .letter: return try base.grouped(by: .init(column: 3, by: .letter))
    case .rowCount: return try base.sectionsSorted(by: .init(.rows, isDescending: true))
    case .sum: return try base.sectionsSorted(by: .init(Aggregate(.sum, ofColumn: 2)))
    case .first: return try base.sectionsSorted(by: .init(Aggregate(.first, ofColumn: 3)))
    case .joined: return Tabella.joined([("one", base), ("two", other)])
    }
  }
}
