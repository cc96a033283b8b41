import Foundation

/// The end of a run, on one screen: a line per case, then wrong outputs and missed aims.
struct Summary {
  let results: [CaseResult]
  let live: [Live.Figure]
  /// The names of the peers that are not installed.
  let absent: [String]
  /// The number of rows of the plain file.
  let rows: Int

  /// The largest number of lines, and of characters per line.
  static let lines = 50
  static let width = 100
  /// The number of rows that the aims are for.
  private static let aimedRows = 10_000_000

  var text: String {
    let end = [total] + (absent.isEmpty ? [] : ["absent: \(absent.joined(separator: ", "))"])
    let table = head + results.map(line)
    return (table + fitted(wrong + missed, after: table.count + end.count) + end)
      .map { String($0.prefix(Self.width)) + "\n" }.joined()
  }

  // MARK: Cases

  private var head: [String] {
    [
      row(["", "seconds", "", "/ floor", "", "/ best peer", "", ""]),
      row(["case", "wall", "CPU", "wall", "CPU", " wall", "  CPU", "aims"]),
    ]
  }

  private func line(_ result: CaseResult) -> String {
    let ours = result.subject
    let seconds = [Aim.Quantity.wall, .cpu].map { quantity in
      ours.flatMap { Spread($0.figures(quantity)) }.map { Report.seconds($0.median) } ?? ""
    }
    let floor = [Aim.Quantity.wall, .cpu].map { quantity in
      ours.flatMap { result.ratio(of: $0, quantity) }.map(Report.ratio) ?? ""
    }
    let best = [Aim.Quantity.wall, .cpu].map { peer(result, $0) }
    return row([result.case.name] + seconds + floor + best + [mark(result)])
  }

  /// The ratio to the best peer, and its name.
  private func peer(_ result: CaseResult, _ quantity: Aim.Quantity) -> String {
    guard let ours = result.subject, let peer = result.bestPeer(quantity),
      let ratio = result.ratio(of: ours, quantity, to: peer.command.label)
    else { return "" }
    let label = peer.command.label
    return right(Report.ratio(ratio), 5) + " " + (label.count > 11 ? label.prefix(10) + "…" : label)
  }

  private func mark(_ result: CaseResult) -> String {
    if result.isWrong(strict: false) { return "WRONG" }
    let standings = result.standings.map(\.standing.isMet)
    let missed = standings.count { $0 == false }
    let met = standings.count { $0 == true }
    if missed > 0 { return "MISSED \(missed) of \(standings.count)" }
    if met < standings.count { return "\(met) of \(standings.count) measured" }
    return standings.isEmpty ? "" : "\(met) met"
  }

  // MARK: Columns

  private func row(_ cells: [String]) -> String {
    let numbers = zip(cells[1...4], [8, 7, 7, 6]).map(right).joined()
    let peers = cells[5...6].map { "  " + left($0, 17) }.joined()
    let line = left(cells[0], 15) + numbers + peers + "  " + cells[7]
    return String(line.reversed().drop { $0 == " " }.reversed())
  }

  private func left(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }

  private func right(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(0, width - text.count)) + text
  }

  // MARK: Lists

  private var wrong: [String] {
    results.flatMap { result in
      result.entries.filter { $0.command.tool == nil && !$0.isUnavailable }.compactMap { entry in
        let name = "\(result.case.name), \(entry.command.label)"
        switch entry.outcome {
        case .right, .unchecked: return nil
        case .wrong(let what): return "WRONG: \(name): \(what)"
        case .failed(let status, let complaint):
          return "WRONG: \(name): failed, status \(status): \(complaint)"
        }
      }
    }
  }

  private var missed: [String] {
    let aims = results.flatMap { result in
      result.standings.filter { $0.standing.isMet == false }
        .map { "\(result.case.name), \($0.command): \(Report.text($0.standing))" }
    }
    let live = live.filter { $0.isMissed }.map { "\($0.name): \($0.aim); \($0.value)" }
    // These texts come from tables in Markdown.
    return (aims + live).map {
      "- " + $0.replacingOccurrences(of: "**", with: "").replacingOccurrences(of: "\\|", with: "|")
    }
  }

  /// As many of the texts as the screen has room for, between two empty lines.
  private func fitted(_ texts: [String], after used: Int) -> [String] {
    guard !texts.isEmpty else { return [""] }
    let room = max(Self.lines - used - 2, 1)
    guard texts.count > room else { return [""] + texts + [""] }
    return [""] + texts.prefix(room - 1) + ["- and \(texts.count - room + 1) more", ""]
  }

  private var total: String {
    let standings = results.flatMap { $0.standings.map(\.standing.isMet) }
    let met = standings.count { $0 == true }
    let missed = standings.count { $0 == false }
    let wrong = results.count { $0.isWrong(strict: false) }
    let scale = rows == Self.aimedRows ? "" : " (aims are for 10,000,000 rows)"
    return """
      \(results.count) cases, \(wrong) wrong; \(standings.count) aims: \(met) met, \(missed) missed, \
      \(standings.count - met - missed) not measured\(scale)
      """
  }
}

extension CaseResult {
  /// The command that the line of the case is about: the one with the first aim.
  var subject: Entry? { entry(self.case.aims.first?.command ?? "tabella") }

  /// The peer with the smallest median. Peers count if their output can be compared and is right. If no peer of the
  /// case can be compared, all count.
  func bestPeer(_ quantity: Aim.Quantity) -> Entry? {
    let peers = entries.filter {
      guard let tool = $0.command.tool, tool != "true", $0.isMeasured else { return false }
      if case .wrong = $0.outcome { return false }
      return !$0.runs.isEmpty
    }
    let compared = peers.filter { $0.command.check != nil }
    let medians = (compared.isEmpty ? peers : compared).compactMap { entry in
      Spread(entry.figures(quantity)).map { (entry, $0.median) }
    }
    return medians.min { $0.1 < $1.1 }?.0
  }

  /// The aims of all commands.
  var standings: [(command: String, standing: Standing)] {
    entries.flatMap { entry in
      self.case.aims.compactMap { aim in
        standing(of: aim, for: entry).map { (entry.command.label, $0) }
      }
    }
  }
}
