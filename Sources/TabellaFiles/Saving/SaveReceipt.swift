import Tabella

/// The data that undoes a save: the state after the save, and the table from there to the old bytes.
///
/// Its format is a line of words, a line for the path, and one entry per piece. An entry is `old START COUNT`, or
/// `new COUNT` followed by the bytes. Each entry ends with a line feed, as does the path.
///
/// The limits of ``FileSave`` keep it below the 64 MiB that the host can use, for files of up to 100 GB.
struct SaveReceipt {
  private static let mark = "tabella-save-1"

  var version: Version
  /// A digest of the bytes after the save; nil if there are too many bytes.
  ///
  /// It identifies the bytes after a chmod, or after another edit was undone.
  var content: UInt64?
  /// The path of the file with all symbolic links resolved. Another file can have the same bytes.
  var place: [UInt8]
  var table: PieceTable

  init(version: Version, content: UInt64?, place: [UInt8], table: PieceTable) {
    self.version = version
    self.content = content
    self.place = place
    self.table = table
  }

  var bytes: [UInt8] {
    let content = content.map { String($0, radix: 16) } ?? "-"
    var bytes = Array("\(SaveReceipt.mark) \(version.token) \(content)\n".utf8)
    // There can be millions of entries, so each is appended in parts that need no memory of their own.
    func put(_ word: String, _ number: Int) {
      bytes += word.utf8
      bytes += String(number).utf8
    }
    func put(_ new: [UInt8]) {
      put("new ", new.count)
      bytes.append(10)
      bytes += new
      bytes.append(10)
    }
    put(place)
    for piece in table.pieces {
      switch piece {
      case .old(let range):
        put("old ", range.lowerBound)
        put(" ", range.count)
        bytes.append(10)
      case .new(let new): put(new)
      }
    }
    return bytes
  }

  /// Reads a receipt for a file of this size. Throws ``TableError`` with `.invalidArgument` if it is damaged.
  init(_ bytes: [UInt8], ofSize size: Int) throws(TableError) {
    var rest = bytes[...]
    func words() throws(TableError) -> [Substring] {
      guard let end = rest.firstIndex(of: 10) else { throw SaveReceipt.damaged }
      let line = String(decoding: rest[..<end], as: UTF8.self)
      rest = rest[(end + 1)...]
      return line.split(separator: " ", omittingEmptySubsequences: false)
    }
    func numbers(_ words: [Substring]) throws(TableError) -> [Int] {
      let numbers = words.dropFirst().compactMap { Int($0) }
      guard numbers.count == words.count - 1, numbers.allSatisfy({ 0...Int.max / 2 ~= $0 }) else {
        throw SaveReceipt.damaged
      }
      return numbers
    }
    func take(_ count: Int) throws(TableError) -> ArraySlice<UInt8> {
      guard count < rest.count, rest[rest.startIndex + count] == 10 else {
        throw SaveReceipt.damaged
      }
      defer { rest = rest.dropFirst(count + 1) }
      return rest.prefix(count)
    }
    let first = try words()
    guard first.count == 3, first[0] == SaveReceipt.mark else { throw SaveReceipt.damaged }
    version = Version(String(first[1]))
    content = UInt64(first[2], radix: 16)
    let line = try words()
    guard line[0] == "new", let count = try numbers(line).first else { throw SaveReceipt.damaged }
    place = Array(try take(count))
    table = PieceTable()
    while !rest.isEmpty {
      let words = try words()
      let numbers = try numbers(words)
      switch (words[0], numbers.count) {
      case ("old", 2):
        guard numbers[0] + numbers[1] <= size else {
          throw TableError(
            .conflict, "is shorter than the receipt says, so it was changed after the edit")
        }
        table.append(old: numbers[0]..<numbers[0] + numbers[1])
      case ("new", 1):
        table.append(new: try take(numbers[0]))
      default: throw SaveReceipt.damaged
      }
    }
  }

  private static let damaged = TableError(.invalidArgument, "the receipt is damaged")
}
