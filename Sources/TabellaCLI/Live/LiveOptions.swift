import Tabella
import TabellaHost

// The options `--follow` and `--watch`, and the options that they exclude.

/// The way in which `show` shows a table that changes.
enum Liveness: Hashable, Sendable {
  /// Prints rows as they arrive.
  case follow
  /// Redraws the table, at every change or at an interval in seconds.
  case watch(interval: Double?)
}

extension OptionSpec {
  static let follow = OptionSpec(
    names: ["--follow"], argument: nil,
    summary: "print the rows, and then rows as they arrive"
  ) { invocation, _ throws(Failure) in try invocation.show(.follow) }

  static let watch = OptionSpec(
    names: ["--watch"], argument: "SECONDS", fallback: "",
    summary: "redraw the table when it changes"
  ) { invocation, value throws(Failure) in
    guard !value.bytes.isEmpty else { return try invocation.show(.watch(interval: nil)) }
    guard let seconds = Double(value.text), 0.1...86_400 ~= seconds else {
      throw .usage("must be a number of seconds from 0.1 to 86400")
    }
    try invocation.show(.watch(interval: seconds))
  }
}

extension Invocation {
  fileprivate mutating func show(_ liveness: Liveness) throws(Failure) {
    if let live, (live == .follow) != (liveness == .follow) {
      throw .usage("--follow and --watch cannot be combined")
    }
    live = liveness
    display.pages = false
  }

  /// The first given option among some names.
  private func option(among names: [String]) -> String? {
    given.first { names.contains($0.name) }?.name
  }

  /// Throws for options that `--follow` or `--watch` excludes. `name` is the format.
  func checkLive(_ name: String, _ screen: Screen, command: String) throws(Failure) {
    switch live {
    case .follow: try checkFollow(name)
    case .watch: try checkWatch(name, screen, command: command)
    case nil: break
    }
  }

  private func checkFollow(_ name: String) throws(Failure) {
    let jsonl = ["--format", "jsonl"]
    guard Formats.followedNames.contains(name) else {
      let names = Formats.followedNames.joined(separator: ", ")
      throw .usage(
        "--follow works with \(names); to get each change as JSON, run: \(line("show", without: ["--json", "--format"], adding: jsonl))",
        command: "show")
    }
    guard display.style != .collection || name != "table" else {
      throw .usage("--follow does not work with --style collection; use --watch", command: "show")
    }
    if let option = option(among: ["--footer", "--index"]) {
      throw .usage("--follow does not work with \(option); use --watch", command: "show")
    }
    if let option = option(among: ["--rows", "--per-section", "--at-index"]) {
      throw .usage(
        "--follow does not work with \(option), because positions change; -n N begins with the last N rows",
        command: "show")
    }
    if name == "jsonl" {
      let excluded = ["--section", "--with-section", "--with-row", "--with-number"]
      if let option = option(among: excluded) {
        throw .usage(
          "\(option) does not work with --follow --format jsonl, which prints sections, positions and ids",
          command: "show")
      }
    } else if let option = option(among: ["--sort", "--sections-by"]) {
      let corrected = line("show", without: ["--format"], adding: jsonl)
      throw .usage(
        "\(option) with --follow works only with --format jsonl, because a new row can be anywhere; run: \(corrected)",
        command: "show")
    }
  }

  private func checkWatch(
    _ name: String, _ screen: Screen, command: String
  ) throws(Failure) {
    guard screen.canRedraw else {
      let follow = command == "show" ? "; --follow prints rows as they arrive" : ""
      throw .usage(
        "--watch works only on a terminal that can move its cursor\(follow)", command: command)
    }
    guard Formats.readableNames.contains(name) else {
      let names = Formats.readableNames.joined(separator: " and ")
      throw .usage("--watch works with \(names)", command: command)
    }
    guard RowStream(operands.map { Location($0.bytes) }) == nil else {
      let follow = command == "show" ? "; --follow prints its rows as they arrive" : ""
      throw .usage("--watch cannot open a stream again\(follow)", command: command)
    }
  }
}
