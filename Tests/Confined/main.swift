// A program for tests. It confines itself like a worker, loads a library, opens a location, prints and perhaps edits
// its rows, and prints the denials. The output consists of lines with words separated by tabs.

import CTabellaSystem
import Tabella
import TabellaBridge
import TabellaConfinement
import TabellaFiles
import TabellaLoading
import TabellaSystem

/// The steps of the program, in order.
struct Confined {
  var arguments = Arguments()
  var ends: [Int32] = [-1, -1]
  static let prefix = Array("denied:".utf8)

  mutating func run() throws(TableError) {
    guard tabella_system_make_sockets(&ends) == 0 else { throw TableError(.io, "no sockets") }
    let rules = try arguments.rules()
    arguments.replace()
    let running = KernelFeatures.running
    let early = arguments.earlyThread.map { EarlyThread($0) }
    // A host does the same: a worker receives the open file.
    let file = open(arguments.library, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw .system(errno, "\(arguments.library) cannot be opened") }
    if arguments.isConfined {
      let report = try Confinement.begin(
        rules, telling: ends[1], prefix: Confined.prefix, on: arguments.kernel)
      for text in report.inForce { line("in force", text) }
      for text in report.lacking { line("lacking", text) }
      for path in report.absent { line("absent", String(decoding: path, as: UTF8.self)) }
    }
    let provider = try Library.load(
      CheckedLibrary(taking: file, path: arguments.library), name: arguments.library)
    if arguments.isConfined {
      // A worker asks in this way, unless the kernel is fictitious.
      if arguments.kernel == running {
        try Confinement.tighten(rules)
      } else {
        try Confinement.tighten(rules, on: arguments.kernel)
      }
    }
    let source = try provider.open(
      OpenRequest(
        location: Array(arguments.location.utf8), scheme: arguments.scheme,
        options: arguments.options))
    if let early { line("row", "an earlier thread", early.result) }
    try show(source)
    try edit(source)
    tellDenials()
    // Waits until a test has inspected the process from outside.
    if arguments.waits { _ = getchar() }
  }

  private func show(_ source: any TableDataSource) throws(TableError) {
    let count = try source.numberOfRows(inSection: 0, knowing: 1000)
    let batch = try source.rows(
      RowRequest(first: 0, count: count.value, columns: Array(source.columns.indices)))
    for row in 0..<batch.rowCount {
      line("row", batch.row(row).map { "\($0)" }.joined(separator: "\t"))
    }
  }

  private func edit(_ source: any TableDataSource) throws(TableError) {
    guard !arguments.edits.isEmpty else { return }
    guard let editing = source.editing else { throw TableError(.readOnly, "cannot be edited") }
    let result = try editing.commit(EditBatch(arguments.edits))
    for outcome in result.outcomes {
      line("outcome", outcome.code?.name ?? "done", outcome.message ?? "")
    }
  }

  func tellDenials() {
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = buffer.withUnsafeMutableBytes {
        recv(ends[0], $0.baseAddress, $0.count, Int32(MSG_DONTWAIT))
      }
      guard count > 0 else { return }
      guard buffer.starts(with: Confined.prefix) else { return line("stray", "\(count)") }
      let record = buffer[Confined.prefix.count..<count]
      guard let denial = record.withUnsafeBytes({ Denial($0) }) else {
        return line("stray", "\(count)")
      }
      line(
        "denied", denial.name, "\(denial.error)", denial.isByMode ? "by mode" : "",
        denial.isLast ? "last" : "", denial.description)
    }
  }
}

/// Prints words separated by tabs. Line breaks within the words are replaced, because command lines can contain them.
func line(_ words: String...) {
  print(words.joined(separator: "\t").replacing("\n", with: "\\n"))
}

var confined = Confined()
do throws(TableError) {
  try confined.run()
  fflush(nil)
} catch {
  line("error", error.code.name, error.message)
  confined.tellDenials()
  fflush(nil)
  exit(1)
}
