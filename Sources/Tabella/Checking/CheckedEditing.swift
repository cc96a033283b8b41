// The checks of commits and undos.

/// The treatment of a provider's reports about edits.
package enum EditJudgement {
  /// Verified: the report must fit the state of the source before and after the edit.
  case judged
  /// Verified. If the provider ends during an edit, the closure opens the location again, to find out whether the
  /// edit was applied.
  case judgedAlsoByReopening(() throws(TableError) -> any TableDataSource)
  /// Passed on: another component verifies the report.
  case passedOn
}

extension CheckedSource {
  package func commit(_ batch: EditBatch) throws(TableError) -> EditResult {
    // A provider without the ability to edit titles need not look for titles.
    try check(titlesIn: batch)
    return try edit("editing.commit", batch, outcomes: batch.edits.count) {
      base throws(TableError) in
      try offered(base.editing).commit(batch)
    }
  }

  package func undo(_ receipt: [UInt8], isDryRun: Bool) throws(TableError) -> EditResult {
    try edit("undo.undo", EditBatch([], isDryRun: isDryRun), outcomes: 1) {
      base throws(TableError) in
      try offered(base.undoing).undo(receipt, isDryRun: isDryRun)
    }
  }

  /// Throws ``TableError`` with `.invalidArgument` for a range that no source has.
  func check(asked range: Range<Int>) throws(TableError) {
    guard range.lowerBound >= 0, range.count <= Int(Int32.max) else {
      throw TableError(
        .invalidArgument, "\(range.count) rows from row \(range.lowerBound) cannot be requested")
    }
  }

  /// Calls a function that edits, and verifies its report, including a refusal.
  ///
  /// After the provider has reported success, the method only throws `.misbehaved`, with the receipt.
  private func edit(
    _ function: String, _ batch: EditBatch, outcomes: Int,
    _ body: (any TableDataSource) throws(TableError) -> EditResult
  ) throws(TableError) -> EditResult {
    let judge = Judge(self, before: batch)
    return try call(function) { base throws(TableError) in
      let result: EditResult
      do throws(TableError) {
        result = try body(base)
      } catch {
        throw judge.complete(error, of: batch)
      }
      do throws(TableError) {
        guard result.outcomes.count == outcomes else {
          throw TableError(
            .misbehaved, "returned \(result.outcomes.count) outcomes for \(outcomes) edits")
        }
        for outcome in result.outcomes { try outcome.check() }
        var checked = result
        checked.changes = try result.changes.checked()
        if batch.isDryRun {
          try judge.reports?.checkDryRun()
        } else {
          try verify(checked, of: batch, judge)
        }
        return checked
      } catch {
        var error = error
        error.code = .misbehaved
        error.receipt = result.receipt
        throw error
      }
    }
  }

  private func verify(
    _ result: EditResult, of batch: EditBatch, _ judge: Judge
  ) throws(TableError) {
    do throws(TableError) {
      try follow(result.changes)
    } catch {
      if error.code == .misbehaved, !error.isProviderGone { throw error }
      // The edit is done. If its result cannot be read, for example because of other changes, it is not verified.
      return
    }
    guard let check = judge.reports else { return }
    let plan = try check.check(result.changes)
    try check.checkRows(result, of: batch, plan)
  }
}

/// The data that is recorded before an edit, to verify it.
private struct Judge {
  /// Verifies the provider's report; nil if the report is not verified.
  var reports: EditCheck?
  /// The record for the case that the provider ends, and a function that opens the location again.
  var aftermath: (CommitRecord, () throws(TableError) -> any TableDataSource)?

  /// Records the state of the source before an edit, or before a dry run, which a provider can carry out by mistake.
  init(_ source: CheckedSource, before batch: EditBatch) {
    switch source.judgement {
    case .passedOn: break
    case .judged: reports = EditCheck(source, before: batch)
    case .judgedAlsoByReopening(let open):
      reports = EditCheck(source, before: batch)
      aftermath = (CommitRecord(source, before: batch), open)
    }
  }

  /// Completes the error of an edit that did not succeed.
  func complete(_ error: TableError, of batch: EditBatch) -> TableError {
    if error.aftermath != nil { return settle(error, batch) }
    return reports?.judge(error) ?? error
  }

  /// Completes the error of a provider that ended during an edit.
  private func settle(_ error: TableError, _ batch: EditBatch) -> TableError {
    guard let (before, open) = aftermath, let source = try? open() else {
      return error.settled(.unknown)
    }
    return error.settled(before.find(batch, in: source))
  }
}

extension EditResult.Outcome {
  /// Throws ``TableError`` with `.misbehaved` if the id is invalid.
  fileprivate func check() throws(TableError) {
    guard var id, !id.withUTF8({ RowID.isValid(UnsafeRawBufferPointer($0)) }) else { return }
    throw TableError(
      .misbehaved, "the id of an outcome is not 1 to \(RowID.maximumLength) \(RowID.characters)")
  }
}

extension Array {
  /// Returns the answers. Throws ``TableError`` with `.misbehaved` unless there is one for each element of a range.
  func answering(_ range: Range<Int>) throws(TableError) -> [Element] {
    guard count == range.count else {
      throw TableError(.misbehaved, "returned \(count) answers; \(range.count) were requested")
    }
    return self
  }
}
