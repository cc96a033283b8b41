import Glibc
import TabellaAsync

/// Sets `b` to `changed` where `a` is 2. The edit names the version that was read, and waits for a line of input, so that
/// another program can change the table before.
func edit(_ words: Words) throws {
  let table = try words.open()
  var edits = table.edits(version: try table.source.version())
  try edits.set(where: "a = 2", to: ["b": "changed"])
  say("ready")
  _ = readLine()
  let edit = try ReceiptStore(folder: words.argument).commit(edits, to: table)
  say("done \(edit.result.outcomes.count) \(edit.receipt.map { "\($0)" } ?? "")")
}

/// Prints changes until there are as many as the argument says.
func follow(_ words: Words) -> Never {
  Task.detached {
    do {
      let table = try await HostActor(Words.host()).open(Location(words.location))
      let changes = try await table.changes()
      say("ready")
      var left = Int(words.argument) ?? 0
      for try await change in changes {
        for item in change.list { say("\(item)") }
        left -= change.list.count
        if left <= 0 { break }
      }
      say("rows \(try await table.run { try $0.numberOfRows() })")
      exit(0)
    } catch {
      fail((error as? TableError)?.code ?? .internal, "\(error)")
    }
  }
  while true { pause() }
}
