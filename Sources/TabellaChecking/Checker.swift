import Tabella
import TabellaBridge
import TabellaConformance
import TabellaFiles
import TabellaHost
import TabellaRemote
import TabellaSystem

/// The settings of a check run.
public struct CheckOptions: Sendable {
  /// The seed of all random choices.
  public var seed: UInt64 = 1
  /// The names of the checks to perform; nil means all.
  public var only: Set<String>?
  /// Whether locations with a scheme may be edited, since they cannot be copied. Files and folders are copied.
  public var mayEdit = false
  /// Whether findings contain the last calls. Checks inside the provider's process have none.
  public var keepsCalls = false
  /// Options of the provider for all locations.
  public var values: [String: String] = [:]

  /// The default settings.
  public init() {}
}

/// The conformance suite as a product. It checks the library of a provider, with each check in a separate process.
///
/// It needs only the library and edits only copies. Only one thread may use it.
public final class Checker {
  /// The path of the library.
  public let library: String
  /// The manifest next to the library, or the shipped one; nil if there is none.
  public let manifest: Manifest?
  private let manifestFile: ManifestFile?
  /// The id, version and options that the library reports; nil if it could not be loaded.
  package private(set) var provider: LoadedProvider?
  /// The reason why the library could not be loaded.
  public private(set) var failure: TableError?
  /// The locations used for the checks.
  public private(set) var locations: [CheckedLocation] = []
  private let host: Host
  private let location: Location?
  private let options: CheckOptions

  /// Creates a checker for a library. Without a location, it uses locations that the manifest suggests.
  ///
  /// `host` determines the process and the limits of providers. The checker uses its ``Host/onOutput`` and limits the
  /// duration of a call to twelve times the limit of silence.
  public init(library: String, location: Location?, options: CheckOptions, host: Host) {
    self.library = library
    self.location = location
    self.options = options
    self.host = host
    host.limits.total = min(host.limits.total, 12 * host.limits.silence)
    manifestFile = ManifestFile(of: library)
    manifest =
      host.catalogue.entries.first { isSameFile($0.library, library) }?.manifest
      ?? manifestFile?.manifest
  }

  /// Performs the checks in order and reports each finding when it is complete.
  ///
  /// If the library cannot be loaded, that is the only finding, and ``failure`` has the reason. `onStart` is called as
  /// soon as the locations are known, and `onCheck` before each check.
  public func run(
    onStart: (Checker) throws -> Void = { _ in }, onCheck: (Check) -> Void = { _ in },
    _ onFinding: (Finding) throws -> Void
  ) throws {
    let folder = try PrivateFolder()
    // The trash of deleted copies.
    host.dataFolder = folder.place("data")
    let began = now()
    let loaded: LoadedProvider
    do throws(TableError) {
      loaded = try host.examine(library: library)
    } catch {
      failure = error
      try onStart(self)
      var finding = Finding(.loads, Problem(error), place: nil)
      finding.hint = LoadingAdvice.advice(for: error)
      finding.time = now() - began
      return try onFinding(finding)
    }
    provider = loaded
    let run = CheckRun(
      library: library, manifest: manifest, manifestFile: manifestFile, loaded: loaded,
      options: options, folder: folder,
      host: host)
    let (usable, unusable) = try findLocations(run)
    locations = usable.map(\.place) + unusable.map(\.place)
    try onStart(self)
    var patience = Checker.patience
    for check in Check.all where options.only?.contains(check.name) ?? true {
      let began = now()
      onCheck(check)
      let isTried = patience > 0 || options.only != nil || check.subject == .library
      var finding =
        isTried
        ? run.make(check, usable.map(\.place), unusable)
        : Finding(check, .skipped(Checker.impatience), place: nil)
      if finding.status == .timedOut { patience -= 1 }
      finding.time = now() - began
      try onFinding(finding)
    }
  }

  /// The number of timeouts after which the remaining checks are skipped, because they would most likely time out, too.
  private static let patience = 3
  private static let impatience =
    "\(patience) checks timed out; fix that first, or choose this check with --only"

  /// A location, and the error if it cannot be opened.
  typealias OpenAttempt = (place: CheckedLocation, error: TableError?)

