/// A shape of a table: which of its rows are shown, in which sections and in which order.
///
/// ```swift
/// let names = ColumnNames(source.columns)
/// var shape = TableShape()
/// shape.conditions = [try Condition(Array("amount > 300".utf8), names)]
/// shape.groupings = try Grouping.list("city,date:month", names)
/// shape.order = try SortDescriptor.list("amount:desc", names)
/// let table = try source.shaped(by: shape)
/// ```
public struct TableShape: Hashable, Sendable {
  /// The conditions that a row must meet, all of them.
  public var conditions: [Condition]
  /// The bytes that a row must contain, all of them, each in some column. See ``TableDataSource/filtered(by:search:dates:)``.
  public var searches: [[UInt8]]
  /// The columns whose values make the sections; empty keeps the source's own sections.
  public var groupings: [Grouping]
  /// The order of the rows within each section; empty keeps the source's own order.
  public var order: [SortDescriptor]
  /// The order of the sections; nil keeps the order of groups, or that of the source.
  public var sectionOrder: SectionOrder?

  /// Creates a shape. Without arguments it changes nothing.
  public init(
    conditions: [Condition] = [], searches: [[UInt8]] = [], groupings: [Grouping] = [],
    order: [SortDescriptor] = [], sectionOrder: SectionOrder? = nil
  ) {
    self.conditions = conditions
    self.searches = searches
    self.groupings = groupings
    self.order = order
    self.sectionOrder = sectionOrder
  }
}

extension TableDataSource {
  /// Returns a view of this source in a shape: it filters first, then groups, then sorts, then orders the
  /// sections. A shape that asks for nothing returns the source itself.
  ///
  /// The columns keep their numbers. `dates` is the zone and the present moment of dates in conditions and groups. `onView` receives
  /// each view that is made, the filter first: a program sets ``MappedSource/onProgress`` there. Throws ``TableError``
  /// with `.invalidArgument` for a column that does not exist and for a condition that makes no sense for its column.
  public func shaped(
    by shape: TableShape, dates: DateContext = .utc, onView: (MappedSource) -> Void = { _ in }
  ) throws(TableError) -> any TableDataSource {
    var source: any TableDataSource = self
    if !shape.conditions.isEmpty || !shape.searches.isEmpty {
      let view = try source.filtered(
        by: shape.conditions, search: shape.searches.first, dates: dates)
      onView(view)
      source = view
    }
    for search in shape.searches.dropFirst() {
      let view = try source.filtered(by: [], search: search)
      onView(view)
      source = view
    }
    if !shape.groupings.isEmpty {
      let view = try source.grouped(by: shape.groupings, in: dates.zone)
      onView(view)
      source = view
    }
    if !shape.order.isEmpty {
      let view = try source.sorted(by: shape.order)
      onView(view)
      source = view
    }
    if let order = shape.sectionOrder {
      let view = try source.sectionsSorted(by: order)
      onView(view)
      source = view
    }
    return source
  }
}
