import Tabella
import Testing

@testable import TabellaDirectory
@testable import TabellaTestSupport

/// Folders as sections: creating, renaming and deleting them, and the refusals.
@Suite struct DirectorySectionTests {
  private let tree = EditedTree()

  private func open(
    _ change: (inout DirectorySettings) -> Void = { _ in }
  ) throws -> DirectorySource {
    try tree.open {
      $0.isRecursive = true
      $0.hasSections = true
      change(&$0)
    }
  }

  private func make(_ folders: String...) {
    for folder in folders { tree.make(Array("\(folder)/".utf8)) }
  }

  private func titles(_ source: DirectorySource) throws -> [String] {
    try (1..<source.numberOfSections(knowing: .max).value).map {
      try source.title(.header, ofSection: $0) ?? "none"
    }
  }

  /// An empty folder was no section, so nothing could be put into it.
  @Test func anEmptyFolderIsASection() throws {
    make("empty", "full", "full/in")
    tree.make("full/x")
    let source = try open()
    #expect(try titles(source) == ["empty", "full", "full/in"])
    #expect(try source.numberOfRows(inSection: 1, knowing: .max) == .exact(0))
    let result = try source.commit(
      EditBatch([
        .move(.path(IndexPath(section: 2, row: 1)), to: IndexPath(section: 1, row: 0)),
        .insert(at: IndexPath(section: 3, row: 0), cells: [0: "new"]),
      ]))
    #expect(result.outcomes.map(\.code) == [nil, nil])
    #expect(tree.exists("empty/x") && tree.exists("full/in/new") && !tree.exists("full/x"))
  }

  @Test func foldersAreMadeRenamedAndDeleted() throws {
    make("a", "a/in", "b", "c")
    tree.make("a/in/deep", "b/x")
    let source = try open()
    #expect(
      try source.editability(ofSections: 0..<5)
        == [[], [.title, .delete], [.title, .delete], [.title, .delete], [.title, .delete]])
    #expect(throws: TableError.self) { try source.editability(ofSections: 4..<6) }
    let before = tree.snapshot()
    let edits: [EditBatch.Edit] = [
      .insertSection(at: 5, title: "a/new"), .renameSection(2, title: "a/out"), .deleteSection(3),
      .renameSection(4, title: "C"),
    ]
    let dry = try source.commit(EditBatch(edits, isDryRun: true))
    #expect(dry.outcomes.map(\.code) == [nil, nil, nil, nil] && tree.snapshot() == before)
    let result = try source.commit(EditBatch(edits, version: source.version()))
    #expect(result.outcomes.map(\.code) == [nil, nil, nil, nil], "\(result.outcomes)")
    #expect(result.outcomes.allSatisfy { $0.id == nil })
    #expect(try titles(source) == ["C", "a", "a/new", "a/out"])
    #expect(tree.exists("a/out/deep") && !tree.exists("b") && !tree.exists("a/in"))
    let undone = try open().undo(#require(result.receipt), isDryRun: false)
    #expect(undone.outcomes.map(\.code) == [nil])
    #expect(tree.snapshot() == before)
  }

  /// A folder can be deleted permanently only if it is empty.
  @Test func whatIsDeletedForGoodIsEmpty() throws {
    make("empty", "full")
    tree.make("full/x")
    let source = try open { $0.deletesForGood = true }
    tree.expectRefusal(.constraint, "not empty", source, [.deleteSection(2)])
    let result = try source.commit(EditBatch([.deleteSection(1)]))
    #expect(result.outcomes.map(\.code) == [nil])
    #expect(try titles(source) == ["full"])
  }

  @Test func whatIsRefused() throws {
    make("a", "a/in", "b")
    tree.make("a/x")
    let source = try open()
    let row = RowReference.path(IndexPath(section: 1, row: 1))
    for (edits, code, part) in [
      ([.renameSection(0, title: "x")], .constraint, "is the opened folder"),
      ([.deleteSection(0)], .constraint, "is the opened folder"),
      ([.moveSection(1, to: 2)], .constraint, "order of their folders' names"),
      ([.renameSection(2, title: "b/in")], .constraint, "only the last name"),
      ([.renameSection(2, title: "in2")], .constraint, "only the last name"),
      ([.renameSection(1, title: "b")], .constraint, "already"),
      ([.renameSection(1, title: "")], .constraint, "empty"),
      ([.renameSection(1, title: nil)], .constraint, "cannot be missing"),
      ([.renameSection(9, title: "x")], .notFound, "no section 9"),
      ([.insertSection(at: 0)], .constraint, "title=PATH"),
      ([.insertSection(at: 0, title: "none/x")], .notFound, "no folder none/"),
      ([.insertSection(at: 0, title: "b")], .constraint, "already"),
      ([.insertSection(at: 9, title: "x")], .notFound, "no section 9"),
      ([.insertSection(at: 0, title: "b/")], .constraint, "has no name at its end"),
      (
        [.renameSection(1, title: "x"), .renameSection(1, title: "y")], .invalidArgument,
        "named twice"
      ),
      ([.renameSection(1, title: "x"), .deleteSection(1)], .invalidArgument, "named twice"),
      (
        [
          .renameSection(2, title: "a/y"),
          .set(.path(IndexPath(section: 1, row: 0)), cells: [0: "z"]),
        ],
        .invalidArgument, "named twice"
      ),
      // The index path in b changes if the new folder appears in front of b.
      (
        [.insertSection(at: 0, title: "aa"), .move(row, to: IndexPath(section: 3, row: 0))],
        .notSupported, "another batch"
      ),
      (
        [.deleteSection(1), .insert(at: IndexPath(section: 3, row: 0), cells: [0: "n"])],
        .notSupported, "another batch"
      ),
    ] as [([EditBatch.Edit], TableError.Code, String)] {
      tree.expectRefusal(code, part, source, edits)
    }
    let plain = try tree.open()
    #expect(plain.sectionEditing == nil)
    tree.expectRefusal(.notSupported, "sections=folder", plain, [.renameSection(0, title: "x")])
  }
}
