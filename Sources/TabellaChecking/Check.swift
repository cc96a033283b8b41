import Tabella
import TabellaConformance

/// One thing that is checked of a provider.
public struct Check: Hashable, Sendable {
  public enum Level: String, Hashable, Sendable {
    /// The contract says so; a provider that fails is not to be relied on.
    case required
    /// It is better so; a provider that fails works.
    case recommended
  }

  /// What a check needs, so that what cannot be made is known without trying.
  public enum Subject: String, Hashable, Sendable {
    /// The library's file and its manifest.
    case library
    /// Its entry, called in a process of its own.
    case entry
    /// Something that it opens.
    case location
    /// Something that it opens and that may be edited and lost.
    case editing
  }

  /// A short name: `counts-hold`.
  public let name: String
  public let level: Level
  public let subject: Subject
  /// What is expected, in one sentence.
  public let summary: String
  /// What an author should look at when it fails.
  public let hint: String
  let body: Body

  enum Body: Sendable {
    /// Something that the library's file or its manifest says. Throws ``Problem``.
    case file(@Sendable (CheckRun) throws -> Void)
    /// A probe, or a law that needs one process, by its name.
    case probe
    /// A law, over sources that each live in a worker.
    case law(Law)
    /// Something that is tried with each place.
    case place(@Sendable (CheckRun, CheckedLocation) throws -> Void)
    /// Something that is tried with one place of each kind: a file, a folder, a scheme.
    case kind(@Sendable (CheckRun, CheckedLocation) throws -> Void)
    /// Something that all places tell together.
    case places(@Sendable (CheckRun, [CheckedLocation]) throws -> Void)
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

  public static func == (left: Check, right: Check) -> Bool { left.name == right.name }
  public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

extension Check {
  /// All checks, in the order in which they are made and best read.
  public static let all: [Check] =
    ofLibrary + ProbeSuite.probes.map { Check($0) } + ofPlaces + hostile
    + ConformanceSuite.laws.map { Check($0) }

  private static let ofLibrary: [Check] = [
    .loads, .manifestAgrees, .exportsOneSymbol, .runpathIsRelative, .staysLoaded, .ownConformances,
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
