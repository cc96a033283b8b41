import Tabella

/// An edit as a command line or a batch asks for it.
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

  /// Whether it is about a section.
  var isOfSection: Bool { (row ?? place)?.isSection ?? false }
}

/// An edit whose row and place were found.
struct PlannedEdit {
  let kind: RequestedEdit.Kind
  /// The row or section that is set, deleted or moved, by its path in the shaped table; nil if the row is
  /// named by an id and was not found.
  let source: IndexPath?
  /// The target as the source takes it.
  var target: IndexPath?
  /// The target that the command line asked for.
  var asked: IndexPath?
  /// The title that the section of this target had before the edit.
  var askedTitle: String?
  /// Whether it asked for the end of a section.
  var asksForEnd = false
  var cells: [Int: Cell]
  /// Whether ``cells`` are values from JSON; see ``RequestedEdit/givesValues``.
  var givesValues = false
  /// The new title of a section.
  var newTitle: String?
  /// The row's id, as far as it is known.
  var id: String?
  /// Whether the row is committed by its id, wherever it stands by then.
  var refersByID = false
  /// Whether the source was named by its position, not by an id or the title of a section.
  var namesRowByPosition: Bool
  /// Whether a position decides where the row ends up.
  let namesPlaceByPosition: Bool
  /// Whether the source said that the row will stand at ``target``.
  var isTargetSure = false
  /// The words by which people know the row or section; nil if they were not looked at.
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

  /// Whether it is about a section.
  var isOfSection: Bool { (source ?? target)?.isSection ?? false }

  /// The edit as the source takes it.
  var edit: EditBatch.Edit {
    // Each kind has what it needs: `EditPlanner` makes no others.
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

  /// The row as every command names it: by its id, or by its position where rows have none.
  var rowName: String? {
    if isOfSection { return source.map { "\($0.section):" } }
    return id.map { "id:\($0)" } ?? source?.description
  }

  /// The row, section or place that messages are about.
  var name: String {
    if isOfSection {
      let title = label.map { ", \($0)" } ?? ""
      return "section \((source ?? target)!.section)\(title)"
    }
    return "row \(rowName ?? target?.description ?? "")"
  }
}
