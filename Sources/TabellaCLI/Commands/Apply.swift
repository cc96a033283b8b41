import Glibc
import Tabella
import TabellaFiles
import TabellaSystem

extension Command {
  static let apply = Command(
    name: "apply", operands: "LOCATION FILE|-", operandValues: [.location, .path],
    summary: "make a batch of edits from a file",
    discussion: """
      FILE, or standard input, contains one JSON object per line:

        {"op":"set","row":"0:5","cells":{"born":"1816"}}
        {"op":"insert","at":"0:2","cells":{"name":"Ada"}}
        {"op":"delete","row":"id:ID"}
        {"op":"move","row":"0:1","to":"0:end"}

      `tabella help rows` explains the names of rows. `row` names a row as it is before the batch; \
      `at` and `to` are positions after the batch. `"row":"0:3..9"` names seven rows to set or delete. `"2:"` names a \
      section. A section has one cell, its title:

        {"op":"insert","at":"2:","cells":{"title":"Plan"}}
        {"op":"set","row":"Berlin:","cells":{"title":"Bonn"}}

      Cells have the form that `show --json` prints. If a line is not valid, the command prints its number and \
      changes nothing.

      If the provider can do so, it makes all edits or none. Some providers cannot (folders, processes); then the \
      message lists the edits that were made. Such a provider also receives rows whose id no longer exists, for \
      example of a process that has ended, and can still make the other edits.
      """,
    options: OptionSpec.editing,
    examples: [
      ("tabella apply data.csv edits.jsonl", "make the edits that a file lists"),
      ("tabella apply data.csv - < edits.jsonl", "read the edits from standard input"),
    ], seeAlso: ["edit", "rows", "formats"], group: .edits
  ) { invocation, output throws(Failure) in
    guard let location = invocation.operands.first else {
      throw .usage("a location is missing", command: "apply")
    }
    guard invocation.operands.count >= 2 else {
      throw .usage("a FILE is missing", command: "apply")
    }
    guard invocation.operands.count == 2 else {
      throw .usage("\(invocation.operands[2].text) is not expected", command: "apply")
    }
    let file = invocation.operands[1]
    let text = try content(of: file)
    var run = try EditRun(invocation, location, command: "apply", output: output)
    let requests = try EditLines(file: file.text, cells: run.cells).requests(text)
    return try run.run(requests)
  }

  /// All bytes of a file or of standard input.
  private static func content(of file: Argument) throws(Failure) -> [UInt8] {
    try Failure.about(file.text) { () throws(TableError) in
      if file.text == "-" {
        guard !StandardInput.isClosed else { throw TableError(.io, "standard input is closed") }
        return try bytes(of: 0)
      }
      guard !file.bytes.contains(0), !file.bytes.isEmpty else {
        throw TableError(.invalidArgument, "is not a valid file name")
      }
      let opened = try Descriptor(
        opening: file.bytes, O_RDONLY | O_NOCTTY, errorPrefix: "cannot be opened")
      return try bytes(of: opened.raw)
    }
  }

  private static func bytes(of descriptor: Int32) throws(TableError) -> [UInt8] {
    guard let (bytes, _) = readAll(descriptor) else { throw .system(errno, "cannot be read") }
    return bytes
  }
}
