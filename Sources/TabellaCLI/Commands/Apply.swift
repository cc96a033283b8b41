import Glibc
import Tabella
import TabellaFiles

extension Command {
  static let apply = Command(
    name: "apply", operands: "LOCATION FILE|-", operandValues: [.location, .path],
    summary: "does a batch of edits",
    discussion: """
      FILE, or standard input, has a JSON object on each line:

        {"op":"set","row":"0:5","cells":{"born":"1816"}}
        {"op":"insert","at":"0:2","cells":{"name":"Ada"}}
        {"op":"delete","row":"id:ID"}
        {"op":"move","row":"0:1","to":"0:end"}

      Rows that are set, deleted or moved are counted before the batch; `at` and `to` are where rows end up \
      after it. Rows and sections are named as in the other commands; `"row":"0:3..9"` are seven rows to set or \
      delete, and `"2:"` is a section, whose only cell is its title:

        {"op":"insert","at":"2:","cells":{"title":"Plan"}}
        {"op":"set","row":"Berlin:","cells":{"title":"Bonn"}}

      Cells are as `show --json` prints them: `null` is missing, `{"base64":"…"}` what is no UTF-8 or \
      is binary. A line that makes no sense is an error with its number, and nothing is done.

      All is done or nothing, where the provider can; where it can not (folders, processes), the message \
      lists what was done. Rows named by an id that is gone (a process has ended) are then left to the provider, \
      which may do the others.

      \(saving)
      """,
    options: OptionSpec.editing,
    examples: [
      ("tabella apply data.csv edits.jsonl", "the edits of a file"),
      ("tabella apply data.csv - < edits.jsonl", "of standard input"),
    ], seeAlso: ["set", "insert", "delete", "move", "undo"]
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
        return try readAll(0)
      }
      guard !file.bytes.contains(0), !file.bytes.isEmpty else {
        throw TableError(.invalidArgument, "is no name of a file")
      }
      let descriptor = file.bytes.withCString { open($0, O_RDONLY | O_CLOEXEC | O_NOCTTY) }
      guard descriptor >= 0 else { throw .system(errno, "cannot be opened") }
      defer { close(descriptor) }
      return try readAll(descriptor)
    }
  }

  private static func readAll(_ descriptor: Int32) throws(TableError) -> [UInt8] {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 17)
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw .system(errno, "cannot be read") }
      if count == 0 { return bytes }
      bytes += buffer[..<count]
    }
  }
}
