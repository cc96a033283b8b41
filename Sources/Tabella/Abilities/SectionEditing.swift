/// The ability to edit sections and their titles. The corresponding C table is `tabella_section_editing`.
///
/// The edits themselves are in the batches of ``TableEditing``. A source has this ability if it accepts titles in
/// these batches (``EditBatch/sectionTitle``).
public protocol TableSectionEditing: AnyObject {
  /// Returns, for each section of a range, the edits that the section allows.
  ///
  /// Throws ``TableError`` with `.notFound` for a section that does not exist.
  func editability(ofSections sections: Range<Int>) throws(TableError) -> [SectionEditability]

  /// Returns whether a section can be inserted at any position.
  func canInsertSections() throws(TableError) -> Bool
}

/// The edits that a section allows.
public struct SectionEditability: OptionSet, Hashable, Sendable {
  public var rawValue: UInt8

  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The title of the section can be set.
  public static let title = SectionEditability(rawValue: 1)
  /// The section can be deleted, with its rows.
  public static let delete = SectionEditability(rawValue: 2)
  /// The section can be moved, with its rows.
  public static let move = SectionEditability(rawValue: 4)
}

extension EditBatch.Edit {
  /// Inserts an empty section, so that it has the number `section` afterwards. If `title` is nil, it has no title.
  public static func insertSection(at section: Int, title: String? = nil) -> EditBatch.Edit {
    .insert(
      at: .section(section),
      cells: title.map { [EditBatch.sectionTitle: .text(Array($0.utf8))] } ?? [:])
  }

  /// Sets the title of a section; nil removes the title.
  public static func renameSection(_ section: Int, title: String?) -> EditBatch.Edit {
    .set(
      .path(.section(section)),
      cells: [EditBatch.sectionTitle: title.map { .text(Array($0.utf8)) } ?? .missing])
  }

  /// Deletes a section with its rows.
  public static func deleteSection(_ section: Int) -> EditBatch.Edit {
    .delete(.path(.section(section)))
  }

  /// Moves a section with its rows, so that it has the number `target` afterwards.
  public static func moveSection(_ section: Int, to target: Int) -> EditBatch.Edit {
    .move(.path(.section(section)), to: .section(target))
  }

  /// Whether the edit inserts, deletes, sets or moves a section.
  public var isOfSection: Bool {
    switch self {
    case .insert(let target, _): target.isSection
    case .delete(let reference), .set(let reference, _), .move(let reference, _):
      reference.isSection
    }
  }

  /// Whether the edit sets or removes the title of a section.
  public var givesTitle: Bool { isOfSection && cells[EditBatch.sectionTitle] != nil }

  /// The title that the edit sets; nil if the edit sets none or removes the title.
  public var title: String? {
    guard isOfSection, case .text(let text)? = cells[EditBatch.sectionTitle] else { return nil }
    return String(decoding: text, as: UTF8.self)
  }

  private var cells: [Int: Cell] {
    switch self {
    case .insert(_, let cells), .set(_, let cells): cells
    case .delete, .move: [:]
    }
  }

  /// Throws ``TableError`` with `.invalidArgument` for a title of a row, and for cells of a section other than a
  /// title in UTF-8.
  func checkTitle() throws(TableError) {
    guard isOfSection else {
      if cells[EditBatch.sectionTitle] != nil { throw .titleOfRow }
      return
    }
    for column in cells.keys where column != EditBatch.sectionTitle {
      throw TableError(
        .invalidArgument,
        "a section has only a title; edit its rows in another batch")
    }
    switch cells[EditBatch.sectionTitle] {
    case nil:
      if case .set(.path(let path), _) = self {
        throw TableError(.invalidArgument, "\(path.noun) is edited without a title")
      }
    case .missing: break
    case .text(let text) where text.withUnsafeBytes({ $0.isUTF8 }): break
    default:
      throw TableError(.invalidArgument, "the title of a section must be text in UTF-8")
    }
  }
}

extension TableDataSource {
  /// Checks the titles in a batch.
  ///
  /// Throws ``TableError`` with `.notSupported` if the batch has titles and the source cannot edit titles. Throws
  /// `.invalidArgument` for other cells of sections and for titles of rows.
  public func check(titlesIn batch: EditBatch) throws(TableError) {
    for edit in batch.edits {
      try edit.checkTitle()
      if edit.givesTitle, sectionEditing == nil { throw .noSectionTitles }
    }
  }
}

extension TableError {
  static let titleOfRow = TableError(
    .invalidArgument, "a row has no title; column -1 is the title of a section")
  static let noSectionTitles = TableError(
    .notSupported, "the titles of this table's sections cannot be edited")
}

// The checks of an untrusted source's answers.

extension CheckedSource {
  package func editability(
    ofSections sections: Range<Int>
  ) throws(TableError) -> [SectionEditability] {
    try check(asked: sections)
    return try call("section_editing.editable") { base throws(TableError) in
      try offered(base.sectionEditing).editability(ofSections: sections)
        .answering(sections).map { SectionEditability(rawValue: $0.rawValue & 7) }
    }
  }

  package func canInsertSections() throws(TableError) -> Bool {
    try call("section_editing.insertable") { base throws(TableError) in
      try offered(base.sectionEditing).canInsertSections()
    }
  }
}
