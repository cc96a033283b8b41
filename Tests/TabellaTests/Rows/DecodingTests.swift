import Foundation
import Testing

@testable import Tabella
@testable import TabellaTestSupport

/// Rows decode into the values that they were made of.
@Suite struct DecodingTests {
  private enum Kind: String, Decodable, CaseIterable { case large, small }

  private struct Everything: Decodable, Equatable {
    var text: String
    var note: String?
    var integer: Int64
    var small: UInt8?
    var real: Double?
    var boolean: Bool?
    var date: Timestamp?
    var binary: [UInt8]?
    var kind: Kind?
    var absent: Int?

    static func random(_ generator: inout SeededGenerator) -> Everything {
      func maybe<V>(_ value: V) -> V? { Bool.random(using: &generator) ? value : nil }
      return Everything(
        text: ["", "1", "é\n", "a,\"b\""].randomElement(using: &generator)!,
        note: maybe("note"), integer: .random(in: .min ... .max, using: &generator),
        small: maybe(UInt8.random(in: 0...255, using: &generator)),
        real: maybe(Double.random(in: -1e9...1e9, using: &generator)),
        boolean: maybe(Bool.random(using: &generator)),
        date: maybe(Timestamp(nanoseconds: .random(in: .min ... .max, using: &generator))),
        binary: maybe([0, 255, UInt8.random(in: 0...255, using: &generator)]),
        kind: maybe(Kind.allCases.randomElement(using: &generator)!))
    }

    var cells: [Cell] {
      [
        .text(text), note.map { .text($0) } ?? .missing, .integer(integer),
        small.map { .integer(Int64($0)) } ?? .missing, real.map { .real($0) } ?? .missing,
        boolean.map { .boolean($0) } ?? .missing, date.map { .date($0) } ?? .missing,
        binary.map { .binary($0) } ?? .missing, kind.map { .text($0.rawValue) } ?? .missing,
      ]
    }
  }

  private static let columns = [
    Column("text"), Column("note"), Column("integer", .integer), Column("small", .integer),
    Column("real", .real), Column("boolean", .boolean), Column("date", .date),
    Column("binary", .binary), Column("kind"),
  ]

  /// The same rows in a table of types, and in a table of text, as in a CSV file. There, missing cells are empty.
  @Test(arguments: 0..<20 as Range<UInt64>)
  func rowsDecode(_ seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let values = (0..<Int.random(in: 0..<600, using: &generator)).map { _ in
      Everything.random(&generator)
    }
    let typed = InMemorySource(Self.columns, rows: values.map(\.cells))
    #expect(try typed.decode(Everything.self) == values)
    let texts = InMemorySource(
      Self.columns.map { Column($0.name, $0.type == .binary ? .binary : .text) },
      rows: values.map { value in
        zip(value.cells, Self.columns).map { cell, column in
          switch cell {
          case .missing: column.type == .binary || column.name == "note" ? .missing : ""
          case .text, .binary: cell
          default: .text(cell.description)
          }
        }
      })
    #expect(try texts.decode(Everything.self) == values)
    let names = Self.columns.map(\.name)
    #expect(try texts.decode(Everything.self, columns: names) == values)
    var rows = try typed.rows()
    for value in values { #expect(try rows.next()?.decode(Everything.self) == value) }
    // The standard library's own decoder reads the dates that a row reads.
    let dates = values.compactMap(\.date)
    let json = try JSONEncoder().encode(dates)
    #expect(try JSONDecoder().decode([Timestamp].self, from: json) == dates)
  }

  /// Decoding reads only the needed columns; a column that only a later row needs is read from there on.
  @Test func onlyNeededColumnsAreRead() throws {
    struct Late: Decodable, Equatable {
      var n: Int
      var tag: String?

      enum CodingKeys: CodingKey { case n, tag }
      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        n = try container.decode(Int.self, forKey: .n)
        tag = n > 500 ? try container.decodeIfPresent(String.self, forKey: .tag) : nil
      }
    }
    let base = LiveTable(count: 5000)
    let log = RequestLog(base)
    let late = try log.decode(Late.self)
    var expected: [String?] = []
    try base.forEachRow { row in
      let n = try row["n", as: Int.self]
      let tag = try row["tag", as: String.self]
      expected.append(n > 500 ? tag : nil)
    }
    #expect(late.map(\.tag) == expected)
    #expect(Set(log.requested.dropFirst()) == [[0], [0, 3]])
    struct One: Decodable { var kind: String }
    let other = RequestLog(base)
    #expect(try other.decode(One.self).count == 5000)
    #expect(Set(other.requested.dropFirst()) == [[1]] && other.requested.count < 8)
  }

  /// Asks for keys in another order in each row, for some twice, and for some that do not exist.
  private struct AnyOrder: Decodable {
    struct Key: CodingKey {
      let stringValue: String
      var intValue: Int? { nil }

