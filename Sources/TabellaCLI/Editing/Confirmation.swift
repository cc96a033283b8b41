import Glibc
import Tabella
import TabellaTerminal

/// Asks the person at the terminal before rows are edited.
struct Confirmation {
  /// The maximum number of shown rows.
  static let shownRows = 20
  /// To confirm more rows than this, the user types their number.
  private static let mostRows = 100

  /// Whether there is a terminal to ask on.
  static var isPossible: Bool { isatty(0) == 1 && isatty(2) == 1 }

  let question: String
  let edits: [PlannedEdit]
  /// The current rows of the first edits.
  let rows: [RowCells?]
  /// The outcomes of the dry run.
  let outcomes: [EditResult.Outcome]
  /// A warning that the question contains.
  let warning: String?
  let columns: [Column]
  let subject: String

  /// Shows the edits on standard error and asks. Throws unless the answer is yes.
  func ask(display: DisplayOptions) throws(Failure) {
    let items = zip(zip(edits, rows), outcomes).map { (edit: $0.0, row: $0.1, outcome: $1) }
    let shown = items.prefix(Confirmation.shownRows)
    try show(
      shown.compactMap { item in
        item.row.map { (item.edit.rowName ?? "", $0) }
      }, display)
    let remark = outcomes.first?.message
    let isShared = outcomes.allSatisfy { $0.code == nil && $0.message == remark }
    for item in shown {
      var lines: [String] = []
      if item.edit.kind != .delete {
        lines.append(item.edit.description(columns, before: item.row, place: nil))
      } else if item.edit.source == nil {
        lines.append("\(item.edit.name) was not found")
      } else if item.edit.isOfSection {
        lines.append(item.edit.name)
      }
      if !isShared, let said = item.outcome.message ?? item.outcome.code?.name {
        lines.append(
          "\(item.edit.name): \(item.outcome.code == nil ? "" : "refused: ")\(said)")
      }
      for line in lines { Messages.put("\(line)\n") }
    }
    if edits.count > shown.count { Messages.put("and \(edits.count - shown.count) more\n") }
    let isLarge = edits.count > Confirmation.mostRows
    let remarks = [isShared ? remark : nil, warning].compactMap(\.self)
    let asked = remarks.isEmpty ? question : "\(question) (\(remarks.joined(separator: "; ")))"
    let isConfirmed =
      isLarge
      ? Confirmation.answer("\(asked) Type the number of rows to confirm: ") == "\(edits.count)"
      : Confirmation.isAnswered("\(asked) [y/N] ", byDefault: false)
    guard isConfirmed else {
      throw Failure(
        status: .failed, subject: subject, code: "cancelled",
        message: "not confirmed; nothing was done")
    }
  }

  /// The order of columns: the first column, then texts, then the others. A narrow terminal leaves out the last ones.
  private var order: [Int] {
    let numbers = columns.usualNumbers
    return numbers.prefix(1) + numbers.dropFirst().filter { columns[$0].type == .text }
      + numbers.dropFirst().filter { columns[$0].type != .text }
  }

  private func show(
    _ rows: [(name: String, row: RowCells)], _ display: DisplayOptions
  ) throws(Failure) {
    guard !rows.isEmpty else { return }
    let output = Output(descriptor: 2)
    var display = display
    display.pages = false
    output.adopt(display)
    let table = InMemorySource(
      [Column("row")] + order.map { columns[$0] },
      rows: rows.map { item in [.text(item.name)] + order.map { item.row.cells[$0] } })
    var shown = ShownTable(ShapedTable(table), hasHeader: true)
    shown.beginsWithRowNames = true
    var format = Formats.make("table", output, display)
    try format.begin(shown)
    var viewer = Viewer(shown, 0..<Int.max, output)
    let failure = try viewer.show(in: &format)
    try format.end(failure: failure)
    try output.finish()
    if let failure { throw failure }
  }

  /// Asks a question that is answered with yes or no. An empty answer is the default.
  static func isAnswered(_ question: String, byDefault isYes: Bool) -> Bool {
    let answer = answer(question)
    return answer.isEmpty ? isYes : answer == "y" || answer == "yes"
  }

  private static func answer(_ question: String) -> String {
    // Input from before the question is not an answer.
    tcflush(0, TCIFLUSH)
    Messages.put("\(SafeText(question))")
    return readAnswer().lowercased()
  }

  /// A line from the terminal, without its line end; empty at the end of input.
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
