import CTabella
import Tabella
import TabellaBridge
import Testing

@testable import TabellaTestSupport

/// Providers that fail after an edit, or return impossible numbers: the host reports an error, and completed edits can
/// be undone.
@Suite(.serialized) struct EditFailureTests {
  private let table = InMemorySource(
    [Column("n", .integer)], rows: [[1], [2], [3]], persistence: .byAuthor)
  private let batch = EditBatch([.delete(.path(IndexPath(section: 0, row: 1)))])

  /// The table through the contract, with some of its functions replaced.
  private func source(
    _ change: (inout tabella_source_table) -> Void
  ) throws -> any TableDataSource {
    let raw = exportSource(table)
    honest = try #require(raw.table).pointee
    var broken = honest
    change(&broken)
    let copy = UnsafeMutablePointer<tabella_source_table>.allocate(capacity: 1)
    copy.initialize(to: broken)
    return try importSource(
      tabella_source(table: UnsafePointer(copy), source: raw.source), provider: "broken")
  }

  /// If the columns could not be read after a completed edit, the host reported that nothing was done and lost the
  /// receipt.
  @Test func anEditIsDoneThoughTheSourceCannotBeReadAfterIt() throws {
    schemaFails = false
    let broken = try source { table in
      table.ability = { source, id in
        id.holds(TABELLA_EDITING_ID) ? UnsafeRawPointer(reloading) : honest.ability!(source, id)
      }
      table.schema = { source, out, error in
        schemaFails ? TABELLA_CONFLICT : honest.schema!(source, out, error)
      }
    }
    schemaFails = true
    let result = try #require(broken.editing).commit(batch)
    #expect(result.receipt != nil && result.changes.changes == nil)
    #expect(try table.numberOfRows(inSection: 0, knowing: .max) == .exact(2))
  }

  /// The result was not released, and its receipt was lost.
  @Test func aReceiptIsKeptThoughSuccessCameWithAnError() throws {
    let broken = try source { table in
      table.ability = { source, id in
        id.holds(TABELLA_EDITING_ID) ? UnsafeRawPointer(complaining) : honest.ability!(source, id)
      }
    }
    released = 0
    let error = #expect(throws: TableError.self) { _ = try broken.editing?.commit(batch) }
    #expect(error?.code == .misbehaved && error?.receipt == Array("1".utf8))
    #expect(error?.message.contains("succeeded, but reported an error") == true)
    #expect(released == 1)
    _ = try #require(broken.undoing).undo(#require(error?.receipt), isDryRun: false)
    #expect(try table.numberOfRows(inSection: 0, knowing: .max) == .exact(3))
  }

  /// Index paths near the largest number overflowed in views, which ended the host.
  @Test func placesAreOfTables() throws {
    for far in [
      tabella_index_path(section: .max, row: 0), tabella_index_path(section: 0, row: .max),
      tabella_index_path(section: -1, row: 0), tabella_index_path(section: 0, row: -2),
    ] {
      place = far
      let broken = try source { table in
        table.ability = { source, id in
          if id.holds(TABELLA_IDENTITY_ID) { return UnsafeRawPointer(finding) }
          if id.holds(TABELLA_MOVING_ID) { return UnsafeRawPointer(retargeting) }
          return id.holds(TABELLA_EDITING_ID)
            ? UnsafeRawPointer(inserting) : honest.ability!(source, id)
        }
      }
      let views: [any TableDataSource] = [
        broken, try broken.grouped(by: Grouping(column: 0, by: .value)),
        try broken.filtered(by: []), Tabella.joined([("x", table), ("y", broken)]),
      ]
      for (number, view) in views.enumerated() {
        func expectLie(_ what: String, _ body: () throws -> Void) {
          let error = #expect(throws: TableError.self, "\(far), view \(number)") { try body() }
          #expect(error?.code == .misbehaved, "\(what) of view \(number): \(error as Any)")
        }
        expectLie("an id") {
          _ = try view.identity?.indexPath(forID: number == 3 ? "1~r1" : "r1")
        }
        let section = number == 3 ? 1 : 0
        if number != 1 {
          expectLie("a target") {
            _ = try view.moving?.target(
              ofMoveFrom: IndexPath(section: section, row: 0),
              to: IndexPath(section: section, row: 2))
          }
        }
        expectLie("a change") {
          _ = try view.editing?.commit(
            EditBatch([.set(.path(IndexPath(section: section, row: 0)), cells: [0: 9])]))
        }
      }
    }
  }

