import Foundation

/// Formats figures as Markdown.
enum Report {
  private static let head = [
    "command", "runs", "wall s", "CPU s", "peak MiB", "wall / floor", "CPU / floor", "aim",
  ]

  /// One table of all cases, with the name of the case in the first column.
  static func table(_ results: [CaseResult], hiding cache: Cache) -> String {
    table(
      head: ["case"] + head,
      rows: results.flatMap { result in
        rows(result, hiding: cache).map { [name(result)] + $0 }
      })
  }

  /// A heading and a table for each case.
  static func sections(_ results: [CaseResult], hiding cache: Cache) -> String {
    results.map { result in
      """
      ### \(name(result))

      \(result.case.about.prefix(1).uppercased() + result.case.about.dropFirst()).

      \(table(head: head, rows: rows(result, hiding: cache)))
      """
    }.joined(separator: "\n")
  }

  private static func name(_ result: CaseResult) -> String {
    result.isWrong(strict: false) ? "\(result.case.name) WRONG" : result.case.name
  }

  static func table(head: [String], rows: [[String]]) -> String {
    let lines = [head, head.map { _ in "---" }] + rows
    return lines.map { "| " + $0.joined(separator: " | ") + " |\n" }.joined()
  }

  private static func rows(_ result: CaseResult, hiding cache: Cache) -> [[String]] {
    result.entries.map { entry in
      [words(entry.command, hiding: cache)] + figures(entry, result) + [aims(entry, result)]
    }
  }

  // MARK: Cells

  private static func figures(_ entry: Entry, _ result: CaseResult) -> [String] {
    if case .failed = entry.outcome { return ["", "", "", "", "", ""] }
    return [
      "\(entry.runs.count)", spread(entry.figures(.wall)), spread(entry.figures(.cpu)),
      Spread(entry.figures(.peak)).map { mebibytes($0.most) } ?? "",
      result.ratio(of: entry, .wall).map(ratio) ?? "",
      result.ratio(of: entry, .cpu).map(ratio) ?? "",
    ]
  }

  private static func aims(_ entry: Entry, _ result: CaseResult) -> String {
    switch entry.outcome {
    case .right, .unchecked:
      return result.case.aims.compactMap { result.standing(of: $0, for: entry) }.map(text)
        .joined(separator: "; ")
    case .wrong(let what):
      return "\(entry.command.tool == nil ? "WRONG" : "differs"): \(escaped(what))"
    case .failed where entry.isUnavailable: return "not available"
    case .failed(let status, let complaint):
      return "failed, status \(status): \(escaped(complaint))"
    }
  }

  static func text(_ standing: Standing) -> String {
    let aim = standing.aim
    let format = aim.other == nil ? mebibytes : ratio
    let most = format(aim.most) + (aim.other.map { " × \($0)" } ?? " MiB")
    let wanted = "\(aim.quantity.rawValue) ≤ \(escaped(most))"
    guard let reached = standing.reached, let isMet = standing.isMet else {
      return "\(wanted): not measured"
    }
    return "\(wanted): \(isMet ? "met" : "**missed**, \(format(reached))")"
  }

  private static func words(_ command: Command, hiding cache: Cache) -> String {
    // Python's programs are long, and no one types them.
    if let tool = command.tool, ["duckdb", "polars"].contains(tool) { return tool }
    let text = command.pipeline.map { words in
      ([program(words[0])] + words.dropFirst().map { quoted(shortened($0, cache)) })
        .joined(separator: " ")
    }.joined(separator: " | ")
    return "`\(escaped(text))`"
  }

  private static func program(_ word: String) -> String {
    let name = word.split(separator: "/").last.map(String.init) ?? word
    return name.replacingOccurrences(of: "floor-", with: "floor ")
  }

  private static func shortened(_ word: String, _ cache: Cache) -> String {
    let short = [cache.data, cache.folder].reduce(word) {
      $0.replacingOccurrences(of: $1.path + "/", with: "")
    }
    return short.hasPrefix("/") ? program(short) : short
  }

  private static func quoted(_ word: String) -> String {
    word.contains { " $;|<>&*(){}\\\"".contains($0) } ? "'\(word)'" : word
  }

  /// A bar would end the cell, even in code.
  private static func escaped(_ text: String) -> String {
    text.replacingOccurrences(of: "|", with: "\\|")
  }

  // MARK: Numbers

  private static func spread(_ figures: [Double]) -> String {
    guard let spread = Spread(figures) else { return "" }
    guard figures.count > 1 else { return seconds(spread.median) }
    return "\(seconds(spread.median)) (\(seconds(spread.least))–\(seconds(spread.most)))"
  }

  static func seconds(_ value: Double) -> String {
    String(format: value < 1 ? "%.4f" : "%.2f", value)
  }

  static func ratio(_ value: Double) -> String {
    String(format: value < 100 ? "%.2f" : "%.0f", value)
  }

  private static func mebibytes(_ value: Double) -> String {
    String(format: value < 10_485_760 ? "%.1f" : "%.0f", value / 1_048_576)
  }
}
