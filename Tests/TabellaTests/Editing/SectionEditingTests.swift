import Tabella
import TabellaBridge
import TabellaSDK
import Testing

@testable import TabellaTestSupport
@testable import TabellaText

/// Sections as objects: inserting with a title, renaming, moving, deleting, and the refusals.
@Suite struct SectionEditingTests {
  /// A text file with heading sections.
  private struct Text {
    let folder: TemporaryFolder
    let name: String

    init(_ name: String, _ text: String) throws {
      folder = try TemporaryFolder(inMemory: true)
      try folder.write(name, Array(text.utf8))
      self.name = name
    }

    func open(_ sections: String = "headings") throws -> any TableDataSource {
      try TextProvider().open(
        OpenRequest(location: Array("\(folder.path)/\(name)".utf8), options: ["sections": sections])
      )
    }

    var bytes: String { get throws { String(decoding: try folder.read(name), as: UTF8.self) } }
  }

  private func titles(_ source: any TableDataSource) throws -> [String?] {
    try (0..<source.numberOfSections(knowing: .max).value).map {
      try source.sections?.title(.header, ofSection: $0)
    }
  }

  private func expectRefusal(
    _ code: TableError.Code, _ words: String, _ edits: [EditBatch.Edit],
    _ source: any TableDataSource, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let editing = try #require(source.editing)
    let error = #expect(throws: TableError.self, sourceLocation: sourceLocation) {
      _ = try editing.commit(EditBatch(edits))
    }
    #expect(error?.code == code, "\(String(describing: error))", sourceLocation: sourceLocation)
    #expect(
      words.isEmpty || error?.message.contains(words) == true, "\(String(describing: error))",
      sourceLocation: sourceLocation)
  }

  // Text

  /// Each edit, compared byte by byte, followed by its undo.
  @Test(arguments: [
    (
      "m.md", "pre\n\n  ## Old ##\na\n### Deep\nb\n",
      [EditBatch.Edit.renameSection(1, title: "New")],
      "pre\n\n  ## New ##\na\n### Deep\nb\n"
    ),
    ("m.md", "# A\r\na\r\n# B\r\nb", [.moveSection(1, to: 0)], "# B\r\nb\r\n# A\r\na"),
    ("m.md", "# A\na\n# B\nb", [.deleteSection(1)], "# A\na"),
    ("m.md", "# A\na\n# B\nb", [.deleteSection(0), .deleteSection(1)], ""),
    (
      "m.md", "## A\na\n# B\nb",
      [.insertSection(at: 1, title: "X"), .insertSection(at: 3, title: "Y")],
      "## A\na\n## X\n# B\nb\n# Y"
    ),
    ("m.md", "#\na\n", [.renameSection(0, title: "T")], "# T\na\n"),
    ("m.md", "# T\na\n", [.renameSection(0, title: "")], "# \na\n"),
    ("m.md", "", [.insertSection(at: 0, title: "T")], "# T\n"),
    ("t.txt", "a\n", [.insertSection(at: 1, title: "T")], "a\n# T\n"),
    ("t.ini", "", [.insertSection(at: 0, title: "T")], "[T]\n"),
    (
      "t.ini", "x=1\n\n[ a ]\ny=2\n[[b]]\nz=3\n",
      [
        .renameSection(1, title: "c d"), .insertSection(at: 3, title: "n"), .moveSection(1, to: 2),
        .set(.path(IndexPath(section: 1, row: 0)), cells: [0: "y=4"]),
        .insert(at: IndexPath(section: 1, row: 1), cells: [0: "w=5"]),
        .move(.path(IndexPath(section: 0, row: 0)), to: IndexPath(section: 2, row: 1)),
      ], "\n[[b]]\nz=3\nw=5\n[ c d ]\ny=4\nx=1\n[ n ]\n"
    ),
  ])
  func textIsEditedByteForByte(
    _ name: String, _ text: String, _ edits: [EditBatch.Edit], _ expected: String
  ) throws {
    let file = try Text(name, text)
    let source = try file.open()
    let editing = try #require(source.editing)
    let dry = try editing.commit(EditBatch(edits, isDryRun: true))
    #expect(dry.outcomes.allSatisfy { $0.code == nil })
    #expect(try file.bytes == text)
    let result = try editing.commit(EditBatch(edits, version: try source.version()))
    #expect(result.outcomes.allSatisfy { $0.code == nil }, "\(result.outcomes)")
    #expect(try file.bytes == expected)
    #expect(try titles(source) == titles(file.open()))
    let receipt = try #require(result.receipt)
    _ = try file.open().undoing?.undo(receipt, isDryRun: false)
    #expect(try file.bytes == text)
  }

  @Test func titlesThatWouldReadOtherwiseAreRefused() throws {
    let markdown = try Text("m.md", "# A\na\n")
    for title in [" x", "x ", "x\t", "x #", "#", "a\nb", "a\rb", "x ##"] {
      let words = title.contains { "\n\r".contains($0) } ? "line end" : "read back"
      try expectRefusal(.constraint, words, [.renameSection(0, title: title)], markdown.open())
      try expectRefusal(
        .constraint, words, [.insertSection(at: 1, title: title)], markdown.open())
    }
    let ini = try Text("t.ini", "[A]\na\n")
    for title in [" x", "x ", "[x]", "a\nb"] {
      try expectRefusal(
        .constraint, title == "a\nb" ? "line end" : "read back", [.renameSection(0, title: title)],
        ini.open())
    }
    // These titles are valid.
    for title in ["x#", "#x", "a [b] c", "é", "]x[", "C#"] {
      let source = try markdown.open()
      _ = try source.editing?.commit(EditBatch([.renameSection(0, title: title)]))
      #expect(try titles(source) == [title])
    }
    try expectRefusal(.constraint, "a title", [.renameSection(0, title: nil)], ini.open())
    try expectRefusal(.constraint, "a title", [.insertSection(at: 0)], ini.open())
    #expect(try ini.bytes == "[A]\na\n")
  }

  /// Lines in front of the first heading belong to no heading, and would move under another one.
  @Test func linesBeforeTheFirstHeadingStayFirst() throws {
    let file = try Text("m.md", "pre\n# A\na\n# B\n")
    let source = try file.open()
    let sections = try #require(source.sectionEditing)
    #expect(
      try sections.editability(ofSections: 0..<3)
        == [[.delete], [.title, .delete, .move], [.title, .delete, .move]])
    #expect(throws: TableError.self) { try sections.editability(ofSections: 2..<4) }
    #expect(try sections.canInsertSections())
    try expectRefusal(.constraint, "no heading", [.renameSection(0, title: "x")], source)
    for edit: EditBatch.Edit in [
      .insertSection(at: 0, title: "x"), .moveSection(1, to: 0), .moveSection(0, to: 2),
    ] {
      try expectRefusal(.constraint, "before the first heading", [edit], source)
    }
    _ = try source.editing?.commit(EditBatch([.deleteSection(0), .moveSection(2, to: 0)]))
    #expect(try file.bytes == "# B\n# A\na\n")
  }

  /// An unclosed code fence would swallow the headings after it.
  @Test func headingsThatWouldBeCodeAreRefused() throws {
    let file = try Text("m.md", "# A\n# B\n```\n# no heading\n")
    try expectRefusal(.constraint, "would be read back", [.moveSection(1, to: 0)], file.open())
    try expectRefusal(
      .constraint, "would", [.insertSection(at: 2, title: "C")], file.open())
    try expectRefusal(
      .constraint, "would be read back",
      [
        .renameSection(0, title: "X"),
        .insert(at: IndexPath(section: 0, row: 0), cells: [0: "# no row"]),
      ], file.open())
    #expect(try file.bytes == "# A\n# B\n```\n# no heading\n")
  }

  @Test func otherSectionsOfTextsAreNoObjects() throws {
    let file = try Text("m.md", "# A\n\nb\n")
    for sections in ["paragraphs", "none"] {
      let source = try file.open(sections)
      #expect(source.sectionEditing == nil)
      try expectRefusal(.notSupported, "sections", [.deleteSection(0)], source)
      try expectRefusal(.notSupported, "titles", [.renameSection(0, title: "x")], source)
    }
  }

  // Memory, the contract, views

  private static func memory() -> InMemorySource {
    InMemorySource(
      [Column("city"), Column("kind")],
      sections: [
        ("one", nil, nil, [["Rome", "a"], ["Oslo", "b"]]), (nil, nil, nil, [["Bonn", "a"]]),
      ], persistence: .byAuthor)
  }

  @Test(arguments: [false, true])
  func titlesCrossTheContract(_ crosses: Bool) throws {
    let memory = Self.memory()
    let source: any TableDataSource =
      crosses ? try importSource(exportSource(memory), provider: "test") : memory
    let sections = try #require(source.sectionEditing)
    #expect(
      try sections.editability(ofSections: 0..<2)
        == Array(repeating: [.title, .delete, .move], count: 2))
    #expect(throws: TableError.self) { try sections.editability(ofSections: 1..<3) }
    #expect(try sections.canInsertSections())
    let result = try #require(source.editing).commit(
      EditBatch([
        .renameSection(0, title: nil), .moveSection(0, to: 2), .renameSection(1, title: "zwei"),
        .insertSection(at: 1, title: "neu"),
      ]))
    #expect(try titles(source) == ["zwei", "neu", nil])
    #expect(
      result.changes.changes == [
        .reconfigure(.section(0)), .move(from: .section(0), to: .section(2)),
        .reconfigure(.section(1)), .insert(.section(1)),
      ])
    for bad: [EditBatch.Edit] in [
      [.renameSection(0, title: "x"), .renameSection(0, title: "y")],
      [.renameSection(0, title: "x"), .deleteSection(0)],
      [.set(.path(.section(0)), cells: [:])], [.set(.path(.section(0)), cells: [0: "x"])],
      [.set(.path(.section(0)), cells: [-1: 5])],
      [.set(.path(.section(0)), cells: [-1: .text([0xFF])])],
      [.insert(at: .section(0), cells: [-1: "x", 1: "y"])],
      [.insert(at: IndexPath(section: 0, row: 0), cells: [-1: "x"])],
      [.set(.path(IndexPath(section: 0, row: 0)), cells: [-1: "x"])],
    ] {
      try expectRefusal(.invalidArgument, "", bad, source)
    }
    try expectRefusal(.notFound, "", [.renameSection(9, title: "x")], source)
    #expect(try titles(source) == ["zwei", "neu", nil])
  }

  /// A source without titles that records commits.
  private final class Untitled: TableDataSource, TableEditing, TableSections {
    var commits = 0
    var columns: [Column] { [Column("a")] }
    var editing: (any TableEditing)? { self }
    var sections: (any TableSections)? { self }
    func numberOfRows(inSection section: Int, knowing minimum: Int) -> Count { .exact(0) }
    func rows(_ request: RowRequest) -> Batch { .empty([.text], ids: false) }
    func numberOfSections(knowing minimum: Int) -> Count { .exact(2) }
    func title(_ place: TitlePlace, ofSection section: Int) -> String? { nil }
    func editability(ofRows rows: Range<Int>, inSection section: Int) -> [RowEditability] { [] }
    func commit(_ batch: EditBatch) throws(TableError) -> EditResult {
      commits += 1
      return EditResult(
        outcomes: batch.edits.map { _ in .init() },
        changes: ChangeBatch(from: nil, to: nil, changes: nil))
    }
  }

  /// An older provider would reject column -1, or use it as an index.
  @Test func aProviderWithoutTitlesIsNotAsked() throws {
    let base = Untitled()
    let source = try importSource(exportSource(base), provider: "test")
    #expect(source.sectionEditing == nil)
    try expectRefusal(.notSupported, "titles", [.renameSection(0, title: "x")], source)
    try expectRefusal(.notSupported, "titles", [.insertSection(at: 0, title: "x")], source)
    #expect(base.commits == 0)
    _ = try source.editing?.commit(EditBatch([.insertSection(at: 0)]))
    #expect(base.commits == 1)
  }

  /// A source that reports a title as set without setting it.
  private final class Liar: TableDataSource, TableEditing, TableSectionEditing {
    let base = SectionEditingTests.memory()
    var columns: [Column] { base.columns }
    var sections: (any TableSections)? { base }
    var editing: (any TableEditing)? { self }
    var sectionEditing: (any TableSectionEditing)? { self }
    func version() -> Version? { base.version() }
    func numberOfRows(inSection section: Int, knowing minimum: Int) throws(TableError) -> Count {
      try base.numberOfRows(inSection: section, knowing: minimum)
    }
    func rows(_ request: RowRequest) throws(TableError) -> Batch { try base.rows(request) }
    func editability(
      ofRows rows: Range<Int>, inSection section: Int
    ) throws(TableError) -> [RowEditability] { rows.map { _ in [] } }
    func editability(ofSections sections: Range<Int>) -> [SectionEditability] {
      sections.map { _ in .title }
    }
    func canInsertSections() -> Bool { true }
    func commit(_ batch: EditBatch) throws(TableError) -> EditResult {
      var other = batch
      other.edits = batch.edits.map { edit in
        switch edit {
        case .set(.path(let path), _) where path.isSection:
          .renameSection(path.section, title: "lie")
        case .insert(let path, _) where path.isSection: .insertSection(at: path.section)
        default: edit
        }
      }
      return try base.commit(other)
    }
  }

  @Test func aTitleThatIsNotSetIsALie() throws {
    for edit: EditBatch.Edit in [
      .renameSection(0, title: "new"), .renameSection(1, title: nil),
      .insertSection(at: 1, title: "x"),
    ] {
      let source = try importSource(exportSource(Liar()), provider: "liar")
      try expectRefusal(.misbehaved, "title", [edit], source)
    }
  }

  /// In a filtered view, deleting a section would delete hidden rows.
  @Test func aFilteredSectionIsDeletedOnlyIfAllIsShown() throws {
    let memory = Self.memory()
    let filtered = try memory.filtered(by: [
      Condition(column: 1, comparison: .equal, value: Array("a".utf8))
    ])
    let view = try filtered.sorted(by: [SortDescriptor(column: 0)])
    for source: any TableDataSource in [filtered, view] {
      try expectRefusal(.constraint, "filter hides", [.deleteSection(0)], source)
    }
    #expect(memory.numberOfSections(knowing: 0) == .exact(2))
    _ = try view.commit(
      EditBatch([
        .deleteSection(1), .renameSection(0, title: "eins"), .insertSection(at: 1, title: "zwei"),
      ]))
    #expect(try titles(memory) == ["eins", "zwei"])
    #expect(try memory.numberOfRows(inSection: 0, knowing: 0) == .exact(2))
  }

  @Test func groupsAreNoSections() throws {
    let memory = Self.memory()
    let grouped = try memory.grouped(by: Grouping(column: 1, by: .value))
    let sorted = try grouped.sorted(by: [SortDescriptor(column: 0)])
    for source: any TableDataSource in [grouped, sorted] {
      #expect(source.sectionEditing == nil)
      for edit: EditBatch.Edit in [
        .renameSection(0, title: "x"), .insertSection(at: 0), .deleteSection(0),
        .moveSection(0, to: 1),
      ] {
        try expectRefusal(.notSupported, "groups of rows by kind", [edit], source)
      }
    }
  }

  /// Titles of joined tables appear with the tables' names, which an edit need not repeat.
  @Test func joinedTablesHaveTheirOwnSections() throws {
    let (a, b) = (Self.memory(), Self.memory())
    let source = try importSource(
      exportSource(joined([("a", a), ("b", b)])), provider: "joined")
    _ = try source.editing?.commit(
      EditBatch([
        .renameSection(2, title: "b: x"), .renameSection(3, title: "y"),
        .insertSection(at: 4, title: "z"),
      ]))
    #expect(try titles(b) == ["x", "y", "z"])
    #expect(try titles(source) == ["a: one", "a", "b: x", "b: y", "b: z"])
    try expectRefusal(.constraint, "cannot move from", [.moveSection(0, to: 3)], source)
    try expectRefusal(
      .notSupported, "one batch cannot edit both", [.deleteSection(0), .deleteSection(2)], source)
    #expect(
      try source.sectionEditing?.editability(ofSections: 1..<4)
        == Array(repeating: [.title, .delete, .move], count: 3))
  }
}
