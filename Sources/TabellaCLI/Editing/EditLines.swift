import Tabella

/// A batch of edits as text: a JSON object on each line.
struct EditLines {
  /// The subject of messages.
  let file: String
  let cells: CellArguments

  /// The members of each kind of edit, required members first.
  private static func members(
    of kind: RequestedEdit.Kind
  ) -> (needed: [String], optional: [String]) {
    switch kind {
    case .set: (["op", "row", "cells"], [])
    case .insert: (["op", "at"], ["cells"])
    case .delete: (["op", "row"], [])
    case .move: (["op", "row", "to"], [])
    }
  }

  /// Parses the edits. Throws an error with the number of the wrong line.
  func requests(_ text: [UInt8]) throws(Failure) -> [RequestedEdit] {
    var requests: [RequestedEdit] = []
    var number = 0
    // Some editors begin a file with a byte order mark.
    let text = text.starts(with: [0xEF, 0xBB, 0xBF]) ? text[3...] : text[...]
    for line in text.split(separator: 10, omittingEmptySubsequences: false) {
      number += 1
      if line.allSatisfy({ $0 == 32 || $0 == 9 || $0 == 13 }) { continue }
      guard requests.count < Int32.max else {
        throw failure(number, "there are more than 2147483647 edits")
      }
      do throws(Failure) {
        requests.append(try request(Array(line)))
      } catch {
        throw failure(number, error.text)
      }
    }
    return requests
  }

  private func failure(_ line: Int, _ message: String) -> Failure {
    Failure(
      status: .usage, subject: file, code: "usage",
      message: "line \(line): \(message); nothing was done")
  }

  private func request(_ line: [UInt8]) throws(Failure) -> RequestedEdit {
    let json = try Failure.usage { () throws(TableError) in
      try JSONValue(parsing: line, isLine: true)
    }
    guard case .object(let members) = json else { throw .usage("must be a JSON object") }
    let kinds = RequestedEdit.Kind.allCases.map(\.rawValue)
    guard let op = members["op"] else {
      throw .usage("\"op\" is missing; use one of \(kinds.joined(separator: ", "))")
    }
    guard let kind = op.string.flatMap({ RequestedEdit.Kind(rawValue: $0) }) else {
      let hint = Suggestion.hint(op.string ?? "", among: kinds)
      throw .usage("unknown op \(op.text); use one of \(kinds.joined(separator: ", "))\(hint)")
    }
    let (needed, optional) = EditLines.members(of: kind)
    let known = needed + optional
    if let name = members.keys.first(where: { !known.contains($0) }) {
      let hint = Suggestion.hint(name, among: known)
      throw .usage(
        "\(kind.rawValue) has no member \"\(name)\"; its members are \(known.joined(separator: ", "))\(hint)"
      )
    }
    if let name = needed.first(where: { members[$0] == nil }) {
      throw .usage("\(kind.rawValue) requires \"\(name)\"")
    }
    var request = RequestedEdit(kind: kind)
    request.row = try members["row"].map { value throws(Failure) in
      guard let text = value.string else {
        throw .usage("\"row\" must be \"SECTION:ROW\", \"ROW\" or \"id:ID\", not \(value.text)")
      }
      return try RowArgument(reading: text, as: kind == .move ? .one : .existing)
    }
    for name in ["at", "to"] {
      guard let value = members[name] else { continue }
      // The position of a row with an id after the batch is not known.
      guard let text = value.string, !text.hasPrefix("id:") else {
        throw .usage("\"\(name)\" must be \"SECTION:ROW\" or \"SECTION:end\", not \(value.text)")
      }
      request.place = try RowArgument(reading: text, as: .place)
    }
    guard
      request.row == nil || request.place == nil
        || request.row?.isSection == request.place?.isSection
    else {
      throw .usage(
        "move a row to the position of a row, or a section (\"2:\") to the position of a section")
    }
    if let value = members["cells"] {
      guard case .object(let values) = value else {
        throw .usage("\"cells\" must be an object with columns as names")
      }
      try cells.give(values, to: &request)
    }
    return request
  }
}
