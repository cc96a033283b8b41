import Testing

@testable import TabellaTestSupport
@testable import tabella_bench

@Suite struct BenchTests {
  // MARK: Figures

  @Test func spreadEqualsTheNaiveOne() {
    var random = SeededGenerator(seed: 1)
    for count in 1...40 {
      let figures = (0..<count).map { _ in Double.random(in: 0..<9, using: &random) }
      let spread = Spread(figures)
      #expect(spread?.least == figures.min())
      #expect(spread?.most == figures.max())
      guard let median = spread?.median else { continue }
      // The median has equally many figures on both sides.
      #expect(figures.count { $0 < median } == figures.count { $0 > median })
    }
    #expect(Spread([]) == nil)
  }

  /// The ratio is the median of the quotients, not the quotient of the medians.
  @Test func ratioIsTakenWithinEachRound() {
    let base = [1.0, 8, 2, 4, 16]
    #expect(pairedRatio(base.map { $0 * 3 }, to: base) == 3)
    #expect(pairedRatio([2, 8, 8], to: [1, 2, 8]) == 2)
    // A program that ran once is compared with the round in which it ran.
    #expect(pairedRatio([5], to: [2, 100, 100]) == 2.5)
    #expect(pairedRatio([], to: base) == nil)
  }

  @Test func boundsOfAnAimAreMet() {
    let aim = Aim.cpu(1.5, of: "floor")
    #expect(Standing(aim: aim, reached: 1.5).isMet == true)
    #expect(Standing(aim: aim, reached: 1.51).isMet == false)
    #expect(Standing(aim: aim, reached: nil).isMet == nil)
  }

  // MARK: Data

  @Test(arguments: DataKind.allCases) func dataFollowsFromTheSeed(kind: DataKind) {
    #expect(bytes(kind, seed: 5) == bytes(kind, seed: 5))
    #expect(bytes(kind, seed: 5) != bytes(kind, seed: 6))
  }

  @Test func aSmallFileBeginsALargeOne() {
    #expect(bytes(.quoted, seed: 3, rows: 200).starts(with: bytes(.quoted, seed: 3, rows: 50)))
  }

  @Test func generatedRowsHaveTheirColumns() {
    #expect(cellCounts(bytes(.plain, seed: 1)) == Array(repeating: 10, count: 101))
    #expect(cellCounts(bytes(.quoted, seed: 1)) == Array(repeating: 6, count: 101))
    #expect(cellCounts(bytes(.text, seed: 1)) == Array(repeating: 1, count: 100))
    // Otherwise counting lines would give the number of records.
    #expect(bytes(.quoted, seed: 1).count { $0 == UInt8(ascii: "\n") } > 101)
  }

  private func bytes(_ kind: DataKind, seed: UInt64, rows: Int = 100) -> [UInt8] {
    var generator = DataGenerator(kind, seed: seed)
    var bytes: [UInt8] = []
    generator.appendHeader(to: &bytes)
    for _ in 0..<rows { generator.appendRow(to: &bytes) }
    return bytes
  }

  /// Counts cells naively, byte by byte.
  private func cellCounts(_ bytes: [UInt8]) -> [Int] {
    var counts: [Int] = []
    var cells = 1
    var quoted = false
    for byte in bytes {
      switch byte {
      case UInt8(ascii: "\""): quoted.toggle()
      case UInt8(ascii: ",") where !quoted: cells += 1
      case UInt8(ascii: "\n") where !quoted:
        counts.append(cells)
        cells = 1
      default: break
      }
    }
    return counts
  }

  // MARK: Outputs

  @Test func reductionsSeeWhatTheyShould() {
    let names = Reduction(measure: .set, upTo: UInt8(ascii: ","))
    #expect(reduced("b,1\na,2\n", names) == reduced("a,3\nb,4\n", names))
    #expect(reduced("b,1\na,2\n", names) != reduced("a,3\na,4\n", names))
    let order = Reduction(measure: .order, skipping: 1)
    #expect(reduced("head\na\nb\n", order) == reduced("other\na\nb\n", order))
    #expect(reduced("head\na\nb\n", order) != reduced("head\nb\na\n", order))
    let number = Reduction(measure: .number)
    #expect(reduced("  42 file.csv\n", number) == "42")
    let herd = Reduction(measure: .lines, containing: "herd")
    #expect(reduced("a herd\nnone\nherd b\n", herd) == "2 lines")
  }

  private func reduced(_ text: String, _ reduction: Reduction) -> String {
    Array(text.utf8).withUnsafeBytes { reduction.reduce($0) }
  }

