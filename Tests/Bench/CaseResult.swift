/// The result of one command.
struct Entry {
  enum Outcome: Equatable {
    /// The output is correct.
    case right
    /// There was nothing to compare.
    case unchecked
    case wrong(String)
    case failed(status: Int, String)
  }

  let command: Command
  var outcome = Outcome.unchecked
  /// One run per round.
  var runs: [Run] = []

  /// Whether the command is measured. A wrong output is measured, too; a missing one is not.
  var isMeasured: Bool {
    if case .failed = outcome { return false }
    return true
  }

  /// Whether this version of tabella lacks the command, the option or the provider.
  var isUnavailable: Bool {
    guard case .failed(let status, let complaint) = outcome, command.tool == nil else {
      return false
    }
    return status == 2 || status == 3 && complaint.contains("no provider")
  }

  func figures(_ quantity: Aim.Quantity) -> [Double] {
    switch quantity {
    case .cpu: runs.map(\.cpu)
    case .wall: runs.map(\.wall)
    case .peak: runs.map(\.peak)
    }
  }
}

/// The result of one case.
struct CaseResult {
  let `case`: Case
  let entries: [Entry]

  func entry(_ label: String) -> Entry? { entries.first { $0.command.label == label } }

  /// The ratio of a command's figures to the floor's; nil if either was not measured.
  func ratio(of entry: Entry, _ quantity: Aim.Quantity, to label: String = "floor") -> Double? {
    guard let base = self.entry(label) else { return nil }
    return pairedRatio(entry.figures(quantity), to: base.figures(quantity))
  }

  /// Whether the output of tabella or a floor is wrong. With `strict`, also if tabella lacks the feature.
  func isWrong(strict: Bool) -> Bool {
    entries.contains { entry in
      switch entry.outcome {
      case .right, .unchecked: false
      // A peer may differ, or lack an ability.
      case .wrong: entry.command.tool == nil
      case .failed: entry.command.tool == nil && (strict || !entry.isUnavailable)
      }
    }
  }

  /// The state of an aim; nil if the aim is about another command. A wrong output reaches no aim and is no reference.
  func standing(of aim: Aim, for entry: Entry) -> Standing? {
    guard aim.command == entry.command.label else { return nil }
    if case .wrong = entry.outcome { return Standing(aim: aim, reached: nil) }
    guard let other = aim.other else {
      return Standing(aim: aim, reached: entry.figures(aim.quantity).max())
    }
    if case .wrong = self.entry(other)?.outcome { return Standing(aim: aim, reached: nil) }
    return Standing(aim: aim, reached: ratio(of: entry, aim.quantity, to: other))
  }
}

/// An aim and the value that was reached.
struct Standing {
  let aim: Aim
  /// A ratio, or bytes; nil if not measured.
  let reached: Double?

  var isMet: Bool? { reached.map { $0 <= aim.most } }
}
