import Tabella

/// A row or a place for one, as a command line names it.
enum RowArgument: Hashable {
  /// `SECTION:ROW`, or `ROW` alone.
  case place(section: Int?, row: Int)
  /// `SECTION:end`, or `end` alone: behind the last row.
  case end(section: Int?)
  /// `id:ID`.
  case id(String)

  /// Nil if the text names neither.
  init?(_ text: String) {
    if text.hasPrefix("id:") {
      self = .id(String(text.dropFirst(3)))
      return
    }
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard let last = parts.last, parts.count <= 2 else { return nil }
    var section: Int?
    if parts.count == 2 {
      guard let number = TableNumber.read(parts[0], upTo: TableLimits.sections) else { return nil }
      section = number
    }
    if last == "end" {
      self = .end(section: section)
    } else {
      guard let row = TableNumber.read(last) else { return nil }
      self = .place(section: section, row: row)
    }
  }

  /// Reads the argument of a command; throws how rows are written.
  init(_ argument: Argument, command: String, isPlace: Bool = false) throws(Failure) {
    // No id has other bytes, and a repaired one might be another row's.
    let isText = argument.text.utf8.elementsEqual(argument.bytes)
    guard isText, let row = RowArgument(argument.text), isPlace || !row.isEnd else {
      let end = isPlace ? ", end, SECTION:end" : ""
      let several = argument.text.utf8.position(of: "..".utf8) != nil ? ", one for each row" : ""
      throw .usage(
        "\(argument.text) is no row; write ROW, SECTION:ROW\(end) or id:ID\(several)",
        command: command)
    }
    self = row
  }

  var isEnd: Bool {
    if case .end = self { true } else { false }
  }
}
