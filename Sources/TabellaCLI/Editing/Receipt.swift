import Tabella

/// A stored record of an edit: enough to list it and, if the provider supports it, to undo it.
struct Receipt {
  enum Kind: String {
    case edit
    /// Undid an edit or a redo.
    case undo
    /// Undid an undo, and so made an edit again.
    case redo
  }

  /// The bytes that the provider needs to undo the edit. The file contains them after the other data.
  struct WayBack: Hashable {
    var count: Int
    var digest: String

    init(count: Int, digest: String) { (self.count, self.digest) = (count, digest) }

    /// Nil if there are no such bytes, or if they are too long to be kept.
    init?(to bytes: [UInt8]?) {
      guard let bytes, bytes.count <= ReceiptStore.longestWayBack else { return nil }
      count = bytes.count
      digest = Receipt.digest(of: bytes)
    }
  }

  var id: ReceiptID
  var provider: String
  var place: Location
  /// The provider's options.
  var options: [String: String]
  var from: String?
  var to: String?
  /// A summary for people: `change 1 row (born): Ada`.
  var summary: String
  var kind: Kind
  /// The receipt that this edit undid; nil for an ordinary edit.
  var undoes: ReceiptID?
  /// The error of a partial undo. `wayBack` then undoes the rest.
  var trouble: String?
  /// The part of the edit that can never be undone: `delete 1 row: a`; nil if there is none. An undo and a redo
  /// inherit it from the edit.
  var remainder: String?
  /// Nil if nothing of the edit can be undone.
  var wayBack: WayBack?

  /// The description for people: `undo: change 1 row (born): Ada`.
  var description: String {
    let kind = kind == .edit ? "" : "\(kind.rawValue): "
    return "\(kind)\(summary)\(trouble == nil ? "" : " (with errors)")\(extent)"
  }

  /// The text that the edit can only be undone in part, or that it was.
  private var extent: String {
    guard let remainder else { return "" }
    switch self.kind {
    case .undo: return " (in part; not undone: \(remainder))"
    case .edit, .redo:
      return wayBack == nil ? "" : " (can be undone in part; not: \(remainder))"
    }
  }

  /// The part that remains after this edit is undone; nil if there is none.
  var remainderOfOpposite: String? { opposite == .undo ? remainder : nil }

  /// The kind of the edit that undoes this one.
  var opposite: Kind {
    // The rest of a partial undo is an undo, too.
    if trouble != nil { return kind }
    return switch kind {
    case .edit, .redo: .undo
    case .undo: .redo
    }
  }
}
