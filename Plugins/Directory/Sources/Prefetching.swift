import Tabella

/// The ability to examine entries ahead of the viewer.
extension DirectorySource: TablePrefetching {
  func prefetch(rows: Range<Int>, inSection section: Int) {
    // Names and kinds are in the listing already. A listing that still grows cannot be shared with a thread.
    // A view advises about many short runs of rows, and a thread for each would cost more than it saves.
    guard rows.count >= ExaminingAhead.leastEntries, needsStatuses, traversal.isComplete,
      let entries = try? entries(
        rows.lowerBound, min(rows.count, DirectorySource.batchRows), ofSection: section),
      !entries.isEmpty
    else { return }
    ahead.start(entries, of: listing, root: root)
  }

  func cancelPrefetching(rows: Range<Int>, inSection section: Int) { ahead.cancel() }
}
