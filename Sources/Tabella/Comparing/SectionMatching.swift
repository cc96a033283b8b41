/// The sections of two tables that belong together.
struct SectionMatching {
  /// For each section of the new table, its partner in the old table.
  private(set) var oldSection: [Int?]
  /// For each section of the old table, its partner in the new table.
  private(set) var newSection: [Int?]
  /// For each section of the new table whether it has a partner, and all such partners ascend.
  private(set) var isInOrder: [Bool]
  /// For each section of the new table whether its partner has another title.
  private(set) var isRenamed: [Bool]

  private let oldTitles: [String?]
  private let newTitles: [String?]

  /// Pairs equal sections, then sections with equal titles, then sections between these.
  init(
    _ old: ComparedRows, _ new: ComparedRows, _ digests: TableDigests
  ) throws(TableError) {
    oldTitles = try old.titles()
    newTitles = try new.titles()
    oldSection = Array(repeating: nil, count: newTitles.count)
    newSection = Array(repeating: nil, count: oldTitles.count)
    isInOrder = []
    isRenamed = []
    pairEqualSections(old, new, digests)
    pairTitles()
    sortOut()
    pairGaps()
    sortOut()
    isRenamed = oldSection.enumerated().map { section, partner in
      partner.map { !Self.areEqual(oldTitles[$0], newTitles[section]) } ?? false
    }
  }

  private static func areEqual(_ left: String?, _ right: String?) -> Bool {
    // Compares bytes, because in Swift two encodings of one accent are equal.
    switch (left, right) {
    case (let left?, let right?): left.utf8.elementsEqual(right.utf8)
    default: left == nil && right == nil
    }
  }

  private mutating func pair(_ old: Int, _ new: Int) {
    oldSection[new] = old
    newSection[old] = new
  }

  /// Pairs sections with equal titles and rows. Sections without a title keep their order, so that no section
  /// without a name is moved.
  private mutating func pairEqualSections(
    _ old: ComparedRows, _ new: ComparedRows, _ digests: TableDigests
  ) {
    // Only one section is paired in the end, whatever its rows are.
    if oldTitles.count == 1, newTitles.count == 1 { return }
    var numbers = DigestNumbers()
    func number(_ title: String?, _ rows: ArraySlice<RowDigest>) -> Int32 {
      var digest = TableDigests.digest(rows)
      digest.add(UInt64(rows.count))
      if let title { for byte in title.utf8 { digest.add(UInt64(byte)) } } else { digest.add(256) }
      return numbers.number(of: digest)
    }
    let oldNumbers = oldTitles.enumerated().map {
      number($1, digests.oldRows[old.range(ofSection: $0)])
    }
    let newNumbers = newTitles.enumerated().map {
      number($1, digests.newRows[new.range(ofSection: $0)])
    }
    let matching = ListMatching(oldNumbers, newNumbers, bound: numbers.count)
    for (section, partner) in matching.partners.enumerated()
    where partner >= 0 && (matching.isInOrder[section] || newTitles[section] != nil) {
      pair(Int(partner), section)
    }
  }

  /// Pairs the first, second, … of the remaining sections with each title.
  private mutating func pairTitles() {
    var rest: [[UInt8]: [Int]] = [:]
    for section in oldTitles.indices.reversed() where newSection[section] == nil {
      if let title = oldTitles[section] { rest[Array(title.utf8), default: []].append(section) }
    }
    for section in newTitles.indices where oldSection[section] == nil {
      guard let title = newTitles[section],
        let partner = rest[Array(title.utf8)]?.popLast()
      else { continue }
      pair(partner, section)
    }
  }

  /// Finds the sections that keep their order.
  private mutating func sortOut() {
    let matching = ListMatching(
      partners: oldSection.map { Int32(truncatingIfNeeded: $0 ?? -1) })
    isInOrder = matching.isInOrder
  }

  /// Pairs the remaining sections between two sections that keep their order. A section without a title is paired
  /// only with another one, because not every table can add or remove a title.
  private mutating func pairGaps() {
    var oldStart = 0
    var newStart = 0
    for section in Array(newTitles.indices) + [newTitles.count] {
      guard section == newTitles.count || isInOrder[section] else { continue }
      let oldEnd = section < newTitles.count ? oldSection[section]! : oldTitles.count
      for hasTitle in [false, true] {
        let olds = (oldStart..<oldEnd).filter {
          newSection[$0] == nil && (oldTitles[$0] != nil) == hasTitle
        }
        let news = (newStart..<section).filter {
          oldSection[$0] == nil && (newTitles[$0] != nil) == hasTitle
        }
        for (old, new) in zip(olds, news) { pair(old, new) }
      }
      (oldStart, newStart) = (oldEnd + 1, section + 1)
    }
  }
}

extension ComparedRows {
  fileprivate func titles() throws(TableError) -> [String?] {
    try sections.indices.map { section throws(TableError) in try title(ofSection: section) }
  }
}
