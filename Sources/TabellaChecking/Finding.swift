import Tabella

/// The result of a check.
public struct Finding: Hashable, Sendable {
  /// The kind of a result.
  public enum Status: String, Hashable, Sendable, CaseIterable {
    case passed
    /// A required check failed.
    case failed
    /// The process of the provider ended.
    case crashed
    /// The provider did not answer in time.
    case timedOut = "timed out"
    /// The check does not apply, or is impossible on this system.
    case skipped
    /// A recommended check failed.
    case warning
  }

  /// The check.
  public let check: Check
  /// The kind of the result.
  public let status: Status
  /// The name of the location; nil if the check concerns none or all.
  public var place: String?
  /// The actual behaviour in contrast to the check's summary, or the reason for skipping. If the check passed: the part
  /// of a large table that it examined; nil if it examined everything.
  public var detail: String?
  /// Advice for the author about this result: that of the check, unless the cause is known better.
  public var hint: String
  /// The duration in seconds.
  public var time = 0.0
  /// The last calls before the failure, if requested.
  public var calls: [String] = []

  /// Whether the provider violates the contract.
  public var isFailure: Bool {
    switch status {
    case .failed, .crashed, .timedOut: true
    case .passed, .skipped, .warning: false
    }
  }
}

extension Finding {
  init(check: Check, status: Status, place: String?, detail: String? = nil) {
    self.check = check
    self.status = status
    self.place = place
    self.detail = detail
    hint = check.hint
  }

  /// A finding from a problem. A problem with a recommendation becomes a warning.
  init(_ check: Check, _ problem: Problem, place: String?) {
    let status: Status =
      check.level == .recommended && ![.skipped, .passed].contains(problem.status)
      ? .warning : problem.status
    self.init(check: check, status: status, place: place, detail: problem.text)
  }
}

/// A failure, or the reason why a check was skipped.
struct Problem: Error {
  var status: Finding.Status
  var text: String

  static func failed(_ text: String) -> Problem { Problem(status: .failed, text: text) }
  static func skipped(_ text: String) -> Problem { Problem(status: .skipped, text: text) }
}

extension Problem {
  /// The problem for an error: a crash, a timeout or a failure.
  init(_ error: TableError) {
    self.init(status: .of(error) ?? .failed, text: error.description)
  }
}

extension Finding.Status {
  /// The status for an error of a provider's process; nil if the process is well.
  static func of(_ error: TableError) -> Finding.Status? {
    if error.code == .timeout { return .timedOut }
    return error.providerEnd == .byItself ? .crashed : nil
  }
}
