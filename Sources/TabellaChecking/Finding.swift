import Tabella

/// What became of a check.
public struct Finding: Hashable, Sendable {
  public enum Status: String, Hashable, Sendable, CaseIterable {
    case passed
    /// What is required is not so.
    case failed
    /// The provider's process ended.
    case crashed
    /// The provider gave no answer in time.
    case timedOut = "timed out"
    /// The check does not apply, or cannot be made here.
    case skipped
    /// What is recommended is not so.
    case warning
  }

  public let check: Check
  public let status: Status
  /// Which place it was about, if there are several or it is about one.
  public var place: String?
  /// What came instead of what the check's summary says, or why it was skipped.
  public var came: String?
  /// Seconds.
  public var time = 0.0
  /// The last calls before it failed, if they were asked for.
  public var calls: [String] = []

  /// Whether a host should not have to live with it.
  public var isFailure: Bool {
    switch status {
    case .failed, .crashed, .timedOut: true
    case .passed, .skipped, .warning: false
    }
  }
}

extension Finding {
  /// A finding about something that is not as it should be, for whatever reason; what is only recommended
  /// is a warning.
  init(_ check: Check, _ problem: Problem, place: String?) {
    let status: Status =
      check.level == .recommended && problem.status != .skipped ? .warning : problem.status
    self.init(check: check, status: status, place: place, came: problem.text)
  }
}

/// What is wrong, or why nothing can be said.
struct Problem: Error {
  var status: Finding.Status
  var text: String

  static func failed(_ text: String) -> Problem { Problem(status: .failed, text: text) }
  static func skipped(_ text: String) -> Problem { Problem(status: .skipped, text: text) }
}

extension Problem {
  /// An error that a provider caused: its process crashed, was silent, or it is an error like others.
  init(_ error: TableError) {
    self.init(status: .of(error) ?? .failed, text: error.description)
  }
}

extension Finding.Status {
  /// What an error says about the process of a provider; nil if that is well.
  static func of(_ error: TableError) -> Finding.Status? {
    if error.code == .timeout { return .timedOut }
    guard error.code == .misbehaved else { return nil }
    return [" ended by ", " ended with ", " ended in an unknown way", " closed its connection"]
      .contains { error.message.utf8.position(of: $0.utf8) != nil } ? .crashed : nil
  }
}
