import TabellaSDK

/// The cards of a file, in the order of the file and by letters. It reads only the lines that it needs for that.
struct AddressBook {
  /// A card that was found.
  struct Entry {
    /// The bytes from BEGIN to the line end after END.
    var range: Range<Int>
    /// The section of the card.
    var letter: Letter
    /// The id of the row: the UID of the card, or a digest of its bytes.
    var id: String
  }

  /// A section: its letter, and the numbers of its cards in the order of the file.
  struct Section {
    var letter: Letter
    var cards: [Int]
  }

  let bytes: [UInt8]
  /// The cards in the order of the file.
  private(set) var entries: [Entry] = []
  /// The sections in the order of the alphabet. A file without cards has one empty section.
  private(set) var sections: [Section] = []
  /// The first fault that makes edits unsafe; nil if there is none.
  private(set) var fault: String?
  private var paths: [String: IndexPath] = [:]

  /// Finds the cards of a file. Throws ``TableError`` with `.constraint` if the bytes are not vCards in an ASCII encoding.
  init(_ bytes: [UInt8]) throws(TableError) {
    self.bytes = bytes
    guard !bytes.prefix(8192).contains(0) else {
      throw TableError(.constraint, "has a NUL, so it is not a vCard file in UTF-8")
    }
    findCards()
    guard !entries.isEmpty || bytes.allSatisfy({ $0 <= Byte.space || $0 >= 0x80 }) else {
      throw TableError(.constraint, "has no line BEGIN:VCARD, so it is not a vCard file")
    }
    nameCards()
    sections = Dictionary(grouping: entries.indices) { entries[$0].letter }
      .map { Section(letter: $0, cards: $1) }.sorted { $0.letter < $1.letter }
    if sections.isEmpty { sections = [Section(letter: Letter(of: ""), cards: [])] }
    for (section, content) in sections.enumerated() {
      for (row, card) in content.cards.enumerated() {
        paths[entries[card].id] = IndexPath(section: section, row: row)
      }
    }
  }

  /// The bytes of a byte order mark at the front.
  static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]

  /// The line end that the file uses.
  var lineEnd: [UInt8] {
    guard let first = bytes.firstIndex(of: Byte.lineFeed) else { return Array("\r\n".utf8) }
    return first > 0 && bytes[first - 1] == Byte.carriageReturn
      ? Array("\r\n".utf8) : [Byte.lineFeed]
  }

  /// The path of the row with an id; nil if there is none.
  func path(ofID id: String) -> IndexPath? { paths[id] }

  /// The number of the card in a row; nil for a placeholder, and for a row that does not exist.
  func number(at path: IndexPath) -> Int? {
    guard sections.indices.contains(path.section) else { return nil }
    let cards = sections[path.section].cards
    return cards.indices.contains(path.row) ? cards[path.row] : nil
  }

  /// The number of the line of the file in which a card begins, from 1.
  func lineNumber(of card: Int) -> Int {
    1 + bytes[..<entries[card].range.lowerBound].reduce(0) { $1 == Byte.lineFeed ? $0 + 1 : $0 }
  }

  /// Reads a card in full.
  func card(_ number: Int) -> Card { Card(entries[number].range, in: bytes) }

  private mutating func findCards() {
    var (offset, depth, start) = (bytes.starts(with: AddressBook.mark) ? 3 : 0, 0, 0)
    while offset < bytes.count {
      let (next, name) = (
        ContentLine.end(at: offset, in: bytes), ContentLine.name(at: offset, in: bytes)
      )
      if name == "BEGIN" {
        if depth == 0 { start = offset }
        depth += 1
      } else if name == "END", depth > 0 {
        depth -= 1
        if depth == 0 { entries.append(Entry(range: start..<next, letter: Letter(of: ""), id: "")) }
      }
      offset = next
    }
    if depth > 0 {
      entries.append(Entry(range: start..<bytes.count, letter: Letter(of: ""), id: ""))
      fault = "the card in line \(lineNumber(of: entries.count - 1)) has no END:VCARD"
    }
  }

  /// Determines letters and ids.
  private mutating func nameCards() {
    let needed: Set = ["N", "FN", "ORG", "EMAIL", "SORT-STRING", "UID"]
    var uids: [String?] = []
    for number in entries.indices {
      let card = Card(entries[number].range, in: bytes, only: needed)
      entries[number].letter = Letter(of: card.sortName)
      uids.append(card.lines(of: "UID").first.map { string($0.value) })
    }
    var counts: [String: Int] = [:]
    for case let uid? in uids { counts[uid, default: 0] += 1 }
    var digests: [String: Int] = [:]
    for (number, uid) in uids.enumerated() {
      if let uid, counts[uid] == 1, AddressBook.canBeID(uid) {
        entries[number].id = "u.\(uid)"
        continue
      }
      let card = bytes[entries[number].range].reversed().drop { $0 == 10 || $0 == 13 }
      let digest = Array(card).withUnsafeBytes { "c." + String(digest64($0), radix: 16) }
      digests[digest, default: 0] += 1
      let occurrence = digests[digest] ?? 1
      entries[number].id = occurrence == 1 ? digest : "\(digest).\(occurrence)"
    }
  }

  private static func canBeID(_ uid: String) -> Bool {
    1...200 ~= uid.utf8.count && uid.utf8.allSatisfy { 0x21...0x7E ~= $0 }
  }
}
