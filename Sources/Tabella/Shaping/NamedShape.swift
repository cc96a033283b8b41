extension TableShape {
  /// Reads the texts of a shape, as the command line has them: `amount > 300`, `city,date:month`, `amount:desc`.
  ///
  /// A row must meet all `filters`, and contain `search` in some column; ``searches`` can hold more texts. `sectionsBy` orders the sections, for example
  /// by `rows:desc` or `sum amount`. Throws ``TableError`` with `.invalidArgument` for a text that is none, or that names
  /// a column that does not exist.
  public init(
    filters: [String] = [], search: String? = nil, sectionBy: String? = nil, sort: String? = nil,
    sectionsBy: String? = nil, _ names: ColumnNames
  ) throws(TableError) {
    self.init(searches: search.map { [Array($0.utf8)] } ?? [])
    for filter in filters { conditions.append(try Condition(Array(filter.utf8), names)) }
    if let sectionBy { groupings = try Grouping.list(sectionBy, names) }
    if let sort { order = try SortDescriptor.list(sort, names) }
    if let sectionsBy { sectionOrder = try SectionOrder(sectionsBy, names) }
  }
}

extension TableDataSource {
  /// A view of this source, shaped by texts that name its columns, as in the command line.
  ///
  /// ```swift
  /// let view = try source.shaped(filter: "amount > 300", "paid != true", sectionBy: "city", sort: "amount:desc")
  /// ```
  ///
  /// The view filters first, then makes sections, then sorts rows, then sections; see ``shaped(by:dates:onView:)``.
  /// Without a text it is the source itself. Filters with an array of texts are in
  /// ``TableShape/init(filters:search:sectionBy:sort:sectionsBy:_:)``. `dates` is the zone and the present moment of
  /// dates; pass ``DateContext/local`` for those of the command line. Throws ``TableError`` with `.invalidArgument` for
  /// a wrong text.
  public func shaped(
    filter: String..., search: String? = nil, sectionBy: String? = nil, sort: String? = nil,
    sectionsBy: String? = nil, dates: DateContext = .utc
  ) throws(TableError) -> any TableDataSource {
    try shaped(
      by: TableShape(
        filters: filter, search: search, sectionBy: sectionBy, sort: sort, sectionsBy: sectionsBy,
        ColumnNames(columns)), dates: dates)
  }
}
