// The checks of answers that read: rows, sections, ids, elements.

extension CheckedSource {
  package func version() throws(TableError) -> Version? {
    try call("version") { base throws(TableError) in try base.version().checked() }
  }

  package func numberOfRows(
    inSection section: Int, knowing minimum: Int
  ) throws(TableError) -> Count {
    try call("row_count") { base throws(TableError) in
      try base.numberOfRows(inSection: section, knowing: minimum)
        .checked(knowing: minimum, limit: TableLimits.rows)
    }
  }

  package func rows(_ request: RowRequest) throws(TableError) -> Batch {
    try check(request)
    return try call("rows") { base throws(TableError) in
      let batch = try base.rows(request)
      try batch.validate(answering: request, of: columns)
      return batch
    }
  }

  package func rows(
    at paths: [IndexPath], columns: [Int], includesIDs: Bool
  ) throws(TableError) -> Batch {
    try check(gathering: paths, columns: columns, includesIDs: includesIDs)
    let request = RowRequest(gathering: paths, columns: columns, includesIDs: includesIDs)
    return try call("gathering.rows") { base throws(TableError) in
      let batch = try offered(base.gathering).rows(
        at: paths, columns: columns, includesIDs: includesIDs)
      try batch.validate(answering: request, of: self.columns)
      guard batch.rowCount > 0 || request.count == 0 else {
        throw TableError(.misbehaved, "returned none of \(request.count) rows")
      }
      return batch
    }
  }

  package func indexPath(forID id: String) throws(TableError) -> IndexPath {
    try call("identity.find") { base throws(TableError) in
      try offered(base.identity).indexPath(forID: id).checked()
    }
  }

  // Sections.

  package func numberOfSections(knowing minimum: Int) throws(TableError) -> Count {
    try call("sections.count") { base throws(TableError) in
      try offered(base.sections).numberOfSections(knowing: minimum)
        .checked(knowing: minimum, limit: TableLimits.sections)
    }
  }

  package func title(_ place: TitlePlace, ofSection section: Int) throws(TableError) -> String? {
    try call("sections.title") { base throws(TableError) in
      try offered(base.sections).title(place, ofSection: section)
    }
  }

  package func sectionIndexTitles() throws(TableError) -> [String] {
    try call("section-index.titles") { base throws(TableError) in
      try offered(base.sectionIndex).sectionIndexTitles()
    }
  }

  package func indexPath(
    forIndexTitle title: String, at index: Int
  ) throws(TableError) -> IndexPath {
    try call("section-index.path") { base throws(TableError) in
      try offered(base.sectionIndex).indexPath(forIndexTitle: title, at: index)
        .checked(mayBeSection: true)
    }
  }

  // Elements, locations, notices.

  package func supplementaryKinds() throws(TableError) -> [String] {
    try call("supplementary.kinds") { base throws(TableError) in
      try offered(base.supplementary).supplementaryKinds()
    }
  }

  package func supplementaryElement(
    ofKind kind: String, at path: IndexPath
  ) throws(TableError) -> SupplementaryElement? {
    try call("supplementary.element") { base throws(TableError) in
      switch try offered(base.supplementary).supplementaryElement(ofKind: kind, at: path) {
      case nil: return nil
      case .text(let text)?: return .text(try text.checked())
      case .table(let table)?: return .table(try CheckedSource(table, provider: provider))
      }
    }
  }

  package func location(forRowAt path: IndexPath) throws(TableError) -> [UInt8]? {
    try call("accessories.location") { base throws(TableError) in
      let location = try offered(base.accessories).location(forRowAt: path)
      guard location?.contains(0) != true else {
        throw TableError(.misbehaved, "a location contains a NUL")
      }
      return location
    }
  }

  package func willDisplay(rows: Range<Int>, inSection section: Int) {
    if rows.lowerBound >= 0 { base.display?.willDisplay(rows: rows, inSection: section) }
  }

  package func didEndDisplaying(rows: Range<Int>, inSection section: Int) {
    if rows.lowerBound >= 0 { base.display?.didEndDisplaying(rows: rows, inSection: section) }
  }

  package func prefetch(rows: Range<Int>, inSection section: Int) {
    if rows.lowerBound >= 0 { base.prefetching?.prefetch(rows: rows, inSection: section) }
  }

  package func cancelPrefetching(rows: Range<Int>, inSection section: Int) {
    if rows.lowerBound >= 0 { base.prefetching?.cancelPrefetching(rows: rows, inSection: section) }
  }

  package func nextDiagnostic() -> Diagnostic? { base.diagnostics?.nextDiagnostic() }
}

/// An ability that the source had when it was opened. Throws ``TableError`` with `.misbehaved` if it is gone.
func offered<A>(_ ability: A?) throws(TableError) -> A {
  guard let ability else { throw TableError(.misbehaved, "an ability is gone") }
  return ability
}

extension Version? {
  /// Returns the version, or nil for an empty one. Throws ``TableError`` with `.misbehaved` for an invalid token.
  func checked() throws(TableError) -> Version? {
    guard let self, !self.token.isEmpty else { return nil }
    guard self.token.utf8.count <= Version.maximumLength,
      self.token.utf8.allSatisfy({ 0x21...0x7E ~= $0 })
    else {
      throw TableError(
        .misbehaved, "the version is not 0 to \(Version.maximumLength) printable ASCII bytes")
    }
    return self
  }
}

extension Count {
  /// Returns the count. Throws ``TableError`` with `.misbehaved` if it is outside the limits, or if it does not
  /// satisfy a request for at least `minimum`.
  fileprivate func checked(knowing minimum: Int, limit: Int) throws(TableError) -> Count {
    guard 0...limit ~= value else {
      throw TableError(.misbehaved, "returned the count \(value), exact \(isExact ? 1 : 0)")
    }
    guard isExact || (minimum < .max && value >= minimum) else {
      throw TableError(
        .misbehaved,
        minimum == .max
          ? "returned at least \(value); the exact number was requested"
          : "returned at least \(value); \(minimum) were requested")
    }
    return self
  }
}

extension StyledText {
  /// Returns the text. Throws ``TableError`` with `.misbehaved` if a span overlaps another one or leaves the text.
  fileprivate func checked() throws(TableError) -> StyledText {
    var end = 0
    for span in spans {
      guard span.bytes.lowerBound >= end, span.bytes.upperBound <= bytes.count else {
        throw TableError(
          .misbehaved,
          "a span of \(span.bytes.count) bytes at \(span.bytes.lowerBound) does not fit the text")
      }
      end = span.bytes.upperBound
    }
    return self
  }
}
