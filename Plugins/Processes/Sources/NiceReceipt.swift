import Tabella

/// What takes renicing back: who had which nice value, and which one was set.
struct NiceReceipt {
  struct Entry {
    var id: String
    var old: Int32
    var new: Int32
  }

  private static let head = "processes nice 1"

  var entries: [Entry] = []

  init() {}

  /// Reads a receipt; throws ``TableError`` with `.invalidArgument` for what is none.
  init(_ bytes: [UInt8]) throws(TableError) {
    let lines = bytes.split(separator: UInt8(ascii: "\n"))
    guard lines.first?.elementsEqual(NiceReceipt.head.utf8) == true else {
      throw NiceReceipt.damaged
    }
    for line in lines.dropFirst() {
      let words = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
      guard words.count == 3, let old = NiceReceipt.nice(words[1]),
        let new = NiceReceipt.nice(words[2])
      else { throw NiceReceipt.damaged }
      entries.append(Entry(id: String(decoding: words[0], as: UTF8.self), old: old, new: new))
    }
  }

  private static let damaged = TableError(
    .invalidArgument, "that is no receipt of the provider processes, or it is damaged")

  private static func nice(_ digits: ArraySlice<UInt8>) -> Int32? {
    decimal(digits).flatMap { niceValues.contains($0) ? Int32($0) : nil }
  }

  /// The bytes; nil if there is nothing to take back.
  var bytes: [UInt8]? {
    if entries.isEmpty { return nil }
    let lines = entries.map { "\($0.id) \($0.old) \($0.new)" }
    return Array(([NiceReceipt.head] + lines).joined(separator: "\n").utf8)
  }
}

/// From most favoured to least.
let niceValues: ClosedRange<Int64> = -20...19
