// A program that embeds the host: opens a location and walks through its sections and rows.
//
//   TABELLA_PROVIDER_PATH=…/.build/release WORKER=…/.build/release/tabella-worker embed LOCATION

import Glibc
import Tabella
import TabellaHost

func show(_ location: String) throws(TableError) {
  let host = TabellaHost.Host()
  // The worker program for providers that do not ship with Tabella. Nil if it is next to this program.
  host.workerProgram = getenv("WORKER").map { String(cString: $0) }
  let table = try host.open(Location(location), access: .reading)
  let source = table.source
  print(
    "\(location) by \(table.manifest.id): \(source.columns.map(\.name).joined(separator: ", "))")
  for section in 0..<(try source.numberOfSections(knowing: .max)).value {
    let title = try source.sections?.title(.header, ofSection: section)
    print(
      "\(title ?? "Section \(section)"): \(try source.exactNumberOfRows(inSection: section)) rows")
    let batch = try source.rows(
      RowRequest(section: section, first: 0, count: 3, columns: Array(source.columns.indices)))
    for row in 0..<batch.rowCount {
      print("  " + batch.row(row).map(\.description).joined(separator: " | "))
    }
  }
}

do throws(TableError) {
  guard CommandLine.arguments.count == 2 else {
    throw TableError(.invalidArgument, "usage: embed LOCATION")
  }
  try show(CommandLine.arguments[1])
} catch {
  print("error (\(error.code.name)): \(error)")
}
