import CTabellaSystem
import Glibc

/// What was found out about entries whose names nobody asked for, for those who come back for them at once.
///
/// A view that sorts, filters or groups reads a column of every row and then gathers rows. Without this every
/// entry would be examined twice, and a cell could contradict the place where it stands.
struct Scanned {
  /// For how many seconds it counts, from when rows were last read so.
  private static let duration = 5

  /// What columns need of a status.
  private struct Found {
    var size: UInt64 = 0
    var modified: Int64 = 0
    var modifiedRest: UInt32 = 0
    var mode: UInt32 = 0
    var owner: UInt32 = 0
    var group: UInt32 = 0
    var links: UInt32 = 0
    /// Below 0 where nothing is known.
    var error: Int32 = -1
    var kind = EntryKind.unknown
  }

  /// By the entries' numbers.
  private var found: [Found] = []
  private var time = 0

  /// Keeps what was found out about some entries.
  mutating func keep(_ entries: [Int], _ examined: [Examined]) {
    guard let largest = entries.max() else { return }
    if largest >= found.count {
      found += repeatElement(Found(), count: largest + 1 - found.count)
    }
    for (entry, one) in zip(entries, examined) {
      let status = one.status
      found[entry] = Found(
        size: status.size, modified: status.modified, modifiedRest: status.modified_rest,
        mode: status.mode, owner: status.owner, group: status.group, links: status.links,
        error: one.error, kind: one.kind)
    }
    time = Scanned.now
  }

  /// What was found out about these entries; nil if that is not all known, or was long ago.
  mutating func examined(_ entries: [Int]) -> [Examined]? {
    if found.isEmpty { return nil }
    guard Scanned.now - time <= Scanned.duration else {
      found = []
      return nil
    }
    var result: [Examined] = []
    result.reserveCapacity(entries.count)
    for entry in entries {
      guard entry < found.count, found[entry].error >= 0 else { return nil }
      let one = found[entry]
      var examined = Examined(kind: one.kind, error: one.error)
      examined.status.size = one.size
      examined.status.modified = one.modified
      examined.status.modified_rest = one.modifiedRest
      examined.status.mode = one.mode
      examined.status.owner = one.owner
      examined.status.group = one.group
      examined.status.links = one.links
      result.append(examined)
    }
    return result
  }

  private static var now: Int {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
    return time.tv_sec
  }
}
