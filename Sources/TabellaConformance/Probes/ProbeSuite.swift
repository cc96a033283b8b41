import Glibc
import Tabella
import TabellaBridge
import TabellaSystem

/// A check of a provider's entry point. It covers behaviour that sources in other processes do not show.
package struct Probe: Hashable, Sendable {
  /// A short name, such as `entry-is-quiet`.
  package let name: String
  /// The behaviour of every good provider in one sentence.
  package let summary: String
  /// Advice for the author if the probe fails.
  package let hint: String
  /// Whether the probe is skipped without a location.
  package let needsLocation: Bool
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

  /// Whether both probes have the same name.
  package static func == (left: Probe, right: Probe) -> Bool { left.name == right.name }
  /// Hashes the name.
  package func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

/// Runs probes, and the laws that need a single process, over the entry point of a library in this process.
///
/// The probes make calls that no host makes, so a bad provider can crash the process. Run each probe in a disposable
/// process.
package struct ProbeSuite {
  /// All probes, in the best order for readers.
  package static let probes: [Probe] = [
    .entryComparesVersions, .entryIsQuiet, .entryIsQuick, .entryAnswersAgain, .unknownAbilities,
    .senselessRequests,
  ]

  /// The laws that need a single process.
  package static let laws = ConformanceSuite.laws.filter(\.needsOneProcess)

  private let seed: UInt64
  private let entry: ProviderEntry
  private let name: String
  private let request: OpenRequest?
  private let mayEdit: Bool
  private let sign: () -> Void

  /// Creates a suite for an entry point that was not called yet. `request` is the location to open, if there is one.
  ///
  /// Only with `mayEdit` does it try edits, and only ones that must fail. It calls `sign` from time to time as a sign
  /// of life for a watchdog.
  package init(
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

  /// Runs the probe or the law with this name. Returns nil if there is none.
  package func run(_ name: String) -> ConformanceSuite.Outcome? {
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
      return .failed("the entry function fails: \(error)")
    }
    let suite = ConformanceSuite(
      seed: seed,
      open: { () throws(TableError) in
        sign()
        return try provider.open(request)
      }, dataSize: request.dataSize)
    return suite.run([law])[0].outcome
  }
}

extension OpenRequest {
  /// The size of the file that the request names, in bytes; 0 if it names no regular file.
  package var dataSize: Int {
    guard let status = stat(at: location), status.kind == S_IFREG else { return 0 }
    return Int(status.st_size)
  }
}

/// The environment of a probe.
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

  /// Calls the entry point like a host.
  func provider() throws -> ImportedProvider { try ImportedProvider(calling: entry, name: name) }

  func draw(_ range: Range<Int>) -> Int { numbers.draw(range) }
}
