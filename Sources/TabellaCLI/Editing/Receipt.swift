import Tabella

/// What is kept of an edit that was done: enough to list it and, where the provider can, to take it back.
struct Receipt {
  enum Kind: String {
    case edit
    /// Took back an edit, or what did one again.
    case undo
    /// Took back an undo, and so did an edit again.
    case redo
  }

  /// The bytes by which the provider takes it back; they are kept behind all that stands here.
  struct WayBack: Hashable {
    var count: Int
    var digest: String

    init(count: Int, digest: String) { (self.count, self.digest) = (count, digest) }

    /// Nil if there is no way back, or one that is too long to be kept.
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
  /// What was done, taken back or done again, for people: `change 1 row (born): Ada`.
  var summary: String
  var kind: Kind
  /// The receipt that this edit took back; nil for an edit only.
  var undoes: ReceiptID?
  /// What went wrong when something was taken back, in part only; the way back is then that of the rest.
  var trouble: String?
  /// The part of the edit that cannot be taken back, whatever the way back does: `delete 1 row: a`; nil if nothing. An
  /// undo and a redo have it from the edit.
  var remainder: String?
  /// Nil if nothing of it can be taken back.
  var wayBack: WayBack?

  /// What people read of it: `undo: change 1 row (born): Ada`.
  var description: String {
    let kind = kind == .edit ? "" : "\(kind.rawValue): "
    return "\(kind)\(summary)\(trouble == nil ? "" : " (with errors)")\(extent)"
  }

  /// That it goes back in part only, or that it did.
  private var extent: String {
    guard let remainder else { return "" }
    switch self.kind {
    case .undo: return " (in part; not undone: \(remainder))"
    case .edit, .redo:
      return wayBack == nil ? "" : " (can be undone in part; not: \(remainder))"
    }
  }

  /// The part that stays done when this is taken back; nil if there is none.
  var remainderOfOpposite: String? { opposite == .undo ? remainder : nil }

  /// What it is to take this back.
  var opposite: Kind {
    // What is left of an undo is taken back, too.
    if trouble != nil { return kind }
    return switch kind {
    case .edit, .redo: .undo
    case .undo: .redo
    }
  }
}
