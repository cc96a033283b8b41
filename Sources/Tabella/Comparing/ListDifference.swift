/// The deletions, insertions and moves that lead from one list to another, by UIKit's rules.
///
/// Deleted elements and sources of moves are numbered as in the old list. Inserted elements and targets of moves are
/// numbered as in the new list. All other elements keep their order.
public struct ListDifference: Hashable, Sendable {
  /// The move of one element.
  public struct Move: Hashable, Sendable {
    /// The index in the old list.
    public var from: Int
    /// The index in the new list.
    public var to: Int

    /// Creates a move.
    public init(from: Int, to: Int) {
      self.from = from
      self.to = to
    }
  }

  /// The indices of the deleted elements in the old list, ascending.
  public private(set) var deleted: [Int] = []
  /// The indices of the inserted elements in the new list, ascending.
  public private(set) var inserted: [Int] = []
  /// The moved elements, in the order of the new list.
  public private(set) var moved: [Move] = []

  /// Compares two lists of ids or other values.
  ///
  /// The numbers of deletions and insertions are the smallest possible. So is the number of moves if no element
  /// repeats in a list, or if the lists have at most 512 elements together. If an element repeats, its occurrences
  /// that stay in order are paired first, and the others by their order.
  /// - Complexity: O(n) comparisons and hashes. Finding the moves takes O(n log n) at worst, and O(n) for lists that
  ///   differ little.
  public init<Element: Hashable>(
    from old: some Collection<Element>, to new: some Collection<Element>
  ) {
    var numbers: [Element: Int32] = [:]
    func number(_ element: Element) -> Int32 {
      if let number = numbers[element] { return number }
      let number = Int32(truncatingIfNeeded: numbers.count)
      numbers[element] = number
      return number
    }
    let oldNumbers = old.map(number)
    let newNumbers = new.map(number)
    self.init(
      ListMatching(oldNumbers, newNumbers, bound: numbers.count), oldCount: oldNumbers.count)
  }

  init(_ matching: ListMatching, oldCount: Int) {
    var stays = [Bool](repeating: false, count: oldCount)
    for (index, partner) in matching.partners.enumerated() {
      guard partner >= 0 else {
        inserted.append(index)
        continue
      }
      stays[Int(partner)] = true
      if !matching.isInOrder[index] { moved.append(Move(from: Int(partner), to: index)) }
    }
    deleted = stays.indices.filter { !stays[$0] }
  }

  /// The changes of the rows of a section, which can have another number afterwards.
  public func changes(ofRowsIn section: Int, after: Int) -> [ChangeBatch.Change] {
    deleted.map { .delete(IndexPath(section: section, row: $0)) }
      + inserted.map { .insert(IndexPath(section: after, row: $0)) }
      + moved.map {
        .move(
          from: IndexPath(section: section, row: $0.from), to: IndexPath(section: after, row: $0.to)
        )
      }
  }
}

/// The pairs of elements of two lists that belong together.
package struct ListMatching {
  /// For each element of the new list the index of its partner in the old list, or -1.
  package private(set) var partners: [Int32]
  /// For each element of the new list whether it has a partner, and all such partners ascend.
  package private(set) var isInOrder: [Bool]

  /// Pairs equal numbers: first those of a common subsequence, then the others by their order.
  init(_ old: [Int32], _ new: [Int32], bound: Int) {
    var tallies = NumberTallies(bound: bound)
    self.init(old, new, &tallies)
  }

  /// Pairs equal numbers. `tallies` admits them.
  init(_ old: [Int32], _ new: [Int32], _ tallies: inout NumberTallies) {
    partners = CommonSubsequence(old, new, &tallies).partners
    isInOrder = partners.map { $0 >= 0 }
    var isFree = [Bool](repeating: true, count: old.count)
    for partner in partners where partner >= 0 { isFree[Int(partner)] = false }
    let rest = tallies.pairs(
      old, isFree.indices.filter { isFree[$0] }, new, partners.indices.filter { partners[$0] < 0 })
    for pair in rest { partners[pair.new] = Int32(truncatingIfNeeded: pair.old) }
  }

  /// Takes over pairs, and finds a longest selection in order.
  package init(partners: [Int32]) {
    self.partners = partners
    isInOrder = Array(repeating: false, count: partners.count)
    let paired = partners.indices.filter { partners[$0] >= 0 }
    for index in longestIncreasing(paired.map { partners[$0] }) { isInOrder[paired[index]] = true }
  }
}
