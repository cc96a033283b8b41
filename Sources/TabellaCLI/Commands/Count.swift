import Tabella
import TabellaTerminal
import TabellaThreads

extension Command {
  static let count = Command(
    name: "count", operands: "LOCATION…", operandValues: [.location],
    summary: "print the number of rows",
    discussion: """
      Counts the rows that the options choose, which are the rows that `show` would print. With `--section-by` or \
      `--sections-by` the output has one line per section: its title, a tab, and its number of rows.
      """,
    options: OptionSpec.opening + OptionSpec.shaping + [.columns, .utc, .json],
    examples: [
      ("tabella count data.csv", "count the rows of a file, without its header"),
      (
        "tabella count data.csv --section-by city",
        "count the rows of each city; a line is TITLE, a tab, ROWS"
      ),
      (
        "tabella count src/ -o recursive=true --filter 'kind = file'",
        "count the files in a folder and its subfolders"
      ),
      (
        "tabella count src/ -o recursive=true -o sections=folder --sections-by rows:desc",
        "count the entries of each folder, the largest first"
      ),
    ], seeAlso: ["show", "filter", "sections"]
  ) { invocation, output throws(Failure) in
    let table = try ShapedTable(invocation, command: "count")
    let invocation = try invocation.resolved(in: table)
    let isPerSection = invocation.sectionBy != nil || invocation.sectionsBy != nil
    if !isPerSection || invocation.isJSON {
      var sections: [JSONValue] = []
      let total = try forEachSection(of: table, invocation.range, hasTitles: isPerSection) {
        if isPerSection { sections.append($0.json) }
      }
      if invocation.isJSON {
        var document: JSONObject = ["rows": .number("\(total)")]
        if isPerSection { document["sections"] = .array(sections) }
        try output.write(json: .object(document))
      } else {
        try output.write("\(total)\n")
      }
    } else if !output.isTerminal, let grouped = table.source as? GroupedSource,
      ChosenRows(table, range: invocation.range).isEverything
    {
      let groups = try Failure.about(table.subject) { () throws(TableError) in
        try grouped.allGroups()
      }
      try output.write(groups)
    } else {
      _ = try forEachSection(of: table, invocation.range, hasTitles: true) {
        section throws(Failure) in
        try output.write(section)
      }
    }
    try output.finish()
    Messages.writeDiagnostics(of: table.source, location: table.subject)
    return .done
  }

  /// Calls `body` with the sections that a range of rows reaches, in order. Returns the number of rows in the range.
  private static func forEachSection(
    of table: ShapedTable, _ range: Range<Int>, hasTitles: Bool,
    _ body: (CountedSection) throws(Failure) -> Void
  ) throws(Failure) -> Int {
    var runs = ChosenRows(table, range: range).makeIterator()
    let sections = hasTitles ? table.source.sections : nil
    var total = 0
    while true {
      let section = try Failure.about(table.subject) { () throws(TableError) -> CountedSection? in
        guard let run = try runs.run() else { return nil }
        let (sum, overflow) = total.addingReportingOverflow(run.rows.count)
        guard !overflow else { throw TableError(.misbehaved, "there are more than 2^63 rows") }
        total = sum
        let title = try sections?.title(.header, ofSection: run.section)
        return CountedSection(title: title, rows: run.rows.count)
      }
      guard let section else { return total }
      try body(section)
    }
  }
}

/// A section, and the number of its rows that are chosen.
private struct CountedSection {
  let title: String?
  let rows: Int

  var json: JSONValue {
    .object(["title": title.map { .string($0) } ?? .null, "rows": .number("\(rows)")])
  }
}

extension Output {
  /// The number of groups whose lines a thread writes at once.
  private static let sharedGroups = 1 << 14

  /// Writes a line for each group. Threads share the groups.
  fileprivate func write(_ groups: Groups) throws(Failure) {
    let (count, size) = (groups.count, Output.sharedGroups)
    let outputs = Pool<Output>()
    var failure: Failure?
    produceInOrder((count + size - 1) / size, threads: Cores.count, ahead: Cores.count + 1) {
      part -> Result<Output, Failure> in
      let kept =
        outputs.take() ?? Output(keepingAllFor: self, size: Output.sharedGroups * 32)
      let some = part * size..<min((part + 1) * size, count)
      let counts = groups.rowCounts(ofGroups: some)
      var (group, failure) = (0, nil as Failure?)
      groups.forEachTitle(ofGroups: some) { title in
        guard failure == nil else { return }
        do throws(Failure) {
          try kept.write(title, counts[group])
        } catch {
          failure = error
        }
        group += 1
      }
      return failure.map { .failure($0) } ?? .success(kept)
    } consume: { _, part in
      do throws(Failure) {
        let kept = try part.get()
        try write(kept)
        outputs.add(kept)
        return .all
      } catch {
        failure = error
        return .none
      }
    }
    if let failure { throw failure }
  }

  /// Writes the line of a group whose title has these bytes; nil if it has none.
  private func write(_ title: UnsafeRawBufferPointer?, _ rows: Int) throws(Failure) {
    guard let title, let text = title.baseAddress, SafeText.isPlain(title),
      title.count <= Output.room - Output.roomAfterTitle
    else {
      let title = title.map { String(decoding: $0, as: UTF8.self) }
      return try write(CountedSection(title: title, rows: rows))
    }
    // Most titles are printed unchanged.
    try write(room: title.count + Output.roomAfterTitle) { place in
      place.copyMemory(from: text, byteCount: title.count)
      return Output.endLine(of: rows, at: title.count, of: place)
    }
  }

  /// Writes the line of a section: its title, a tab, and its number of rows.
  fileprivate func write(_ section: CountedSection) throws(Failure) {
    // Titles are data. A line end or tab in a title would break the output format.
    let title = section.title.map { SafeText($0, by: .current) } ?? screen.missing
    let room = title.string.utf8.count + Output.roomAfterTitle
    guard !isTerminal, room <= Output.room else {
      try write(title + "\t")
      try write(section.rows)
      return try write("\n")
    }
    try write(room: room) { place in
      var string = title.string
      let count = string.withUTF8 {
        if let text = $0.baseAddress { place.copyMemory(from: text, byteCount: $0.count) }
        return $0.count
      }
      return Output.endLine(of: section.rows, at: count, of: place)
    }
  }

  /// The maximum number of bytes in a line after its title.
  private static let roomAfterTitle = Int64.longestText + 2

  /// Writes a tab, the number of rows and a line end. Returns the offset of the end.
  private static func endLine(of rows: Int, at offset: Int, of place: UnsafeMutableRawPointer)
    -> Int
  {
    place.storeBytes(of: UInt8(ascii: "\t"), toByteOffset: offset, as: UInt8.self)
    let end = offset + 1 + Int64(rows).write(to: place + offset + 1)
    place.storeBytes(of: UInt8(ascii: "\n"), toByteOffset: end, as: UInt8.self)
    return end + 1
  }
}
