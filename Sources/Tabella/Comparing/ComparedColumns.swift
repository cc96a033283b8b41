/// The columns of two tables, paired by name.
///
/// Of several columns with one name, the second is paired with the second, and so on.
public struct ComparedColumns: Hashable, Sendable {
  /// A column of both tables.
  public struct Pair: Hashable, Sendable {
    /// Its name in both tables; see ``ColumnNames``.
    public var name: String
    /// Its number in the old table.
    public var old: Int
    /// Its number in the new table.
    public var new: Int
    /// Whether its cells are compared as text, because the types differ.
    public var isText: Bool
  }

  /// The columns of both tables, in the order of the old table.
  public let pairs: [Pair]
  /// The numbers of the columns that only the old table has.
  public let deleted: [Int]
  /// The numbers of the columns that only the new table has.
  public let inserted: [Int]

  /// Pairs some columns of two tables, all by default.
  public init(
    _ old: [Column], _ new: [Column], only oldNumbers: [Int]? = nil, _ newNumbers: [Int]? = nil
  ) {
    let oldNames = ColumnNames(old).names
    let newNames = ColumnNames(new).names
    let newNumbers = newNumbers ?? Array(new.indices)
    // Names are compared by bytes, because Swift takes two spellings of one accent as equal.
    let byName = Dictionary(
      newNumbers.map { (Array(newNames[$0].utf8), $0) }, uniquingKeysWith: { first, _ in first })
    var pairs: [Pair] = []
    var deleted: [Int] = []
    for number in oldNumbers ?? Array(old.indices) {
      guard let other = byName[Array(oldNames[number].utf8)] else {
        deleted.append(number)
        continue
      }
      pairs.append(
        Pair(
          name: oldNames[number], old: number, new: other,
          isText: old[number].valueType != new[other].valueType))
    }
    self.pairs = pairs
    self.deleted = deleted
    let paired = Set(pairs.map(\.new))
    inserted = newNumbers.filter { !paired.contains($0) }
  }
}
