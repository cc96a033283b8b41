import Tabella

/// An edit that a command line or a batch requests.
struct RequestedEdit {
  enum Kind: String, CaseIterable {
    case set
    case insert
    case delete
    case move
  }

  var kind: Kind
  /// The rows or the section that are set, deleted or moved; nil means all rows that the options choose.
  var row: RowArgument?
  /// The target of a row or a section that is inserted or moved.
  var place: RowArgument?
  /// The cells of a row.
  var cells: [Int: Cell] = [:]
  /// Whether the cells are values from JSON, not typed text: a cell that reads as the value already is not rewritten.
  var givesValues = false
  /// The title of a section; nil if none is given.
  var title: String?

  /// Whether it edits a section.
  var isOfSection: Bool { (row ?? place)?.isSection ?? false }
}

/// An edit whose row and position were found.
struct PlannedEdit {
  let kind: RequestedEdit.Kind
  /// The row or section that is set, deleted or moved, by its path in the shaped table; nil if the row is
  /// named by an id and was not found.
  let source: IndexPath?
  /// The target for the source.
  var target: IndexPath?
  /// The target that the command line requested.
  var asked: IndexPath?
  /// The title that the section of this target had before the edit.
  var askedTitle: String?
  /// Whether the end of a section was requested.
  var asksForEnd = false
  var cells: [Int: Cell]
  /// Whether ``cells`` are values from JSON; see ``RequestedEdit/givesValues``.
  var givesValues = false
  /// The new title of a section.
  var newTitle: String?
  /// The id of the row, if it is known.
  var id: String?
  /// Whether the commit names the row by its id, at any position.
  var refersByID = false
  /// Whether the source was named by its position, not by an id or the title of a section.
  var namesRowByPosition: Bool
  /// Whether the target is a position.
  let namesPlaceByPosition: Bool
  /// Whether the target of a section was not named by the title of another one.
  var namesPlaceByNumber = true
  /// Whether the source confirmed that the row will be at ``target``.
  var isTargetSure = false
  /// The label of the row or section for people; nil if it was not read.
  var label: String?

  init(
    _ kind: RequestedEdit.Kind, source: IndexPath? = nil, target: IndexPath? = nil,
    cells: [Int: Cell] = [:], newTitle: String? = nil, id: String? = nil, refersByID: Bool = false,
    namesPlaceByPosition: Bool = false
  ) {
    self.kind = kind
    self.source = source
    self.target = target
    asked = target
    self.cells = cells
    self.newTitle = newTitle
    self.id = id
    self.refersByID = refersByID
    namesRowByPosition = source != nil && !refersByID
    self.namesPlaceByPosition = namesPlaceByPosition
  }

  /// Whether it edits a section.
  var isOfSection: Bool { (source ?? target)?.isSection ?? false }

  /// The edit for the source.
  var edit: EditBatch.Edit {
    // `EditPlanner` guarantees the values that each kind needs.
    switch kind {
    case .insert where isOfSection: .insertSection(at: target!.section, title: newTitle)
    case .set where isOfSection: .renameSection(source!.section, title: newTitle)
    case .insert: .insert(at: target!, cells: cells)
    case .set: .set(reference, cells: cells)
    case .delete: .delete(reference)
    case .move: .move(reference, to: target!)
    }
  }

  private var reference: RowReference {
    if refersByID, let id { .id(id) } else { .path(source!) }
  }

  /// The name of the row for all commands: its id, or its position if rows have no ids.
  var rowName: String? {
    if isOfSection { return source.map { "\($0.section):" } }
    return id.map { "id:\($0)" } ?? source?.description
  }

  /// The name of the row, section or position in messages.
  var name: String {
    if isOfSection {
      let title = label.map { ", \($0)" } ?? ""
      return "section \((source ?? target)!.section)\(title)"
    }
    return "row \(rowName ?? target?.description ?? "")"
  }
}
