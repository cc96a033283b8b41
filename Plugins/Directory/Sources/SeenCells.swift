/// Digests of the statuses that callers have seen. A pull compares them with the present statuses.
struct SeenCells {
  /// The digest of an entry that was seen with different statuses.
  private static let ambiguous: UInt64 = 1

  /// The digests by entry; 0 means that nobody has seen the status.
  private var digests: [UInt64] = []
  /// The entries that were seen with different statuses since the last pull.
  private(set) var ambiguousEntries: Set<Int> = []

  /// Whether anybody has seen the status of an entry.
  func has(_ entry: Int) -> Bool { entry < digests.count && digests[entry] != 0 }

  /// Whether a status differs from the one that callers have seen.
  func differs(_ entry: Int, _ examined: Examined) -> Bool {
    digests[entry] != SeenCells.digest(examined)
  }

  /// Notes that a caller sees the status of an entry.
  mutating func see(_ entry: Int, _ examined: Examined) {
    if entry >= digests.count {
      digests += repeatElement(0, count: max(entry + 1 - digests.count, digests.count))
    }
    let digest = SeenCells.digest(examined)
    if digests[entry] == digest { return }
    if digests[entry] == 0 {
      digests[entry] = digest
    } else {
      digests[entry] = SeenCells.ambiguous
      ambiguousEntries.insert(entry)
    }
  }

  /// Replaces the status after a pull has reported it.
  mutating func replace(_ entry: Int, _ examined: Examined) {
    digests[entry] = SeenCells.digest(examined)
    ambiguousEntries.remove(entry)
  }

  /// Takes over the digest of an entry from before.
  mutating func take(_ entry: Int, from other: SeenCells, _ origin: Int) {
    guard other.has(origin) else { return }
    if entry >= digests.count {
      digests += repeatElement(0, count: max(entry + 1 - digests.count, digests.count))
    }
    digests[entry] = other.digests[origin]
    if digests[entry] == SeenCells.ambiguous { ambiguousEntries.insert(entry) }
  }

  private static func digest(_ examined: Examined) -> UInt64 {
    let status = examined.status
    let words: InlineArray<6, UInt64> = [
      UInt64(status.size), UInt64(bitPattern: status.modified),
      UInt64(status.modified_rest) << 32 | UInt64(status.mode),
      UInt64(status.owner) << 32 | UInt64(status.group), UInt64(status.links),
      UInt64(UInt32(bitPattern: examined.error)) << 8 | UInt64(examined.kind.rawValue),
    ]
    var digest: UInt64 = 0
    for index in words.indices {
      digest = (digest ^ words[index]) &* 0x9E37_79B9_7F4A_7C15
      digest ^= digest >> 29
    }
    return max(digest, SeenCells.ambiguous + 1)
  }
}
