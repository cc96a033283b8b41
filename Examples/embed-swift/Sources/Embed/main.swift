// A program that embeds Tabella: it reads, shapes, edits, undoes and follows a file of sales, and shows any table.
//
//   embed sales FILE.csv
//   embed show LOCATION

import Glibc
import TabellaAsync
import TabellaProviders

struct Sale: Decodable, Sendable {
  var customer: String
  var product: String
  var quantity: Int?
  var amount: Double
}

/// A host with the shipped providers inside this program.
func makeHost() -> Host {
  let host = Host(linked: .shipped)
  // The worker for providers that do not ship with Tabella. Nil if it is next to this program.
  host.workerProgram = getenv("WORKER").map { String(cString: $0) }
  return host
}

/// Prints the first rows of each section of any table.
func show(_ location: String, _ host: Host) throws(TableError) {
  let table = try host.open(Location(location), access: .reading)
  print("\(location) by \(table.manifest.id): \(table.columns.map(\.name).joined(separator: ", "))")
  for section in try table.allSections() {
    print("\(section.title ?? "Section \(section.number)"): \(try section.numberOfRows()) rows")
    var rows = try section.rows()
    while let row = try rows.next(), row.path.row < 3 {
      print("  " + row.cells.map(\.description).joined(separator: " | "))
    }
  }
}

/// Prints the large sales of each region, and the sum of all sales.
func read(_ file: String, _ host: Host) throws {
  let table = try host.open(Location(file), access: .reading)
  let large = try table.shaped(filter: "amount > 300", sectionBy: "region", sort: "amount:desc")
  for section in try large.allSections() {
    print("\(section.title ?? "none"): \(try section.numberOfRows()) sales")
    for sale in try section.decode(Sale.self) {
      print("  \(sale.quantity ?? 1) × \(sale.product) for \(sale.customer): \(sale.amount)")
    }
  }
  var total = 0.0
  try table.forEachRow(columns: ["amount"]) { row in
    total += try row["amount", as: Double?.self] ?? 0
  }
  print("sum: \(total)")
}

/// Changes sales, shows the log, and undoes the edit.
func edit(_ file: String, _ host: Host, _ store: ReceiptStore) throws {
  let table = try host.open(Location(file)).shaped(filter: "region = East")
  var edits = table.edits()
  try edits.set(where: "order = A4", to: ["quantity": 2, "amount": 698])
  try edits.delete(where: "product = Shelf")
  let dryRun = try store.commit(edits, to: table, isDryRun: true)
  print("dry run of \(dryRun.result.outcomes.count) edits")
  let edit = try store.commit(edits, to: table)
  for entry in try store.log(of: table.location, host: host).entries {
    print("log: \(entry.receipt)")
  }
  if let receipt = edit.receipt {
    let undo = try store.undo(receipt, host: host)
    print("undone: \(undo.result.outcomes.allSatisfy { $0.code == nil })")
  }
  // The rows of these edits were found before the edit and its undo.
  do {
    try store.commit(edits, to: table)
  } catch {
    guard error.code == .conflict else { throw error }
    print("conflict: open the table again, and decide again")
  }
}

/// Follows the large sales until one is inserted.
func follow(_ file: String, _ store: ReceiptStore) async throws {
  let host = try HostActor(makeHost())
  let table = try await host.open(Location(file)).shaped(filter: "amount > 300")
  let changes = try await table.changes()
  try await table.edit(in: store) { edits in
    try edits.insert(["order": "A23", "customer": "Okafor Ltd", "product": "Desk", "amount": 698])
  }
  for try await change in changes {
    for item in change.list { print("change: \(item)") }
    break
  }
  print("large sales: \(try await table.decode(Sale.self).count)")
}

do {
  guard CommandLine.arguments.count == 3 else {
    throw TableError(.invalidArgument, "usage: embed sales FILE.csv | embed show LOCATION")
  }
  let (command, location) = (CommandLine.arguments[1], CommandLine.arguments[2])
  if command == "show" {
    try show(location, makeHost())
  } else {
    let store = try ReceiptStore()
    try read(location, makeHost())
    try edit(location, makeHost(), store)
    try await follow(location, store)
  }
} catch let error as TableError {
  print("error (\(error.code.name)): \(error)")
}
