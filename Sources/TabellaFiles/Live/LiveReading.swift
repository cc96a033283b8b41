import Tabella
import TabellaSystem

// The two ways to a newer version of a file: reading the bytes at its end, and reading it again.

extension LiveFile {
  /// Shows the bytes that were appended to the open file, as far as their records have ended.
  ///
  /// With `holds`, a record without an end waits until ``hasEnded(_:_:)`` is true: half a line of a log is no row. A
  /// record that is shown already stays shown.
  func extend<Source: LiveRecords>(
    _ source: Source, _ bytes: FileBytes, holds: Bool
  ) throws(TableError) -> [ChangeBatch.Change]? {
    let text = source.text
    let file = try OpenFile(duplicating: bytes.file.descriptor)
    guard file.fingerprint.continues(bytes.file.fingerprint) else {
      return try reread(source, file, holds: holds)
    }
    note(file.fingerprint)
    let size = file.fingerprint.size
    let rules = text.reader.rules
    try frontier.advance(FileBytes(file), size: size, rules, source.cancel)
    var count = size
    if holds, frontier.end < size, !hasEnded(file.fingerprint, file) {
      count = max(bytes.count, frontier.end)
    }
    guard count > bytes.count, var digests else {
      examined = file.fingerprint
      if count < size { expect(in: pace.rest) }
      return []
    }
    let (settled, offset) = (digests.settled.count, digests.end)
    // The open record is in the last section, or begins one.
    let section = max(0, (text.foundSections?.count ?? 1) - 2)
    let old = text.sections(from: section, record: settled, digests.digest, count: digests.count)
    let before = (file: bytes.file, count: bytes.count)
    // The array must have one owner while it grows.
    self.digests = nil
    bytes.show(file, count: count)
    text.reopen(at: settled, offset)
    do throws(TableError) {
      if try source.keepsRules(afterGrowthFrom: before.count) {
        text.rewind()
        try text.read(into: &digests, source.cancel)
      } else {
        bytes.show(before.file, count: before.count)
        text.reopen(at: settled, offset)
        self.digests = digests
        return try reread(source, file, holds: holds)
      }
    } catch {
      bytes.show(before.file, count: before.count)
      text.reopen(at: settled, offset)
      text.restart()
      throw error
    }
    let new = text.sections(from: section, record: settled, digests.digest, count: digests.count)
    self.digests = digests
    examined = file.fingerprint
    source.shownFile.show(file)
    follow(file, isNew: false)
    beginVerifying()
    if count < size { expect(in: pace.rest) }
    let changes = RecordDifference(ofEnds: old, new, first: section).changes
    return changes.count > LiveFile.mostChanges ? nil : changes
  }

  /// Reads a file from its start, shows it, and compares its records with the shown ones.
  ///
  /// With `isAnother`, it is another log under the same name, so all of its rows are new. Returns nil if the columns
  /// changed, or if the old records are not known.
  func reread<Source: LiveRecords>(
    _ source: Source, _ file: OpenFile, holds: Bool, isAnother: Bool = false
  ) throws(TableError) -> [ChangeBatch.Change]? {
    let isNew = file.fingerprint.inode != followed?.fingerprint.inode
    let old = source.text
    let oldSize = old.file.size ?? 0
    let oldDigests = followed === (old.file as? FileBytes)?.file ? digests : nil
    let new = try read(source, file, holds: holds)
    let changes = oldDigests.flatMap { oldDigests in
      difference(
        (old, oldDigests), (new.text, new.digests), isAnother: isAnother,
        isShorter: !isNew && (new.text.file.size ?? 0) < oldSize)
    }
    let file = (new.text.file as? FileBytes)?.file ?? file
    source.shownFile.show(file)
    source.show(new.text)
    digests = nil
    try adopt(source, new.digests, file, began: new.began, isAtRest: new.isAtRest)
    follow(file, isNew: isNew)
    if isHolding(new.text) { expect(in: pace.rest) }
    return changes
  }

  private func isHolding(_ text: some RecordText) -> Bool {
    (text.file as? FileBytes).map { isHolding($0) } ?? false
  }

  /// A reading of a whole file.
  private struct Reading<Text: RecordText> {
    var text: Text
    var digests: RecordDigests
    var began: Double
    var isAtRest: Bool
  }

  /// Reads a whole file. Reads it again if it changes meanwhile; growth is no such change.
  private func read<Source: LiveRecords>(
    _ source: Source, _ opened: OpenFile, holds: Bool
  ) throws(TableError) -> Reading<Source.Text> {
    var file = opened
    for _ in 0..<3 {
      guard file.isStored else {
        throw TableError(.conflict, "is not a regular file any more; open it again")
      }
      note(file.fingerprint)
      let (began, isAtRest) = (now(), age(file.fingerprint) >= pace.rest)
      var text = try source.read(FileBytes(file, mayGrow: true))
      var digests = try text.digests(source.cancel)
      if holds, digests.open != nil, !hasEnded(file.fingerprint, file) {
        // Half a record is no row. Without it, the rules must be the same.
        let shorter = try source.read(FileBytes(file, count: digests.end, mayGrow: true))
        if shorter.start == text.start, shorter.columns == text.columns,
          shorter.reader.rules == text.reader.rules
        {
          digests = try shorter.digests(source.cancel)
          text = shorter
        }
      }
      if try Fingerprint(of: file.descriptor).continues(file.fingerprint) {
        return Reading(text: text, digests: digests, began: began, isAtRest: isAtRest)
      }
      file = try OpenFile(duplicating: file.descriptor)
    }
    throw TableError(.conflict, "changes faster than it can be read; try again")
  }

  /// The changes between two readings; nil if they cannot be listed.
  private func difference<Text: RecordText>(
    _ old: (text: Text, digests: RecordDigests), _ new: (text: Text, digests: RecordDigests),
    isAnother: Bool, isShorter: Bool
  ) -> [ChangeBatch.Change]? {
    guard old.text.columns == new.text.columns else { return nil }
    func sections(_ one: (text: Text, digests: RecordDigests)) -> [SectionDigests] {
      one.text.sections(from: 0, one.digests.digest, count: one.digests.count)
    }
    let (before, after) = (sections(old), sections(new))
    func replaced() -> [ChangeBatch.Change]? {
      let hasSections = old.text.foundSections != nil
      guard hasSections || old.digests.count + new.digests.count <= LiveFile.mostChanges else {
        return nil
      }
      return RecordDifference.replacing(before, by: after, hasSections: hasSections)
    }
    if isAnother { return replaced() }
    // A log that was copied and then truncated begins with another line.
    if isShorter, old.digests.first != new.digests.first { return replaced() }
    let difference = RecordDifference(from: before, to: after)
    // Without a common row, no row is a new form of an old one.
    if !difference.hasSurvivors, !(before + after).allSatisfy(\.rows.isEmpty) { return replaced() }
    return difference.changes.count > LiveFile.mostChanges ? nil : difference.changes
  }
}

extension RecordText {
  /// Makes the records from `number` on unknown, because their bytes can have changed.
  fileprivate func reopen(at number: Int, _ offset: Int) {
    reader.forget()
    reader.index.reopen(at: number, offset: offset)
  }
}
