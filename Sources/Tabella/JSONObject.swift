/// The members of a JSON object, in the order of their keys.
///
/// It is an array, because the first dictionary of a type slows each start down (docs/performance.md, "What a start
/// costs").
public struct JSONObject: Hashable, Sendable {
  /// A key and its value.
  public struct Member: Hashable, Sendable {
    /// The key.
    public let key: String
    /// The value.
    public fileprivate(set) var value: JSONValue
  }

  private var members: [Member] = []

  /// Creates an object without members.
  public init() {}

  /// Creates an object of members with different keys. A repeated key is a programming error.
  ///
  /// - Complexity: O(n log n).
  public init(_ members: [(String, JSONValue)]) {
    self.members = members.map { Member(key: $0.0, value: $0.1) }.sorted { $0.key < $1.key }
    precondition(firstRepeated == nil, "a key is repeated")
  }

  /// Creates an object of members in any order. `repeated` becomes the position, in `parsed`, of a member whose key an
  /// earlier member has; nil if all keys differ.
  ///
  /// - Complexity: O(n log n).
  init(parsed: [Member], repeated: inout Int?) {
    members = parsed
    members.sort { $0.key < $1.key }
    repeated = firstRepeated.map { position in
      let same = parsed.indices.filter { parsed[$0].key == members[position].key }
      return same[1]
    }
  }

  /// The position of the first sorted member with the key of the one in front of it; nil if there is none.
  private var firstRepeated: Int? {
    members.indices.dropFirst().first { members[$0 - 1].key == members[$0].key }
  }

  /// The position of a key, or where it would be inserted.
  private func position(of key: String) -> Int { members.partitioningIndex { $0.key >= key } }

  private func has(_ key: String, at position: Int) -> Bool {
    position < members.count && members[position].key == key
  }

  /// The value of a key; nil if there is none. Setting nil removes the member.
  ///
  /// - Complexity: O(log n) to get a value, O(n) to insert or remove a member.
  public subscript(key: String) -> JSONValue? {
    get {
      let position = position(of: key)
      return has(key, at: position) ? members[position].value : nil
    }
    set {
      let position = position(of: key)
      switch (newValue, has(key, at: position)) {
      case (let value?, true): members[position].value = value
      case (let value?, false): members.insert(Member(key: key, value: value), at: position)
      case (nil, true): members.remove(at: position)
      case (nil, false): break
      }
    }
  }

  /// The keys in their order.
  public var keys: [String] { members.map(\.key) }

  /// The members of this object and of another one, whose values replace those of this one.
  public func merging(_ other: JSONObject) -> JSONObject {
    var merged = self
    for member in other { merged[member.key] = member.value }
    return merged
  }
}

extension JSONObject: RandomAccessCollection {
  public var startIndex: Int { 0 }
  public var endIndex: Int { members.count }
  public subscript(position: Int) -> Member { members[position] }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
  /// Creates an object of members with different keys.
  public init(dictionaryLiteral elements: (String, JSONValue)...) {
    self.init(elements)
  }
}
