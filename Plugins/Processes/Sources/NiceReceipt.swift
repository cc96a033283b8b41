import Tabella

/// The data that undoes changes of nice values: the process, the old value and the new value.
///
/// The encoded form consists of lines of words: a head with the number of entries, then one line for each.
struct NiceReceipt {
  struct Entry {
    var id: String
    var old: Int32
    var new: Int32
  }

  private static let mark = "tabella-processes-2"

  var entries: [Entry] = []

  init(_ entries: [Entry] = []) { self.entries = entries }

  /// Decodes a receipt. Throws ``TableError`` with `.invalidArgument` if the bytes are invalid.
  init(bytes: [UInt8]) throws(TableError) {
    var lines = bytes.split(separator: 10, omittingEmptySubsequences: false)
    // A truncated receipt has no final line end.
    guard lines.popLast()?.isEmpty == true, lines.count > 1,
      lines.removeFirst().elementsEqual("\(NiceReceipt.mark) \(lines.count)".utf8)
    else { throw NiceReceipt.damaged }
    for line in lines {
      let words = line.split(separator: 32, omittingEmptySubsequences: false)
      guard words.count == 4, words[0].elementsEqual("nice".utf8),
        let old = NiceReceipt.nice(words[2]), let new = NiceReceipt.nice(words[3])
      else { throw NiceReceipt.damaged }
      entries.append(Entry(id: String(decoding: words[1], as: UTF8.self), old: old, new: new))
    }
  }

  private static let damaged = TableError(
    .invalidArgument, "this is not a receipt of the provider processes, or it is damaged")

  private static func nice(_ digits: ArraySlice<UInt8>) -> Int32? {
    decimal(digits).flatMap { niceValues.contains($0) ? Int32($0) : nil }
  }

  /// The encoded receipt; nil if there is nothing to undo.
  var bytes: [UInt8]? {
    if entries.isEmpty { return nil }
    let lines = entries.map { "nice \($0.id) \($0.old) \($0.new)\n" }
    return Array("\(NiceReceipt.mark) \(entries.count)\n".utf8) + lines.joined().utf8
  }
}

/// The valid nice values, from the highest priority to the lowest.
let niceValues: ClosedRange<Int64> = -20...19
