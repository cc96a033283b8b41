/// An untrusted source whose answers are checked before anyone uses them.
///
/// The source can lie behind the contract, in a worker, or anywhere else. An answer that breaks the contract is a
/// ``TableError`` with `.misbehaved` that names the provider and the function. Requests that are invalid for every
/// source are refused here, so that each answer can be checked.
///
/// The source that delivers the answers must keep memory safe: the runs of a batch must lie in memory that it owns.
package final class CheckedSource: CompleteSource {
  package let base: any TableDataSource
  let provider: String
  let judgement: EditJudgement
  /// The part of the source that searches; its answers are checked, too.
  let searcher: (any RowSearching)?
  /// The part of the source that divides its rows. Its shares are checked sources.
  let sharer: (any RowSharing)?
  /// The part of the source that computes digests. They are a checked source.
  let digester: (any RowDigesting)?
  package private(set) var columns: [Column]
  package let abilities: AbilitySet
  package let hasVolatileOrder: Bool

  /// Wraps a source of a provider. Throws ``TableError`` with `.misbehaved` if its columns are invalid.
  package init(
    _ base: any TableDataSource, provider: String, edits judgement: EditJudgement = .judged,
    searcher: (any RowSearching)? = nil, sharer: (any RowSharing)? = nil,
    digester: (any RowDigesting)? = nil
  ) throws(TableError) {
    self.base = base
    self.provider = provider
    self.judgement = judgement
    self.searcher = searcher
    self.sharer = sharer
    self.digester = digester
    abilities = AbilitySet(of: base)
    hasVolatileOrder = base.hasVolatileOrder
    columns = try blaming(provider, for: "schema") { () throws(TableError) in
      try checked(columns: base.columns)
    }
  }

  package var storesEdits: Bool { base.storesEdits }
  package var cancellation: (@Sendable () -> Void)? { base.cancellation }

  /// Calls a function of the source and checks the answer. Thrown errors name the provider.
  func call<Answer>(
    _ function: String, _ body: (any TableDataSource) throws(TableError) -> Answer
  ) throws(TableError) -> Answer {
    try blaming(provider, for: function) { () throws(TableError) in try body(base) }
  }

  /// Reads everything that can differ in a new version.
  func follow(_ change: ChangeBatch) throws(TableError) {
    if change.changes == nil { columns = try checked(columns: base.columns) }
  }
}

/// Runs a call of a provider's source, or a check of its answer. Thrown errors name the provider and the function.
package func blaming<Answer>(
  _ provider: String, for function: String, _ body: () throws(TableError) -> Answer
) throws(TableError) -> Answer {
  do throws(TableError) {
    return try body()
  } catch {
    // An error that names a provider is already complete.
    if error.provider != nil { throw error }
    var named = error
    named.provider = provider
    if error.code == .misbehaved {
      named.message = "provider \(provider) broke the contract in \(function): \(error.message)"
    }
    throw named
  }
}

private func checked(columns: [Column]) throws(TableError) -> [Column] {
  for (index, column) in columns.enumerated() {
    guard !column.name.utf8.contains(0) else {
      throw TableError(.misbehaved, "the name of column \(index) contains a NUL", column: index)
    }
    guard column.type == .text || column.reads == nil && !column.hasDecimalComma else {
      throw TableError(
        .misbehaved, "column \(index) is not text, but its cells are read as another type",
        column: index)
    }
    guard column.reads?.isBytes != true else {
      throw TableError(.misbehaved, "column \(index) is read as bytes", column: index)
    }
  }
  return columns
}

// The core of a source. The checks of an ability stand with its protocol, in Abilities/.

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
      if batch.rowCount == 0 {
        try checkEnd(request.section, request.first)
      }
      return batch
    }
  }

  /// Throws ``TableError`` with `.misbehaved` if a section ends in front of a row that its count includes.
  private func checkEnd(_ section: Int, _ end: Int) throws(TableError) {
    let count = try base.numberOfRows(inSection: section, knowing: 0)
    guard count.value <= end else {
      throw TableError(
        .misbehaved, "section \(section) has \(count) rows by its count, but ends at row \(end)")
    }
  }

  /// Throws ``TableError`` with `.misbehaved` unless a row or a section exists.
  func checkExists(_ path: IndexPath) throws(TableError) {
    var exists = path.section < (try base.numberOfSections(knowing: path.section + 1)).value
    if exists, !path.isSection {
      let rows = try base.numberOfRows(inSection: path.section, knowing: path.row + 1)
      exists = path.row < rows.value
    }
    guard exists else { throw TableError(.misbehaved, "returned \(path), which does not exist") }
  }
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
  func checked(knowing minimum: Int, limit: Int) throws(TableError) -> Count {
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
