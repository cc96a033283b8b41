import Tabella

/// The laws of data sources, which run without a test framework.
///
/// Each law opens its own sources, so that laws do not disturb each other. The suite works for every kind of source: in
/// memory, from a provider in the process, loaded with `dlopen`, in another process, or wrapped by a view.
public struct ConformanceSuite {
  /// The outcome of one law.
  public enum Outcome: Hashable, Sendable {
    case passed
    /// The law holds for the part of a large table that it examined. The text names that part.
    case sampled(String)
    /// The law does not apply, because the source lacks an ability.
    case skipped(String)
    /// The law is broken. The text has the expected and the actual behaviour.
    case failed(String)
  }

  /// A law and its outcome.
  public struct Finding: Hashable, Sendable {
    /// The law.
    public var law: Law
    /// The outcome of the law.
    public var outcome: Outcome

    /// Whether the law is broken.
    public var isFailure: Bool {
      if case .failed = outcome { true } else { false }
    }
  }

  /// All laws, in the best order for readers.
  public static let laws: [Law] =
    [
      .columnsHold, .countsHold, .sectionsCounted, .batchesValid, .cutsAgree, .projectionAgrees,
      .cellsHold, .textReads, .orderIsFree, .endIsEmpty, .refusals, .oddSizesAgree,
    ] + [
      .titlesInBounds, .indexInBounds, .idsIdentify, .idsOnlyWhenAsked, .gatherAgrees,
      .versionHolds, .permissionsAnswer, .supplementsAnswer, .accessoriesAnswer,
      .noticesAreHarmless, .diagnosticsEnd, .pullsReplay,
    ] + [
      .anyCallsAgree, .senselessCallsRefused, .cancelIsHarmless, .threadsMayChange,
      .openingsAreIndependent,
    ] + [
      .dryRunsChangeNothing, .editsReplay, .editsAreStored, .staleVersionsConflict,
      .refusedEditsChangeNothing, .sectionsHaveTheirTitles, .setReadsBack, .idsPassOn,
      .undoRestores,
    ] + [.batchOutlivesSource, .memoryReturns, .answersReturn, .dryRunsReturn, .openingsReturn]

  private let seed: UInt64
  private let open: () throws(TableError) -> any TableDataSource
  private let scratch: Scratch?
  private let meter: Meter
  private let dataSize: Int

  /// A closure that creates data which may be edited and lost. It returns a closure that opens the data any number of
  /// times. Throws ``Skipped`` if that is impossible.
  public typealias Scratch = () throws -> () throws(TableError) -> any TableDataSource

  /// A closure that measures the resources of the process in which a source lives.
  public typealias Meter = (any TableDataSource) throws -> ResourceUse

  /// Creates a suite for the sources that `open` returns. All of them must show the same data. The seed determines all
  /// random choices; a failure contains it.
  ///
  /// The suite never edits a source from `open`. Each law of editing calls `scratch` for new data; without it, these
  /// laws are skipped. The laws of memory call `meter`, which must measure the process of the source.
  ///
  /// `dataSize` is the size of the data in bytes, 0 if it is unknown. For more than 1 MiB, the laws repeat less often
  /// what takes time in proportion to the data.
  public init(
    seed: UInt64 = 1, open: @escaping () throws(TableError) -> any TableDataSource,
    scratch: Scratch? = nil, meter: @escaping Meter = { _ in .ofThisProcess() }, dataSize: Int = 0
  ) {
    self.dataSize = dataSize
    self.seed = seed
    self.open = open
    self.scratch = scratch
    self.meter = meter
  }

  /// Runs laws and returns the outcome of each.
  public func run(_ laws: [Law] = laws) -> [Finding] { laws.map { run($0) } }

  private func run(_ law: Law) -> Finding {
    let trial = Trial(
      seed: seed, open: open, scratch: scratch, meter: meter, dataSize: dataSize)
    let outcome = Outcome.of(seed: seed) { try law.check(trial) }
    let sampled = outcome == .passed ? trial.sampling.map { Outcome.sampled($0) } : nil
    return Finding(law: law, outcome: sampled ?? outcome)
  }
}

extension ConformanceSuite.Outcome {
  /// The outcome of a check.
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

/// A law: a property of every good data source.
public struct Law: Hashable, Sendable {
  /// A short name, such as `cuts-agree`.
  public let name: String
  /// The law in one sentence.
  public let summary: String
  /// Advice for the author if the law is broken.
  public let hint: String
  /// Whether the law requires that nothing else runs in the process.
  public let needsQuiet: Bool
  /// Whether the law requires that it runs in the same process as all its sources. With sources in other processes it
  /// passes without proving anything.
  public let needsOneProcess: Bool
  /// Whether the law edits. Without scratch data it is skipped.
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

  /// Whether both laws have the same name.
  public static func == (left: Law, right: Law) -> Bool { left.name == right.name }
  /// Hashes the name.
  public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

struct LawBroken: Error {
  let what: String

  init(_ what: String) { self.what = what }
}

/// An error of a law or of a closure: the law cannot be checked here.
public struct Skipped: Error {
  /// The reason as text for people.
  public let reason: String

  /// Creates an error with a reason.
  public init(reason: String) { self.reason = reason }
}

/// Throws ``LawBroken`` unless `condition` is true.
func require(_ condition: Bool, _ what: @autoclosure () -> String) throws {
  if !condition { throw LawBroken(what()) }
}
