import Tabella
import TabellaConformance

/// One check of a provider.
public struct Check: Hashable, Sendable {
  /// The importance of a check.
  public enum Level: String, Hashable, Sendable {
    /// The contract requires it. A provider that fails is unreliable.
    case required
    /// It is good practice. A provider that fails still works.
    case recommended
  }

  /// The resource that a check needs. A check without its resource is skipped.
  public enum Subject: String, Hashable, Sendable {
    /// The file of the library and its manifest.
    case library
    /// The entry point, called in a separate process.
    case entry
    /// A location that the provider opens.
    case location
    /// A location that may be edited and lost.
    case editing
  }

  /// A short name, such as `counts-hold`.
  public let name: String
  /// The importance of the check.
  public let level: Level
  /// The resource that the check needs.
  public let subject: Subject
  /// The expectation in one sentence.
  public let summary: String
  /// Advice for the author if the check fails.
  public let hint: String
  let body: Body

  enum Body: Sendable {
    /// A check of the library's file or manifest. Throws ``Problem``.
    case file(@Sendable (CheckRun) throws -> Void)
    /// A probe, or a law that needs a single process; identified by its name.
    case probe
    /// A law. Each of its sources lives in a worker.
    case law(Law)
    /// A check that runs for each location.
    case location(@Sendable (CheckRun, CheckedLocation) throws -> Void)
    /// A check that runs for one location of each kind: file, folder, scheme.
    case kind(@Sendable (CheckRun, CheckedLocation) throws -> Void)
    /// A check that needs all locations together.
    case locations(@Sendable (CheckRun, [CheckedLocation]) throws -> Void)
  }

  init(
    _ name: String, _ level: Level = .required, _ subject: Subject, _ summary: String,
    hint: String, _ body: Body
  ) {
    self.name = name
    self.level = level
    self.subject = subject
    self.summary = summary
    self.hint = hint
    self.body = body
  }

  /// Whether both checks have the same name.
  public static func == (left: Check, right: Check) -> Bool { left.name == right.name }
  /// Hashes the name.
  public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

extension Check {
  /// All checks in order of execution, which is also the best order for readers.
  public static let all: [Check] =
    ofLibrary + ProbeSuite.probes.map { Check($0) } + ofPlaces + hostile
    + ConformanceSuite.laws.map { Check($0) }

  private static let ofLibrary: [Check] = [
    .loads, .hasManifest, .manifestAgrees, .manifestMembers, .exportsOneSymbol, .runpathIsRelative,
    .staysLoaded,
    .ownConformances,
  ]

  private static let ofPlaces: [Check] = [
    .opens, .minimalHost, .columnsAsDeclared, .capabilitiesAsDeclared, .optionsOpen, .staysQuiet,
    .staysInBounds,
  ]

  private static let hostile: [Check] = [
    .missingLocation, .otherKind, .oddNames, .emptyFile, .longLine, .hugeFile, .noPermission,
    .strangeRests,
  ]

  private init(_ probe: Probe) {
    self.init(
      probe.name, probe.name == "entry-is-quick" ? .recommended : .required,
      probe.needsLocation ? .location : .entry, probe.summary, hint: probe.hint, .probe)
  }

  private init(_ law: Law) {
    self.init(
      law.name, .required, law.edits ? .editing : .location, law.summary, hint: law.hint,
      law.needsOneProcess ? .probe : .law(law))
  }
}