      init(stringValue: String) { self.stringValue = stringValue }
      init?(intValue: Int) { nil }
    }

    static let names = ["a", "a 2", "e\u{301}", "é 2", "b", "none", ""]
    var found: [(number: Int, text: String?)] = []

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Key.self)
      let seed = try container.decode(UInt64.self, forKey: Key(stringValue: "seed"))
      var generator = SeededGenerator(seed: seed)
      for _ in 0..<Int.random(in: 0..<8, using: &generator) {
        let number = Int.random(in: 0..<Self.names.count, using: &generator)
        let key = Key(stringValue: Self.names[number])
        let text = try container.decodeIfPresent(String.self, forKey: key)
        if container.contains(key) != (text != nil) { found.append((number, "contained")) }
        found.append((number, text))
        if text != nil { found.append((number, try container.decode(String.self, forKey: key))) }
      }
    }
  }

  /// A key is found by its bytes, whatever the keys in front of it and in other rows were.
  @Test func keysAreFoundInAnyOrder() throws {
    let cells = (0..<900).map { row -> [Cell] in
      [.text("\(row)")] + (0..<5).map { Cell.text("\(row).\($0)") }
    }
    let table = InMemorySource(
      ["seed", "a", "a", "e\u{301}", "é", "b"].map { Column($0) }, rows: cells)
    for columns in [nil, ["b", "seed", "é 2", "a", "e\u{301}", "a 2"]] {
      let rows = try table.decode(AnyOrder.self, columns: columns)
      var numbers: Set<Int> = []
      for (row, value) in rows.enumerated() {
        for (number, text) in value.found {
          numbers.insert(number)
          #expect(text == (number < 5 ? "\(row).\(number)" : nil))
        }
      }
      #expect(rows.count == 900 && numbers.count == 7)
    }
    let empty = InMemorySource([], rows: [[], []])
    #expect(try empty.decode([String: String].self) == [[:], [:]])
  }

  @Test func otherShapesDecode() throws {
    let table = InMemorySource([Column("a"), Column("b")], rows: [["1", "x"], ["2", .missing]])
    #expect(try table.decode(Int.self, columns: ["a"]) == [1, 2])
    #expect(try table.decode([String: String?].self)[1] == ["a": "2", "b": nil])
    struct Renamed: Decodable, Equatable {
      var number: Int
      enum CodingKeys: String, CodingKey { case number = "a" }
    }
    #expect(try table.decode(Renamed.self).map(\.number) == [1, 2])
  }

  @Test func wrongRowsAreErrors() throws {
    let table = InMemorySource(
      [Column("name"), Column("born"), Column("kind")],
      rows: [["Ada", "1815", "large"], ["Bob", "soon", "tall"], ["Cy", "", .missing]])
    func error<T: Decodable>(_ type: T.Type, _ columns: [String]? = nil) -> String {
      do { _ = try table.decode(type, columns: columns) } catch {
        return "\(error.code.name): \(error)"
      }
      return "none"
    }
    struct Person: Decodable { var born: Int }
    #expect(error(Person.self) == "constraint: born: soon is not an integer (row 1)")
    struct Dated: Decodable { var died: Int }
    #expect(
      error(Dated.self)
        == "invalid-argument: there is no column died; the columns are name, born, kind")
    struct Kinds: Decodable { var kind: Kind }
    #expect(
      error(Kinds.self)
        == "constraint: kind: Cannot initialize Kind from invalid String value tall (row 1)")
    struct Nested: Decodable { var name: Person }
    #expect(
      error(Nested.self)
        == "not-supported: name: a cell has no nested values; decode a type of a single value (row 0)"
    )
    struct Listed: Decodable { var name: [String] }
    #expect(error(Listed.self).hasPrefix("not-supported: name: a cell has no nested values"))
    #expect(error([Int].self).hasPrefix("not-supported: a row is not a list"))
    #expect(error(Int.self).hasPrefix("not-supported: a row of 3 columns is not a single value"))
    struct Optional: Decodable { var born: Int? }
    #expect(
      error(Optional.self, ["name"])
        == "invalid-argument: column born is not among the columns that are read")
  }
}

/// Records the columns of each request.
private final class RequestLog: TableDataSource {
  let base: any TableDataSource
  var requested: [[Int]] = []
  var columns: [Column] { base.columns }

  init(_ base: any TableDataSource) { self.base = base }

  func numberOfRows(inSection section: Int, knowing minimum: Int) throws(TableError) -> Count {
    try base.numberOfRows(inSection: section, knowing: minimum)
  }

  func rows(_ request: RowRequest) throws(TableError) -> Batch {
    requested.append(request.columns)
    return try base.rows(request)
  }
}
