import Tabella

/// Views over any source with any columns, for the conformance suite.
enum Views {
  typealias Wrap =
    @Sendable (any TableDataSource) throws(TableError) -> any TableDataSource

  static let all: [(name: String, wrap: Wrap)] = [
    ("filtered", { base throws(TableError) in try base.filtered(by: middle(base)) }),
    (
      "compared",
      { base throws(TableError) in
        try base.filtered(
          by: base.columns.isEmpty
            ? [] : [Condition(column: 0, comparison: .equal, otherColumn: 0)])
      }
    ),
    (
      "filtered to nothing",
      { base throws(TableError) in try base.filtered(by: [], search: Array("\u{7}none\u{7}".utf8)) }
    ),
    ("searched", { base throws(TableError) in try base.filtered(by: [], search: [0x31]) }),
    (
      "sorted",
      { base throws(TableError) in
        try base.sorted(by: base.columns.prefix(1).indices.map { .init(column: $0) })
      }
    ),
    (
      "sorted back",
      { base throws(TableError) in
        try base.sorted(
          by: base.columns.indices.reversed().prefix(2).map {
            .init(column: $0, isDescending: true)
          })
      }
    ),
    (
      "grouped",
      { base throws(TableError) in
        base.columns.isEmpty ? base : try base.grouped(by: .init(column: 0, by: .value))
      }
    ),
    (
      "grouped by letter",
      { base throws(TableError) in
        guard let text = base.columns.lastIndex(where: { $0.type == .text }) else { return base }
        return try base.grouped(by: .init(column: text, by: .letter))
      }
    ),
    (
      "grouped by size",
      { base throws(TableError) in
        guard let number = base.columns.firstIndex(where: { $0.type == .integer }) else {
          return base
        }
        return try base.grouped(by: .init(column: number, by: .size))
      }
    ),
    (
      "grouped by two columns",
      { base throws(TableError) in
        guard let first = base.columns.indices.first, let last = base.columns.indices.last else {
          return base
        }
        return try base.grouped(by: [.init(column: last), .init(column: first)])
      }
    ),
    (
      "sections sorted",
      { base throws(TableError) in
        try base.sectionsSorted(by: SectionOrder(.rows, isDescending: true))
      }
    ),
    ("joined alone", { base throws(TableError) in joined([("alone", base)]) }),
    (
      "joined",
      { base throws(TableError) in
        joined([("before", Tables.plain()), ("base", base), ("behind", Tables.everything())])
      }
    ),
  ]

  /// A condition that some rows meet: on a number, otherwise on text, otherwise none.
  private static func middle(_ base: any TableDataSource) -> [Condition] {
    if let column = base.columns.firstIndex(where: { $0.type == .integer }) {
      return [Condition(column: column, comparison: .greaterOrEqual, value: Array("20000".utf8))]
    }
    guard let column = base.columns.firstIndex(where: { $0.type == .text }) else { return [] }
    return [Condition(column: column, comparison: .notEqual, value: Array("1".utf8))]
  }
}
