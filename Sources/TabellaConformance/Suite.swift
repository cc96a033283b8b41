import Tabella

/// The laws of a data source, runnable without a test framework.
///
/// A law opens sources of its own with the closure given, so that laws do not disturb each other.
/// One suite runs on every road: a source in memory, a provider in process, one loaded with
/// `dlopen`, one in another process, one wrapped by a view.
public struct ConformanceSuite {
  /// What became of one law.
  public enum Outcome: Hashable, Sendable {
    case passed
    /// The law does not apply: the source has no such ability.
    case skipped(String)
    /// What was expected and what came.
    case failed(String)
  }

  public struct Finding: Hashable, Sendable {
    public var law: Law
    public var outcome: Outcome

    public var isFailure: Bool {
      if case .failed = outcome { true } else { false }
    }
  }

  /// All laws, in the order in which they are best read.
  public static let laws: [Law] =
    [
      .columnsHold, .countsHold, .sectionsCounted, .batchesValid, .cutsAgree, .projectionAgrees,
      .cellsHold, .orderIsFree, .endIsEmpty, .refusals, .oddSizesAgree,
    ] + [
      .titlesInBounds, .indexInBounds, .idsIdentify, .idsOnlyWhenAsked, .gatherAgrees,
      .versionHolds, .permissionsAnswer, .supplementsAnswer, .accessoriesAnswer,
      .noticesAreHarmless, .diagnosticsEnd, .pullsReplay,
    ] + [
      .anyCallsAgree, .senselessCallsRefused, .cancelIsHarmless, .threadsMayChange,
      .openingsAreIndependent,
    ] + [
      .dryRunsChangeNothing, .editsReplay, .editsAreStored, .staleVersionsConflict,
      .refusedEditsChangeNothing, .sectionsHaveTheirTitles, .setReadsBack, .undoRestores,
    ] + [.batchOutlivesSource, .memoryReturns, .answersReturn, .dryRunsReturn, .openingsReturn]

  private let seed: UInt64
  private let open: () throws(TableError) -> any TableDataSource
  private let scratch: Scratch?
  private let meter: Meter

  /// Makes data that may be edited and lost, and returns what opens it, any number of times. Throws
  /// ``Skipped`` where there is none.
  public typealias Scratch = () throws -> () throws(TableError) -> any TableDataSource

  /// Tells what the process holds that a source lives in.
  public typealias Meter = (any TableDataSource) throws -> ResourceUse

  /// A suite over the sources that `open` gives; each must show the same data. The seed decides what
  /// is drawn at random; a failure says it.
  ///
  /// What `open` gives is never edited. The laws of editing edit what `scratch` makes, which is made
  /// anew for each of them; without it they are skipped. The laws of memory ask `meter`; where sources
  /// live in other processes it asks there.
  public init(
    seed: UInt64 = 1, open: @escaping () throws(TableError) -> any TableDataSource,
    scratch: Scratch? = nil, meter: @escaping Meter = { _ in .ofThisProcess() }
  ) {
    self.seed = seed
    self.open = open
    self.scratch = scratch
    self.meter = meter
  }

  /// Runs laws and returns what became of each.
  public func run(_ laws: [Law] = laws) -> [Finding] { laws.map { run($0) } }

  private func run(_ law: Law) -> Finding {
    let trial = Trial(seed: seed, open: open, scratch: scratch, meter: meter)
    return Finding(law: law, outcome: .of(seed: seed) { try law.check(trial) })
  }
}

extension ConformanceSuite.Outcome {
  /// What becomes of a check.
  static func of(seed: UInt64, _ check: () throws -> Void) -> Self {
    do {
      try check()
      return .passed
    } catch let skipped as Skipped {
      return .skipped(skipped.reason)
    } catch let broken as LawBroken {
      return .failed("\(broken.what) (seed \(seed))")
    } catch {
      return .failed("an unexpected error: \(error) (seed \(seed))")
    }
  }
}

/// A law: something that is true of every good data source.
public struct Law: Hashable, Sendable {
  /// A short name: `cuts-agree`.
  public let name: String
  /// The law in one sentence.
  public let summary: String
  /// What an author should look at when it fails.
  public let hint: String
  /// Whether it can only be judged when nothing else runs in the process.
  public let needsQuiet: Bool
  /// Whether it judges what only shows where all sources, and the judge, are in one process: over sources
  /// that live in processes of their own it passes, and proves nothing.
  public let needsOneProcess: Bool
  /// Whether it edits, and so is skipped without scratch data.
  public let edits: Bool
  let check: @Sendable (Trial) throws -> Void

  init(
    _ name: String, _ summary: String, hint: String, needsQuiet: Bool = false,
    needsOneProcess: Bool = false, edits: Bool = false,
    check: @escaping @Sendable (Trial) throws -> Void
  ) {
    self.name = name
    self.summary = summary
    self.hint = hint
    self.needsQuiet = needsQuiet
    self.needsOneProcess = needsOneProcess
    self.edits = edits
    self.check = check
  }

  public static func == (left: Law, right: Law) -> Bool { left.name == right.name }
  public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

struct LawBroken: Error {
  let what: String

  init(_ what: String) { self.what = what }
}

/// Thrown by what a suite is given, as by a law: this cannot be judged here.
public struct Skipped: Error {
  public let reason: String

  public init(reason: String) { self.reason = reason }
}

/// Throws that the law is broken unless `condition` holds.
func require(_ condition: Bool, _ what: @autoclosure () -> String) throws {
  if !condition { throw LawBroken(what()) }
}
