// Supplementary elements, accessories and display notices of a view, forwarded to its base.

extension MappedSource: TableSupplementary, TableAccessories {
  public func supplementaryKinds() throws(TableError) -> [String] {
    try base.supplementary?.supplementaryKinds() ?? []
  }

  public func supplementaryElement(
    ofKind kind: String, at path: IndexPath
  ) throws(TableError) -> SupplementaryElement? {
    try begin()
    let basePath =
      path.isSection
      ? try baseSection(of: path.section).map { .section($0) } : try basePath(of: path)
    return try basePath.flatMap { path throws(TableError) in
      try base.supplementary?.supplementaryElement(ofKind: kind, at: path)
    }
  }

  public func location(forRowAt path: IndexPath) throws(TableError) -> [UInt8]? {
    try begin()
    return try base.accessories?.location(forRowAt: basePath(of: path))
  }
}

extension MappedSource: TableDisplay, TablePrefetching {
  public func willDisplay(rows: Range<Int>, inSection section: Int) {
    guard let display = base.display else { return }
    flag.begin()
    // The end notice must name the same runs, even if the rows have moved in the meantime.
    let runs = baseRuns(of: rows, section)
    shown.begin(rows, section, runs)
    for run in runs { display.willDisplay(rows: run.rows, inSection: run.section) }
  }

  public func didEndDisplaying(rows: Range<Int>, inSection section: Int) {
    if let runs = shown.end(rows, section) { notifyEndOfDisplay(runs) }
  }

  func notifyEndOfDisplay(_ runs: [RunPlan.Run]) {
    for run in runs { base.display?.didEndDisplaying(rows: run.rows, inSection: run.section) }
  }

  public func prefetch(rows: Range<Int>, inSection section: Int) {
    guard let prefetching = base.prefetching, isMapped(rows, inSection: section) else { return }
    flag.begin()
    for run in baseRuns(of: rows, section) {
      prefetching.prefetch(rows: run.rows, inSection: run.section)
    }
  }

  public func cancelPrefetching(rows: Range<Int>, inSection section: Int) {
    guard let prefetching = base.prefetching, isMapped(rows, inSection: section) else { return }
    flag.begin()
    for run in baseRuns(of: rows, section) {
      prefetching.cancelPrefetching(rows: run.rows, inSection: run.section)
    }
  }

  /// The runs of base rows that the view shows at these rows. Empty if a row does not exist, because notices cannot
  /// fail.
  private func baseRuns(of rows: Range<Int>, _ section: Int) -> [RunPlan.Run] {
    var runs: [RunPlan.Run] = []
    do throws(TableError) {
      try checkRows(rows, section)
      for chunk in rows.chunks {
        let paths = try basePaths(of: chunk, inSection: section)
        runs += RunPlan(paths, joiningOver: 0).runs
      }
    } catch {
      return []
    }
    return runs
  }
}