  // MARK: Report

  @Test func aDifferingOutputMakesACaseWrong() {
    #expect(!result(.right).isWrong(strict: true))
    #expect(result(.wrong("1, not 2")).isWrong(strict: false))
    #expect(!result(.wrong("1, not 2"), tool: "peer").isWrong(strict: true))
    #expect(result(.failed(status: 1, "broken")).isWrong(strict: false))
    let unavailable = result(.failed(status: 2, "no such command"))
    #expect(!unavailable.isWrong(strict: false))
    #expect(unavailable.isWrong(strict: true))
    #expect(!result(.failed(status: 1, "broken"), tool: "peer").isWrong(strict: true))
  }

  @Test func everyRowOfATableHasTheSameCells() {
    let table = Report.table(
      [result(.right), result(.wrong("1 | 2")), result(.failed(status: 3, "a | b"))],
      hiding: cache)
    let cells = table.split(separator: "\n").map {
      $0.replacing("\\|", with: "").count { $0 == "|" }
    }
    #expect(cells.count == 2 + 2 * 3)
    #expect(Set(cells) == [10])
    #expect(table.contains("met"))
    #expect(table.contains("WRONG"))
  }

  /// A long run ends with one screen, also if everything is wrong.
  @Test func theSummaryFitsOnAScreen() {
    let long = String(repeating: "wrong ", count: 40)
    for outcome in [Entry.Outcome.right, .wrong(long), .failed(status: 1, long)] {
      let text = summary(Array(repeating: result(outcome), count: 40))
      let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
      #expect(lines.count <= Summary.lines + 1)
      #expect(lines.allSatisfy { $0.count <= Summary.width })
      #expect(lines.count { $0.hasPrefix("case ") } == 1 + 40)
      #expect(text.contains("WRONG") == (outcome != .right))
    }
  }

  @Test func theSummaryMarksMissedAims() {
    let slow = result(.right, seconds: 2)
    let text = summary([result(.right), slow])
    #expect(text.contains("2 met\n"))
    #expect(text.contains("MISSED 1 of 2\n"))
    #expect(text.contains("- case, tabella: CPU ≤ 1.50 × floor: missed, 2.00\n"))
    #expect(text.contains("2 cases, 0 wrong; 4 aims: 3 met, 1 missed, 0 not measured\n"))
  }

  /// A peer that does less, or something else, may be faster.
  @Test func theBestPeerGivesTheSameAnswer() {
    let compared = Reduction(measure: .number)
    func peer(_ label: String, _ seconds: Double, check: Reduction?, _ outcome: Entry.Outcome)
      -> Entry
    {
      Entry(
        command: Command(label: label, pipeline: [[label]], tool: label, check: check),
        outcome: outcome, runs: [run(seconds)])
    }
    let other = peer("other", 1, check: nil, .unchecked)
    let wrong = peer("wrong", 2, check: compared, .wrong("1, not 2"))
    let slow = peer("slow", 4, check: compared, .right)
    let best = peer("best", 3, check: compared, .right)
    func bestPeer(_ peers: [Entry]) -> String? {
      let base = result(.right)
      let result = CaseResult(case: base.case, entries: base.entries + peers)
      return result.bestPeer(.wall)?.command.label
    }
    #expect(bestPeer([other, wrong, slow, best]) == "best")
    // Nothing can be compared in the cases of the start.
    #expect(bestPeer([other]) == "other")
    #expect(bestPeer([wrong]) == nil)
  }

  private func summary(_ results: [CaseResult]) -> String {
    Summary(results: results, live: [], absent: [], rows: 10_000_000).text
  }

  private let cache = Cache(
    folder: Cache.defaultFolder, seed: 1, sizes: Sizes(plain: 1000))

  private func run(_ seconds: Double) -> Run {
    Run(wall: seconds, cpu: seconds, peak: 1_048_576, status: 0)
  }

  /// Results with a floor of one second, and a command with this outcome.
  private func result(
    _ outcome: Entry.Outcome, tool: String? = nil, seconds: Double = 1
  ) -> CaseResult {
    let floor = Command(label: "floor", pipeline: [["floor"]])
    let command = Command(label: "tabella", pipeline: [["a", "x|y"], ["b"]], tool: tool)
    return CaseResult(
      case: Case(
        name: "case", about: "about", commands: [floor, command],
        aims: [.cpu(1.5, of: "floor"), .peak(mebibytes: 24)]),
      entries: [
        Entry(command: floor, runs: [run(1)]),
        Entry(command: command, outcome: outcome, runs: [run(seconds)]),
      ])
  }
}
