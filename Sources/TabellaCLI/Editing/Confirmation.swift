import Glibc
import Tabella
import TabellaTerminal

/// Asks the person at the terminal before rows are edited.
struct Confirmation {
  /// How many rows are shown.
  private static let shownRows = 20
  /// More rows than this are confirmed by their number.
  private static let mostRows = 100

  /// Whether there is somebody to ask.
  static var isPossible: Bool { isatty(0) == 1 && isatty(2) == 1 }

  /// Shows rows on standard error and asks; throws unless the answer is yes.
  static func ask(
    _ question: String, rows: [(name: String, row: RowCells)], of count: Int, columns: [Column],
    display: DisplayOptions, subject: String
  ) throws(Failure) {
    try show(Array(rows.prefix(shownRows)), columns, display)
    if count > shownRows { Messages.put("and \(count - shownRows) more\n") }
    let isLarge = count > mostRows
    // What was typed before the question is no answer to it.
    tcflush(0, TCIFLUSH)
    Messages.put(
      isLarge ? "\(question) Type the number of rows to do it: " : "\(question) [y/N] ")
    let answer = readAnswer().lowercased()
    guard isLarge ? answer == "\(count)" : answer == "y" || answer == "yes" else {
      throw Failure(
        status: .failed, subject: subject, code: "cancelled",
        message: "not confirmed; nothing was done")
    }
  }

  private static func show(
    _ rows: [(name: String, row: RowCells)], _ columns: [Column], _ display: DisplayOptions
  ) throws(Failure) {
    guard !rows.isEmpty else { return }
    let output = Output(descriptor: 2)
    var display = display
    display.pages = false
    output.adopt(display)
    let table = InMemorySource(
      [Column("row")] + columns, rows: rows.map { [.text($0.name)] + $0.row.cells })
    let shown = ShownTable(ShapedTable(table), hasHeader: true)
    var format = Formats.make("table", output, display)
    try format.begin(shown)
    let failure = try Viewer(shown, 0..<Int.max, output).show(in: &format)
    try format.end(failure: failure)
    try output.finish()
    if let failure { throw failure }
  }

  /// A line from the terminal without its end; empty at the end of input.
  private static func readAnswer() -> String {
    var line: [UInt8] = []
    var byte: UInt8 = 0
    while line.count < 1024 {
      let count = read(0, &byte, 1)
      if count < 0, errno == EINTR { continue }
      guard count == 1, byte != 10 else { break }
      line.append(byte)
    }
    while let last = line.last, last == 32 || last == 13 { line.removeLast() }
    return String(decoding: line.drop { $0 == 32 }, as: UTF8.self)
  }
}
