import TabellaSDK

// Changes by other programs. A host pulls them; a thread of the SDK watches the file and says when.

extension ContactsSource: TableChanges {
  func listen(_ notify: (@Sendable () -> Void)?) throws(TableError) { try file.listen(notify) }

  func pull() throws(TableError) -> ChangeBatch {
    let from = version()
    let old = try snapshot()
    var new: AddressBook?
    // While the file is no vCard file, the source stays at its old version, and the pull fails.
    let hasChanged = try file.pull { bytes throws(TableError) in new = try AddressBook(bytes) }
    guard hasChanged, let new else { return ChangeBatch(from: from, to: from, changes: []) }
    show(new)
    return ChangeBatch(from: from, to: version(), changes: old.changes(to: try snapshot()))
  }

  /// The ids and digests of all rows, to compare two versions.
  private func snapshot() throws(TableError) -> TableSnapshot {
    try TableSnapshot(of: self, columns: Array(columns.indices))
  }
}
