import Tabella

/// A stored record of an edit: enough to list it and, if the provider supports it, to undo it.
///
/// A ``ReceiptStore`` makes and reads receipts. A receipt is a value, and the file stays unchanged.
public struct Receipt: Sendable, CustomStringConvertible {
  /// The kind of a recorded edit.
  public enum Kind: String, Hashable, Sendable {
    /// An ordinary edit.
    case edit
    /// Undid an edit or a redo.
    case undo
    /// Undid an undo, and so made an edit again.
    case redo
  }

  /// The bytes that the provider needs to undo the edit. The file contains them after the other data.
  package struct WayBack: Hashable, Sendable {
    var count: Int
    var digest: String

    init(count: Int, digest: String) { (self.count, self.digest) = (count, digest) }

    /// Nil if there are no such bytes, or if they are too long to be kept.
    init?(to bytes: [UInt8]?) {
      guard let bytes, bytes.count <= ReceiptFolder.longestWayBack else { return nil }
      count = bytes.count
      digest = Receipt.digest(of: bytes)
    }
  }

  /// The name of the receipt.
  public internal(set) var id: ReceiptID
  /// The id of the provider that made the edit.
  public internal(set) var provider: String
  /// The location of the table, independent of the working directory.
  package internal(set) var place: Place
  /// The options of the provider with which the table was open.
  public internal(set) var options: [String: String]
  /// The token of the version before the edit; nil if the table has no versions.
  public internal(set) var from: String?
  /// The token of the version after the edit; nil if the table has no versions.
  public internal(set) var to: String?
  /// A summary for people: `changed 1 row (born): Ada`.
  public internal(set) var summary: String
  /// The kind of the edit.
  public internal(set) var kind: Kind
  /// The receipt that this edit undid; nil for an ordinary edit.
  public internal(set) var undoes: ReceiptID?
  /// The error of a partial undo or redo; nil if all was done. The receipt then undoes the rest.
  public internal(set) var trouble: String?
  /// The part of the edit that can never be undone: `deleted 1 row: a`; nil if there is none. An undo and a redo
  /// inherit it from the edit.
  public internal(set) var remainder: String?
  /// Nil if nothing of the edit can be undone.
  package internal(set) var wayBack: WayBack?

  /// The location to open for an undo: a real path, without links and dots, or `SCHEME:REST`.
  public var location: Location { Location(place.location) }

  /// The working directory of the edit, if ``location`` may depend on it; otherwise nil.
  public var workingDirectory: [UInt8]? { place.folder }

  /// Whether the edit can be undone, at least in part, while the table is as the edit left it.
  public var isUndoable: Bool { wayBack != nil }

  /// The description for people: `undo: change 1 row (born): Ada`.
  public var description: String {
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
  package var remainderOfOpposite: String? { opposite == .undo ? remainder : nil }

  /// The kind of the edit that undoes this one.
  package var opposite: Kind {
    // The rest of a partial undo is an undo, too.
    if trouble != nil { return kind }
    return switch kind {
    case .edit, .redo: .undo
    case .undo: .redo
    }
  }
}
