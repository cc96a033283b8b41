import Tabella
import TabellaBridge

/// A check of a provider as such, from its entry on: what its sources do not show, or not where they live
/// in other processes.
public struct Probe: Hashable, Sendable {
  /// A short name: `entry-is-quiet`.
  public let name: String
  /// What is true of every good provider, in one sentence.
  public let summary: String
  /// What an author should look at when it fails.
  public let hint: String
  /// Whether it is skipped without a location to open.
  public let needsLocation: Bool
  let check: @Sendable (ProbeTrial) throws -> Void

  init(
    _ name: String, _ summary: String, hint: String, needsLocation: Bool = false,
    check: @escaping @Sendable (ProbeTrial) throws -> Void
  ) {
    self.name = name
    self.summary = summary
    self.hint = hint
    self.needsLocation = needsLocation
    self.check = check
  }

  public static func == (left: Probe, right: Probe) -> Bool { left.name == right.name }
  public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

/// Runs probes, and those laws that need one process, over the entry of a library that is loaded here.
///
/// It asks what no host asks, so that a bad provider ends the process: to be run in one that may be lost,
/// one probe each.
public struct ProbeSuite {
  /// All probes, in the order in which they are best read.
  public static let probes: [Probe] = [
    .entryRefusesVersions, .entryIsQuiet, .entryIsQuick, .entryAnswersAgain, .unknownAbilities,
    .senselessRequests,
  ]

  /// The laws that only show something here.
  public static let laws = ConformanceSuite.laws.filter(\.needsOneProcess)

  private let seed: UInt64
  private let entry: ProviderEntry
  private let name: String
  private let request: OpenRequest?
  private let mayEdit: Bool
  private let sign: () -> Void

  /// A suite over one entry, not called so far, and what to open with it, if anything.
  ///
  /// Edits, none of which could be made, are tried only with `mayEdit`. `sign` is called now and then, so
  /// that a watcher sees that the work goes on.
  public init(
    seed: UInt64 = 1, entry: ProviderEntry, name: String, request: OpenRequest? = nil,
    mayEdit: Bool = false, sign: @escaping () -> Void = {}
  ) {
    self.seed = seed
    self.entry = entry
    self.name = name
    self.request = request
    self.mayEdit = mayEdit
    self.sign = sign
  }

  /// Runs the probe, or the law, of this name; nil if there is none.
  public func run(_ name: String) -> ConformanceSuite.Outcome? {
    if let law = ProbeSuite.laws.first(where: { $0.name == name }) { return run(law) }
    guard let probe = ProbeSuite.probes.first(where: { $0.name == name }) else { return nil }
    guard request != nil || !probe.needsLocation else { return .skipped("there is no location") }
    let trial = ProbeTrial(
      numbers: Trial.Numbers(seed: seed), entry: entry, name: self.name, request: request,
      mayEdit: mayEdit)
    return .of(seed: seed) { try probe.check(trial) }
  }

  private func run(_ law: Law) -> ConformanceSuite.Outcome {
    guard let request else { return .skipped("there is no location") }
    let provider: ImportedProvider
    do throws(TableError) {
      provider = try ImportedProvider(calling: entry, name: name)
    } catch {
      return .failed("the entry fails: \(error)")
    }
    let suite = ConformanceSuite(
      seed: seed,
      open: { () throws(TableError) in
        sign()
        return try provider.open(request)
      })
    return suite.run([law])[0].outcome
  }
}

/// What a probe works with.
final class ProbeTrial {
  let entry: ProviderEntry
  let name: String
  let request: OpenRequest?
  let mayEdit: Bool
  private var numbers: Trial.Numbers

  init(
    numbers: Trial.Numbers, entry: ProviderEntry, name: String, request: OpenRequest?,
    mayEdit: Bool
  ) {
    self.numbers = numbers
    self.entry = entry
    self.name = name
    self.request = request
    self.mayEdit = mayEdit
  }

  /// Calls the entry as a host does.
  func provider() throws -> ImportedProvider { try ImportedProvider(calling: entry, name: name) }

  func draw(_ range: Range<Int>) -> Int { numbers.draw(range) }
}
