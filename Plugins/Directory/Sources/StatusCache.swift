import CTabellaSystem
import Glibc
import TabellaSystem

/// A short-lived cache of statuses from requests without names.
///
/// A view that sorts, filters or groups first reads a column of every row and then gathers rows. Without the cache,
/// every entry would be examined twice, and a gathered cell could contradict the position of its row.
struct StatusCache {
  /// The lifetime of the cache in seconds, counted from the last such request.
  private static let duration = 5

  /// The fields of a status that columns need.
  private struct CachedStatus {
    var size: UInt64 = 0
    var modified: Int64 = 0
    var modifiedRest: UInt32 = 0
    var mode: UInt32 = 0
    var owner: UInt32 = 0
    var group: UInt32 = 0
    var links: UInt32 = 0
    /// Negative if nothing is known.
    var error: Int32 = -1
    var kind = EntryKind.unknown
  }

  /// The fields by entry number.
  private var statuses: [CachedStatus] = []
  private var time = 0

  /// Stores the results for some entries.
  mutating func keep(_ entries: [Int], _ examined: [Examined]) {
    guard let largest = entries.max() else { return }
    if largest >= statuses.count {
      statuses += repeatElement(CachedStatus(), count: largest + 1 - statuses.count)
    }
    for (entry, one) in zip(entries, examined) {
      let status = one.status
      statuses[entry] = CachedStatus(
        size: status.size, modified: status.modified, modifiedRest: status.modified_rest,
        mode: status.mode, owner: status.owner, group: status.group, links: status.links,
        error: one.error, kind: one.kind)
    }
    time = StatusCache.now
  }

  /// The results for these entries; nil if one is unknown or if they are too old.
  mutating func examined(_ entries: [Int]) -> [Examined]? {
    if statuses.isEmpty { return nil }
    guard StatusCache.now - time <= StatusCache.duration else {
      statuses = []
      return nil
    }
    var result: [Examined] = []
    result.reserveCapacity(entries.count)
    for entry in entries {
      guard entry < statuses.count, statuses[entry].error >= 0 else { return nil }
      let one = statuses[entry]
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

  private static var now: Int { timespec(on: CLOCK_MONOTONIC_COARSE).tv_sec }
}
