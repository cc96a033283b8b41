import Tabella

/// The digests of the rows of a section, as far as they can have changed.
struct SectionDigests {
  /// The digest of the heading; nil without one.
  var title: UInt64?
  /// The number of the first of ``rows``. The rows in front of it did not change.
  var firstRow = 0
  var rows: [UInt64]
}

/// The changes between two lists of sections, by digests of their records.
struct RecordDifference {
  private(set) var changes: [ChangeBatch.Change] = []
  private let old: [SectionDigests]
  private let new: [SectionDigests]
  /// The number of the first section of both lists.
  private let first: Int
  /// Whether some row or section is in both lists.
  private(set) var hasSurvivors = false

  /// Compares all sections of a text.
  ///
  /// Sections with equal headings belong together, and sections between two such pairs by their order.
  init(from old: [SectionDigests], to new: [SectionDigests]) {
    (self.old, self.new, first) = (old, new, 0)
    pairSections()
    join()
  }

  /// Compares the ends of two lists of sections. The sections in front of `first` did not change. The others belong
  /// together by their order.
  init(ofEnds old: [SectionDigests], _ new: [SectionDigests], first: Int) {
    (self.old, self.new, self.first) = (old, new, first)
    for number in 0..<max(old.count, new.count) { compareSections(at: number) }
    join()
  }

  /// The deletion of all old rows and the insertion of all new ones: another log has the name of the old one.
  static func replacing(
    _ old: [SectionDigests], by new: [SectionDigests], hasSections: Bool
  ) -> [ChangeBatch.Change] {
    if hasSections {
      return old.indices.map { .delete(.section($0)) } + new.indices.map { .insert(.section($0)) }
    }
    func rows(_ sections: [SectionDigests]) -> Range<Int> { 0..<(sections.first?.rows.count ?? 0) }
    return rows(old).map { .delete(IndexPath(section: 0, row: $0)) }
      + rows(new).map { .insert(IndexPath(section: 0, row: $0)) }
  }

  /// Joins deletions and insertions at the same position to reloads.
  private mutating func join() {
    let hasDeletions = changes.contains { if case .delete = $0 { true } else { false } }
    if hasDeletions { changes = changes.joiningReloads() }
  }

  // Sections

  private mutating func compareSections(at number: Int) {
    let (hasOld, hasNew) = (number < old.count, number < new.count)
    if hasOld, hasNew, (old[number].title == nil) == (new[number].title == nil) {
      return compare(number, with: number)
    }
    if hasOld { changes.append(.delete(.section(first + number))) }
    if hasNew { changes.append(.insert(.section(first + number))) }
  }

  private mutating func pairSections() {
    let hasTitles = (old + new).contains { $0.title != nil }
    func key(_ section: SectionDigests) -> UInt64 {
      if let title = section.title { return title }
      return hasTitles || old.count + new.count == 2
        ? 0 : section.rows.withUnsafeBytes { digest64($0) }
    }
    let difference = ListDifference(from: old.map(key), to: new.map(key))
    // For each old section its partner, and whether the pair stays in order.
    var partners = [Int?](repeating: nil, count: old.count)
    let gone = Set(difference.deleted)
    let moved = Dictionary(uniqueKeysWithValues: difference.moved.map { ($0.from, $0.to) })
    let arrived = Set(difference.inserted).union(difference.moved.map(\.to))
    var staying = new.indices.filter { !arrived.contains($0) }.makeIterator()
    for number in old.indices where !gone.contains(number) && moved[number] == nil {
      partners[number] = staying.next()
    }
    var inserted = Set(difference.inserted)
    for number in difference.deleted {
      let next = number == 0 ? 0 : partners[number - 1].map { $0 + 1 }
      guard let next, inserted.contains(next),
        (old[number].title == nil) == (new[next].title == nil)
      else {
        changes.append(.delete(.section(number)))
        continue
      }
      partners[number] = next
      inserted.remove(next)
    }
    changes += inserted.sorted().map { .insert(.section($0)) }
    for (from, to) in moved.sorted(by: { $0.key < $1.key }) {
      changes.append(.move(from: .section(from), to: .section(to)))
      partners[from] = to
    }
    for (number, partner) in partners.enumerated() {
      if let partner { compare(number, with: partner) }
    }
  }

  // Rows

  /// Compares two sections that belong together.
  private mutating func compare(_ oldNumber: Int, with newNumber: Int) {
    let (before, after) = (old[oldNumber], new[newNumber])
    if before.title != after.title { changes.append(.reconfigure(.section(first + oldNumber))) }
    let (olds, news) = (before.rows, after.rows)
    var front = 0
    while front < min(olds.count, news.count), olds[front] == news[front] { front += 1 }
    var back = 0
    while back < min(olds.count, news.count) - front,
      olds[olds.count - 1 - back] == news[news.count - 1 - back]
    {
      back += 1
    }
    let difference = ListDifference(
      from: olds[front..<olds.count - back], to: news[front..<news.count - back])
    hasSurvivors = hasSurvivors || difference.deleted.count < olds.count
    let row = before.firstRow + front
    func from(_ index: Int) -> IndexPath {
      IndexPath(section: first + oldNumber, row: row + index)
    }
    func to(_ index: Int) -> IndexPath { IndexPath(section: first + newNumber, row: row + index) }
    changes += difference.deleted.map { .delete(from($0)) }
    changes += difference.inserted.map { .insert(to($0)) }
    changes += difference.moved.map { .move(from: from($0.from), to: to($0.to)) }
  }
}
