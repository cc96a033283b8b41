import CTabellaSystem
import TabellaFiles

/// The capabilities of root that a worker keeps; see capabilities(7).
///
/// Root in a worker can read and change files of all users, as elsewhere. Landlock limits it to the granted files. The
/// worker gives up all other capabilities.
enum Capabilities {
  private static let chown: UInt64 = 1 << 0
  private static let overrideModes: UInt64 = 1 << 1
  private static let readAnything: UInt64 = 1 << 2
  private static let actAsOwner: UInt64 = 1 << 3
  private static let keepSetID: UInt64 = 1 << 4
  private static let kill: UInt64 = 1 << 5
  private static let nice: UInt64 = 1 << 23

  private static let names = [
    (chown, "chown"), (overrideModes, "dac_override"), (readAnything, "dac_read_search"),
    (actAsOwner, "fowner"), (keepSetID, "fsetid"), (kill, "kill"), (nice, "sys_nice"),
  ]

  /// The capabilities to keep, as bits.
  static func kept(_ rules: WorkerRules) -> UInt64 {
    var kept = readAnything
    if rules.allowsChanges { kept |= chown | overrideModes | actAsOwner | keepSetID }
    if rules.signals { kept |= kill | nice }
    return kept
  }

  /// The remaining capabilities in words.
  static var described: String {
    let left = tabella_capabilities()
    if left == 0 { return "no capabilities" }
    let words = names.filter { left & $0.0 != 0 }.map(\.1)
    return "no capabilities except " + words.joined(separator: ", ")
  }
}