  /// Determines the locations, divided into usable and unusable ones.
  private func findLocations(_ run: CheckRun) throws -> (
    usable: [OpenAttempt], unusable: [OpenAttempt]
  ) {
    let candidates: [CheckedLocation]
    if let location {
      candidates = [CheckedLocation(given: location, manifest, options: options.values)]
    } else if let manifest {
      candidates = try CheckedLocation.derived(
        from: manifest, in: run.folder, options: options.values)
    } else {
      candidates = []
    }
    let tried = candidates.map { place in
      do throws(TableError) {
        _ = try run.open(place.request)
        return (place: place, error: nil as TableError?)
      } catch {
        return (place: place, error: error)
      }
    }
    return (tried.filter { $0.error == nil }, tried.filter { $0.error != nil })
  }
}

extension CheckRun {
  /// Performs a check with every location that it applies to. The worst finding counts.
  func make(_ check: Check, _ locations: [CheckedLocation], _ unusable: [Checker.OpenAttempt])
    -> Finding
  {
    switch check.body {
    case .file(let body): return make(check, nil) { try body(self) }
    case .probe where check.subject == .entry:
      return make(check, nil) { try self.judge(try self.probe(check.name, locations.first)) }
    case .probe:
      return makeEach(check, locations, unusable) { place in
        try self.judge(try self.probe(check.name, place))
      }
    case .law(let law):
      return makeEach(check, locations, unusable) { place in try self.make(law, place) }
    case .location(let body):
      // This check decides whether a location opens at all.
      let all = check == .opens ? locations + unusable.map(\.place) : locations
      return makeEach(check, all, unusable) { place in try body(self, place) }
    case .kind(let body):
      var kinds: [CheckedLocation] = []
      for place in locations where !kinds.contains(where: { $0.isLike(place) }) {
        kinds.append(place)
      }
      return makeEach(check, kinds, unusable) { place in try body(self, place) }
    case .locations(let body):
      guard !locations.isEmpty else {
        return Finding(check, .skipped(whyNothing(unusable)), place: nil)
      }
      return make(check, nil) { try body(self, locations) }
    }
  }

  private func makeEach(
    _ check: Check, _ locations: [CheckedLocation], _ unusable: [Checker.OpenAttempt],
    _ body: (CheckedLocation) throws -> Void
  ) -> Finding {
    guard !locations.isEmpty else {
      return Finding(check, .skipped(whyNothing(unusable)), place: nil)
    }
    let findings = locations.map { place in make(check, place) { try body(place) } }
    let order: [Finding.Status] = [.crashed, .timedOut, .failed, .warning, .passed, .skipped]
    let worst = order.lazy.compactMap { status in findings.first { $0.status == status } }.first
    // The part that was examined at another location matters, too.
    let sampled = findings.first { $0.status == worst?.status && $0.detail != nil }
    return (worst?.status == .passed ? sampled : nil) ?? worst ?? findings[0]
  }

  private func whyNothing(_ unusable: [Checker.OpenAttempt]) -> String {
    guard let (place, error) = unusable.first, let error else {
      return manifest == nil
        ? "there is no manifest beside the library: add a location to the command"
        : "the manifest names nothing to open: add a location to the command"
    }
    return "\(place.name) cannot be opened (\(error.message)): add a location to the command"
  }

  /// Performs a check once.
  private func make(
    _ check: Check, _ place: CheckedLocation?, _ body: () throws -> Void
  ) -> Finding {
    begin()
    let problem: Problem?
    do {
      try body()
      problem = nil
    } catch let found as Problem {
      problem = found
    } catch let error as TableError {
      problem = Problem(error)
    } catch {
      problem = .failed("\(error)")
    }
    guard var problem else {
      return Finding(check: check, status: .passed, place: place?.name)
    }
    // The end of the process is more informative than the resulting failure of a law.
    if problem.status == .failed, let ending { problem = Problem(ending) }
    var finding = Finding(check, problem, place: place?.name)
    if finding.isFailure || finding.status == .warning { finding.calls = lastCalls }
    return finding
  }

  private func make(_ law: Law, _ place: CheckedLocation) throws {
    let suite = ConformanceSuite(
      seed: options.seed, open: { () throws(TableError) in try self.open(place.request) },
      scratch: { try self.scratch(place) }, meter: { try self.resources(of: $0) },
      dataSize: place.request.dataSize)
    try judge(suite.run([law])[0].outcome)
  }

  private func judge(_ outcome: ConformanceSuite.Outcome) throws {
    switch outcome {
    case .passed: return
    case .sampled(let part): throw Problem(status: .passed, text: part)
    case .skipped(let reason): throw Problem.skipped(reason)
    case .failed(let what): throw Problem.failed(what)
    }
  }
}