  /// The titles of an index are kept for the calls that follow. After an edit they are others.
  @Test func indexTitlesFollowAnEdit() throws {
    let sections: [(header: String?, footer: String?, indexTitle: String?, rows: [[Cell]])] =
      ["A", "B", "C"].map { ($0, nil, $0, [[1]]) }
    let table = InMemorySource([Column("n", .integer)], sections: sections, persistence: .byAuthor)
    let source = try importSource(exportSource(table), provider: "kept")
    let index = try #require(source.sectionIndex)
    #expect(try index.sectionIndexTitles() == ["A", "B", "C"])
    #expect(try index.indexPath(forIndexTitle: "C", at: 2) == .section(2))
    _ = try #require(source.editing).commit(EditBatch([.delete(.path(.section(0)))]))
    #expect(try index.indexPath(forIndexTitle: "B", at: 0) == .section(0))
    let error = #expect(throws: TableError.self) {
      _ = try index.indexPath(forIndexTitle: "C", at: 2)
    }
    #expect(error?.code == .notFound)
  }
}

nonisolated(unsafe) private var honest = tabella_source_table()
nonisolated(unsafe) private var schemaFails = false
nonisolated(unsafe) private var released = 0
nonisolated(unsafe) private let ouch = pointer(to: (CChar(111), CChar(117), CChar(99), CChar(104)))
  .withMemoryRebound(to: CChar.self, capacity: 4) { UnsafePointer($0) }
nonisolated(unsafe) private var place = tabella_index_path()

private func honestEditing(_ source: UnsafeMutableRawPointer) -> tabella_editing {
  var id = TABELLA_EDITING_ID
  return id.withUTF8 { bytes in
    bytes.withMemoryRebound(to: CChar.self) { chars in
      honest.ability!(
        source, tabella_string(bytes: chars.baseAddress!, length: Int64(chars.count)))!
        .load(as: tabella_editing.self)
    }
  }
}

private func pointer<T>(to value: T) -> UnsafeMutablePointer<T> {
  let pointer = UnsafeMutablePointer<T>.allocate(capacity: 1)
  pointer.initialize(to: value)
  return pointer
}

/// Reports that everything must be read again.
nonisolated(unsafe) private let reloading = pointer(
  to: tabella_editing(
    editable: { honestEditing($0).editable!($0, $1, $2, $3, $4, $5) }, editable_columns: nil,
    commit: { source, batch, out, error in
      let code = honestEditing(source).commit!(source, batch, out, error)
      out.pointee.changes.flags = TABELLA_CHANGES_RELOAD
      return code
    }))

/// Succeeds, and reports an error.
nonisolated(unsafe) private let complaining = pointer(
  to: tabella_editing(
    editable: { honestEditing($0).editable!($0, $1, $2, $3, $4, $5) }, editable_columns: nil,
    commit: { source, batch, out, error in
      let code = honestEditing(source).commit!(source, batch, out, error)
      error.pointee.message = tabella_string(bytes: ouch, length: 4)
      out.pointee.release = { result in
        released += 1
        result.pointee.release = nil
      }
      return code
    }))

/// Reports an insertion at ``place``.
nonisolated(unsafe) private let inserting = pointer(
  to: tabella_editing(
    editable: { honestEditing($0).editable!($0, $1, $2, $3, $4, $5) }, editable_columns: nil,
    commit: { source, batch, out, error in
      let code = honestEditing(source).commit!(source, batch, out, error)
      if code == TABELLA_OK {
        out.pointee.changes.changes = UnsafePointer(
          pointer(
            to: tabella_change(
              kind: TABELLA_CHANGE_INSERT, reserved: 0, from: tabella_index_path(), to: place)))
        out.pointee.changes.change_count = 1
      }
      return code
    }))

nonisolated(unsafe) private let finding = pointer(
  to: tabella_identity(find: { _, _, out, _ in
    out.pointee = place
    return TABELLA_OK
  }))

nonisolated(unsafe) private let retargeting = pointer(
  to: tabella_moving(
    movable: { _, _, _, count, out, _ in
      for row in 0..<Int(count) { out[row] = 1 }
      return TABELLA_OK
    },
    target: { _, _, _, out, _ in
      out.pointee = place
      return TABELLA_OK
    }))

extension tabella_string {
  fileprivate func holds(_ text: String) -> Bool {
    UnsafeRawBufferPointer(start: bytes, count: Int(length)).elementsEqual(text.utf8)
  }
}
