import Tabella

// Descriptions of arguments and answers for the trace: numbers and lengths, never contents.

extension RowRequest {
  /// `0:0 up to 200, columns 0 2, with ids`
  var traced: String {
    "\(section):\(first) up to \(count), \(columns.tracedColumns)"
      + (includesIDs ? ", with ids" : "")
  }
}

extension [Int] {
  /// `columns 0 to 11` for more than 3 in sequence, `columns 3 1` for others.
  var tracedColumns: String {
    guard let first, let last, count > 3, self == Array(first...(first + count - 1)) else {
      return isEmpty ? "no columns" : "columns " + shortened { "\($0)" }
    }
    return "columns \(first) to \(last)"
  }
}

extension Array {
  /// The first few elements and the total number.
  package func shortened(_ limit: Int = 8, _ words: (Element) -> String) -> String {
    let first = prefix(limit).map(words).joined(separator: " ")
    return count > limit ? "\(first) … \(count) in all" : first
  }
}

extension Batch {
  /// `120 rows × 3 columns, 4113 bytes`
  var traced: String {
    "\(rowCount) rows × \(columns.count) columns\(ids == nil ? "" : " and ids"), \(byteCount) bytes"
  }
}

extension RowReference {
  /// `0:5`, or the length of an id.
  var traced: String {
    switch self {
    case .path(let path): "\(path)"
    case .id(let id): id.tracedID
    }
  }
}

extension String {
  /// `an id of 12 bytes`, because ids can contain data of the row.
  var tracedID: String { "an id of \(utf8.count) bytes" }

  /// `12 bytes`
  var tracedLength: String { "\(utf8.count) bytes" }
}

extension EditBatch {
  /// `at version 5f3a, dry run: set 0:5 columns 1, delete an id of 12 bytes`
  var traced: String {
    let edits = edits.shortened { edit in
      switch edit {
      case .insert(let path, _) where path.isSection:
        "insert at \(path)\(edit.givesTitle ? " titled" : ""),"
      case .set(let section, _) where section.isSection: "set the title of \(section.traced),"
      case .insert(let path, let cells):
        "insert at \(path) \(cells.keys.sorted().tracedColumns),"
      case .delete(let row): "delete \(row.traced),"
      case .set(let row, let cells): "set \(row.traced) \(cells.keys.sorted().tracedColumns),"
      case .move(let row, let path): "move \(row.traced) to \(path),"
      }
    }
    return (version.map { "at version \($0)" } ?? "") + (isDryRun ? ", dry run" : "")
      + ": \(edits.hasSuffix(",") ? String(edits.dropLast()) : edits)"
  }
}

extension EditResult {
  /// `2 outcomes, all done; version a to b, 1 change; a receipt of 40 bytes`
  var traced: String {
    let refused = outcomes.compactMap { $0.code?.name }
    var parts = [
      "\(outcomes.count) outcome\(outcomes.count == 1 ? "" : "s"), "
        + (refused.isEmpty ? "all done" : "\(refused.count) not: \(refused.shortened { $0 })"),
      changes.traced,
    ]
    if let receipt { parts.append("a receipt of \(receipt.count) bytes") }
    return parts.joined(separator: "; ")
  }
}

extension ChangeBatch {
  /// `version a to b, 2 changes: delete 0:3, reconfigure 0:4`
  var traced: String {
    let versions = "version \(from?.token ?? "none") to \(to?.token ?? "none")"
    guard let changes else { return "\(versions), read all again" }
    let list = changes.shortened { change in
      switch change {
      case .insert(let path): "insert \(path),"
      case .delete(let path): "delete \(path),"
      case .move(let from, let to): "move \(from) to \(to),"
      case .reload(let path): "reload \(path),"
      case .reconfigure(let path): "reconfigure \(path),"
      }
    }
    let text = list.hasSuffix(",") ? String(list.dropLast()) : list
    return "\(versions), \(changes.count) change\(changes.count == 1 ? "" : "s")"
      + (text.isEmpty ? "" : ": \(text)")
  }
}

extension SupplementaryElement? {
  var traced: String {
    switch self {
    case nil: "none"
    case .text(let text): "text of \(text.bytes.count) bytes, \(text.spans.count) spans"
    case .table(let table): "a table of \(table.columns.count) columns"
    }
  }
}

extension Int {
  /// How many the caller needs to know about.
  var tracedMinimum: String {
    switch self {
    case 0: "as known"
    case .max: "exactly"
    default: "up to \(self)"
    }
  }
}

/// `0:3 to 9`
@Sendable func tracedRange(_ rows: Range<Int>, _ section: Int) -> String {
  "\(section):\(rows.lowerBound) to \(rows.upperBound)"
}
