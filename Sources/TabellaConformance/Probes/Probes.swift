import Glibc
import Tabella
import TabellaBridge
import TabellaSystem

extension Probe {
  static let entryComparesVersions = Probe(
    "entry-compares-versions",
    "The entry accepts the hosts of its own family of contract versions. It refuses all others, using "
      + "only the first two fields.",
    hint:
      "set provider_contract; unless TABELLA_CONTRACT_ACCEPTS(contract_version), return "
      + "TABELLA_NOT_SUPPORTED before anything else is read or written"
  ) { trial in
    if let complaint = complaintAboutOtherVersions(trial.entry) { throw LawBroken(complaint) }
  }

  static let entryIsQuiet = Probe(
    "entry-is-quiet", "The entry function reads and writes nothing and starts no threads.",
    hint: "use files, connections and threads in open, not in the entry"
  ) { trial in
    _ = ProcessUse.now()
    let before = ProcessUse.now()
    _ = try trial.provider()
    guard let now = ProcessUse.now(), let before else {
      throw Skipped(reason: "the reads and writes of this process cannot be measured")
    }
    // The measurement itself reads bytes. Two measurements differ by a few digits at most.
    let cost = 16 + (ProcessUse.now().map { $0.bytes - now.bytes } ?? 0)
    try require(
      now.bytes - before.bytes <= cost,
      "it read or wrote \(now.bytes - before.bytes - cost) bytes")
    try require(
      now.resources.threads <= before.resources.threads,
      "it started \(now.resources.threads - before.resources.threads) threads")
    try require(
      now.resources.descriptors <= before.resources.descriptors,
      "it left \(now.resources.descriptors - before.resources.descriptors) descriptors open")
  }

  static let entryIsQuick = Probe(
    "entry-is-quick", "The entry function takes less than 50 ms.",
    hint: "hosts call it for each provider that they examine; do the work in open"
  ) { trial in
    // The larger of the processor time of the first call and the best elapsed time, because the machine may be busy.
    let before = time(on: CLOCK_PROCESS_CPUTIME_ID)
    let first = measure { _ = try? trial.provider() }
    let busy = time(on: CLOCK_PROCESS_CPUTIME_ID) - before
    let again = (0..<2).map { _ in measure { _ = try? trial.provider() } }
    let quickest = min(first, again[0], again[1])
    try require(
      max(busy, quickest) < .milliseconds(50), "it took \(max(busy, quickest))")
  }

  static let entryAnswersAgain = Probe(
    "entry-answers-again",
    "Each host in a process that calls the entry function gets a working provider.",
    hint: "the entry is called once for each host, not once"
  ) { trial in
    let (first, second) = (try trial.provider(), try trial.provider())
    try require(
      first.id == second.id && first.version == second.version,
      "it is \(first.id) \(first.version) at first, then \(second.id) \(second.version)")
    try require(
      first.options == second.options, "its options are \(first.options), then \(second.options)")
    guard let request = trial.request else { return }
    let (one, other) = (try first.open(request), try second.open(request))
    try require(
      one.columns == other.columns,
      "the first opens columns \(one.columns), the second \(other.columns)")
  }

  static let unknownAbilities = Probe(
    "unknown-abilities", "An ability that does not exist is null, for any id.",
    hint: "compare the whole id with its length (tabella_string_equals); it has no final NUL"
  ) { trial in
    if let complaint = try trial.provider().complaintAboutAbilities(opening: trial.request) {
      throw LawBroken(complaint)
    }
  }

  static let senselessRequests = Probe(
    "senseless-requests",
    "The provider itself refuses calls that a host would refuse, with the right code and one "
      + "line.",
    hint: "begin rows with check(request), in C with tabella_rows_check; other hosts may not check",
    needsLocation: true
  ) { trial in
    guard let request = trial.request else { return }
    let complaint = try trial.provider().complaintAboutSenselessCalls(
      opening: request, mayEdit: trial.mayEdit, calls: 300, draw: trial.draw)
    if let complaint { throw LawBroken(complaint) }
  }
}

private func measure(_ body: () -> Void) -> Duration {
  let before = time(on: CLOCK_MONOTONIC)
  body()
  return time(on: CLOCK_MONOTONIC) - before
}

private func time(on clock: clockid_t) -> Duration {
  let time = timespec(on: clock)
  return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
}
