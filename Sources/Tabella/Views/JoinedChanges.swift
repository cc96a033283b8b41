// Changes of joined tables: those of each table, with the section numbers of the joined table.

extension JoinedSource: TableUndoing, TableChanges {
  public func undo(_ receipt: [UInt8], isDryRun: Bool) throws(TableError) -> EditResult {
    let split = receipt.split(
      separator: UInt8(ascii: "~"), maxSplits: 1, omittingEmptySubsequences: false)
    guard split.count == 2, let part = Int(String(decoding: split[0], as: UTF8.self)),
      parts.indices.contains(part), let undoing = parts[part].source.undoing
    else { throw TableError(.conflict, "the receipt belongs to other tables") }
    let versions = try versions()
    return try followed(part, versions, isDryRun: isDryRun) { () throws(TableError) in
      try undoing.undo(Array(split[1]), isDryRun: isDryRun)
    }
  }

  public func listen(_ notify: (@Sendable () -> Void)?) throws(TableError) {
    for part in parts { try part.source.changes?.listen(notify) }
  }

  public func pull() throws(TableError) -> ChangeBatch {
    var (before, after) = (try versionsBeforePull(), [Version?]())
    var changed: [Int: ChangeBatch] = [:]
    for (number, part) in parts.enumerated() {
      after.append(before[number])
      let change: ChangeBatch?
      do throws(TableError) { change = try part.source.changes?.pull() } catch {
        // Tables in front of this one have moved on, and their changes are lost.
        if !changed.isEmpty { lose() }
        throw error
      }
      guard let change else { continue }
      (before[number], after[number]) = (change.from, change.to)
      if change.changes != [] || change.from != change.to { changed[number] = change }
    }
    let own = changes(of: changed, mapped: !owesReload, isDryRun: false)
    owesReload = false
    return ChangeBatch(from: token(before), to: token(after), changes: own)
  }

  /// The versions of the tables. Nil for a table whose file has changed: the pull finds its new version.
  private func versionsBeforePull() throws(TableError) -> [Version?] {
    try parts.map { part throws(TableError) in
      do throws(TableError) { return try part.source.version() } catch {
        guard error.code == .conflict, part.source.changes != nil else { throw error }
        return nil
      }
    }
  }

  /// The changes of the joined table, made from the changes of some tables; nil if the caller must read everything again.
  ///
  /// Unless it is a dry run, the joined table moves on. `mapped` says whether the caller can know the sections of these
  /// tables by number.
  func changes(
    of changed: [Int: ChangeBatch], mapped: Bool, isDryRun: Bool
  ) -> [ChangeBatch.Change]? {
    let (oldStarts, oldColumns) = (starts, columns)
    var changed = changed
    if mapped, !isDryRun {
      for part in changed.keys where changed[part]?.changes == nil {
        changed[part]?.changes = firstSections(ofTable: part)
      }
    }
    var newStarts: [Int]?
    if mapped, changed.values.allSatisfy({ $0.changes != nil }) {
      if isDryRun { newStarts = starts } else { newStarts = try? countedStarts(after: changed) }
    }
    if !isDryRun, !changed.isEmpty || !mapped { moveOn(to: newStarts ?? [0]) }
    guard let newStarts, columns == oldColumns else { return nil }
    var own: [ChangeBatch.Change] = []
    for part in oldStarts.indices {
      // Nobody has seen the tables behind those whose sections are counted.
      own +=
        changed[part]?.changes?.map {
          $0.movedDown(by: oldStarts[part], after: newStarts[part])
        } ?? []
    }
    return own
  }

  /// The insertions of all sections of a table that had none; nil if it had sections, or if they are not counted.
  ///
  /// A view without sections has mapped nothing, so it cannot list its changes.
  private func firstSections(ofTable part: Int) -> [ChangeBatch.Change]? {
    guard starts.indices.contains(part + 1), starts[part] == starts[part + 1],
      let count = try? parts[part].source.numberOfSections(knowing: .max).value
    else { return nil }
    return (0..<count).map { .insert(.section($0)) }
  }

  /// The numbers of sections in front of each table after changes, for the same tables as before.
  private func countedStarts(after changed: [Int: ChangeBatch]) throws(TableError) -> [Int] {
    var new = [0]
    for part in 0..<starts.count - 1 {
      var count = starts[part + 1] - starts[part]
      if changed[part]?.changes?.contains(where: \.isOfSection) == true {
        count = try parts[part].source.numberOfSections(knowing: .max).value
      }
      new.append(new[part] + count)
    }
    return new
  }
}

extension ChangeBatch.Change {
  /// The change with increased section numbers: by `before` for numbers from before the changes, otherwise by `after`.
  fileprivate func movedDown(by before: Int, after: Int) -> ChangeBatch.Change {
    func old(_ path: IndexPath) -> IndexPath {
      IndexPath(section: path.section + before, row: path.row)
    }
    func new(_ path: IndexPath) -> IndexPath {
      IndexPath(section: path.section + after, row: path.row)
    }
    return switch self {
    case .insert(let path): .insert(new(path))
    case .delete(let path): .delete(old(path))
    case .move(let from, let target): .move(from: old(from), to: new(target))
    case .reload(let path): .reload(old(path))
    case .reconfigure(let path): .reconfigure(old(path))
    }
  }
}
