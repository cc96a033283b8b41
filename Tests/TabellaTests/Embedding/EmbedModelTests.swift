import CTabella
import CTabellaEmbed
import Foundation
import Tabella
import TabellaBridge
import Testing

@testable import TabellaTestSupport

/// Random sequences of edits through libtabella, compared with an array model after each, in every view. A part of them
/// is committed with receipts (`tabella_embed_commit`), and a part to the source itself (`tabella_embed_source`).
@Suite struct EmbedModelTests {
  static let shapes = EditShape.all(isLine: false).indices

  @Test(arguments: shapes, [false, true]) func edits(_ shape: Int, withReceipts: Bool) throws {
    let folder = try TemporaryFolder(inMemory: true)
    let host = try EmbedHost(receipts: folder.path + "/receipts")
    let opener = Opener(host: host, keepsReceipts: withReceipts)
    let subjects = [
      EditSubject.csv("csv", types: "text", open: opener.open),
      EditSubject.text("text", .one, open: opener.open),
      EditSubject.text("text, sections by heading", .titled, open: opener.open),
    ]
    for subject in turn(shape + (withReceipts ? 1 : 0), of: subjects) {
      let shape = EditShape.all(isLine: subject.isLine)[shape]
      for seed in 0..<UInt64(EditSubject.sequences(100) / 100) {
        #expect(EditTrial.run(subject, shape, seed: seed))
      }
    }
  }

  /// Opens files through libtabella.
  private struct Opener: @unchecked Sendable {
    let host: EmbedHost
    let keepsReceipts: Bool

    var open: EditSubject.FileOpener {
      { path, options in
        let table = try host.open(path, options: options)
        let source = try table.rawSource()
        return try importSource(
          keepsReceipts ? PatchedSource.committing(source, through: table) : source,
          provider: "test")
      }
    }
  }
}

/// Sources of the contract whose commits go through `tabella_embed_commit`. All other functions are their own.
private enum PatchedSource {
  private struct Entry {
    let table: EmbedTable
    let own: tabella_source_table
    let patched: UnsafeMutablePointer<tabella_source_table>
    let editing: UnsafeMutablePointer<tabella_editing>
  }

  nonisolated(unsafe) private static var entries: [UnsafeMutableRawPointer: Entry] = [:]
  private static let lock = NSLock()

  private static func entry(of source: UnsafeMutableRawPointer) -> Entry {
    lock.lock()
    defer { lock.unlock() }
    return entries[source]!
  }

  private static func set(_ entry: Entry?, of source: UnsafeMutableRawPointer) {
    lock.lock()
    defer { lock.unlock() }
    entries[source] = entry
  }

  static func committing(_ source: tabella_source, through table: EmbedTable) -> tabella_source {
    let own = source.table!.pointee
    let patched = UnsafeMutablePointer<tabella_source_table>.allocate(capacity: 1)
    let editing = UnsafeMutablePointer<tabella_editing>.allocate(capacity: 1)
    patched.initialize(to: own)
    patched.pointee.release = { source in
      let entry = PatchedSource.entry(of: source)
      PatchedSource.set(nil, of: source)
      entry.own.release!(source)
      entry.patched.deallocate()
      entry.editing.deallocate()
    }
    patched.pointee.ability = { source, id in
      let entry = PatchedSource.entry(of: source)
      let found = entry.own.ability!(source, id)
      guard let found, String(id) == TABELLA_EDITING_ID else { return found }
      entry.editing.initialize(to: found.load(as: tabella_editing.self))
      entry.editing.pointee.commit = { source, batch, out, error in
        var edit = tabella_embed_edit()
        let table = PatchedSource.entry(of: source).table.raw
        let code = EmbedLibrary.shared.commit(table, batch, &edit, error)
        out.pointee = edit.result
        return code
      }
      return UnsafeRawPointer(entry.editing)
    }
    set(Entry(table: table, own: own, patched: patched, editing: editing), of: source.source!)
    return tabella_source(table: patched, source: source.source)
  }
}
