import TabellaFiles

/// A record found naively, as offsets in the text.
struct NaiveRecord: Equatable {
  var start: Int
  var end: Int
  var fields: [Range<Int>]
}

/// Divides a text into records byte by byte: the reference for the kernel and everything built on it.
func naiveRecords(_ text: [UInt8], _ rules: RecordRules) -> [NaiveRecord] {
  var records: [NaiveRecord] = []
  var at = 0
  while at < text.count {
    let start = at
    var fields: [Range<Int>] = []
    while true {
      let fieldStart = at
      at = naiveField(text, at, rules)
      fields.append(fieldStart..<at)
      guard at < text.count, text[at] == rules.delimiter else { break }
      at += 1
      if at == text.count {
        fields.append(at..<at)
        break
      }
    }
    records.append(NaiveRecord(start: start, end: at, fields: fields))
    if at < text.count { at += text[at...].starts(with: [13, 10]) ? 2 : 1 }
  }
  return records
}

/// The end of the field that begins at `start`.
private func naiveField(_ text: [UInt8], _ start: Int, _ rules: RecordRules) -> Int {
  var at = start
  if at < text.count, text[at] == rules.quote {
    at += 1
    while at < text.count {
      if text[at] == rules.escape {
        at += 2
      } else if text[at] == rules.quote {
        at += 1
        guard at < text.count, text[at] == rules.quote else { break }
        at += 1
      } else {
        at += 1
      }
    }
  }
  while at < text.count, !naiveEnds(text, at, rules) { at += text[at] == rules.escape ? 2 : 1 }
  return min(at, text.count)
}

private func naiveEnds(_ text: [UInt8], _ at: Int, _ rules: RecordRules) -> Bool {
  switch text[at] {
  case rules.escape: false
  case rules.delimiter, 10: true
  case 13: rules.endsAtCarriageReturn || text[(at + 1)...].first == 10
  default: false
  }
}

/// The cell that a field encodes.
func naiveCell(_ field: [UInt8], _ rules: RecordRules) -> [UInt8] {
  var cell: [UInt8] = []
  var at = 0
  var isQuoted = false
  if let first = field.first, first == rules.quote {
    isQuoted = true
    at = 1
  }
  while at < field.count {
    if field[at] == rules.escape, at + 1 < field.count {
      cell.append(field[at + 1])
      at += 2
    } else if isQuoted, field[at] == rules.quote {
      if at + 1 < field.count, field[at + 1] == rules.quote {
        cell.append(field[at])
        at += 2
      } else {
        isQuoted = false
        at += 1
      }
    } else {
      cell.append(field[at])
      at += 1
    }
  }
  return cell
}
