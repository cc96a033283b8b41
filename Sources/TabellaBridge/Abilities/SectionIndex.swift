import CTabella
import Tabella

nonisolated(unsafe) let sectionIndexTable = immortal(
  tabella_section_index(
    titles: { source, out, count, error in
      answer(source, error) { box throws(TableError) in
        let titles = try box.base.sectionIndex?.sectionIndexTitles() ?? []
        box.indexTitles = titles
        let arena = box.lend()
        out.pointee = arena.array(titles.map { arena.string($0.utf8) })
        count.pointee = Int64(titles.count)
      }
    },
    path: { source, title, out, error in
      answer(source, error) { box throws(TableError) in
        guard let index = box.base.sectionIndex else { throw TableError(.notSupported, "no index") }
        out.pointee = try box.path(ofIndexTitle: Int(title), in: index).raw
      }
    }))

extension SourceBox {
  /// The target of a title. The kept titles serve all calls, because a source refuses one that it no longer has. To read
  /// all titles for each call would take quadratic time.
  fileprivate func path(
    ofIndexTitle number: Int, in index: any TableSectionIndex
  ) throws(TableError) -> IndexPath {
    if indexTitles.indices.contains(number) {
      do throws(TableError) {
        return try index.indexPath(forIndexTitle: indexTitles[number], at: number)
      } catch {
        guard error.code == .notFound else { throw error }
      }
    }
    indexTitles = try index.sectionIndexTitles()
    guard indexTitles.indices.contains(number) else {
      throw TableError(.notFound, "there is no index title \(number)")
    }
    return try index.indexPath(forIndexTitle: indexTitles[number], at: number)
  }
}

func importSectionIndex(_ foreign: ForeignSource) throws(TableError) -> (any TableSectionIndex)? {
  let table = try foreign.ability(TABELLA_SECTION_INDEX_ID, tabella_section_index.self) {
    [("titles", $0.titles != nil), ("path", $0.path != nil)]
  }
  return table.map { ImportedSectionIndex(foreign: foreign, table: $0) }
}

private final class ImportedSectionIndex: TableSectionIndex {
  let foreign: ForeignSource
  let table: tabella_section_index

  init(foreign: ForeignSource, table: tabella_section_index) {
    self.foreign = foreign
    self.table = table
  }

  func sectionIndexTitles() throws(TableError) -> [String] {
    var list: UnsafePointer<tabella_string>?
    var count: Int64 = 0
    try foreign.call("section-index.titles") { table.titles!(foreign.source, &list, &count, $0) }
    return try foreign.checking("section-index.titles") { () throws(TableError) in
      try importStrings(list, count)
    }
  }

  func indexPath(forIndexTitle title: String, at index: Int) throws(TableError) -> IndexPath {
    var raw = tabella_index_path()
    try foreign.call("section-index.path") {
      table.path!(foreign.source, Int64(index), &raw, $0)
    }
    return IndexPath(raw)
  }
}

/// The Swift form of a borrowed list of strings.
func importStrings(
  _ list: UnsafePointer<tabella_string>?, _ count: Int64
) throws(TableError) -> [String] {
  guard (0...Int64(Int32.max)).contains(count), count == 0 || list != nil else {
    throw TableError(.misbehaved, "returned a list of \(count) strings")
  }
  var strings: [String] = []
  for index in 0..<Int(count) {
    guard let text = try list?[index].text("a string of the list") else {
      throw TableError(.misbehaved, "returned a list with an absent string")
    }
    strings.append(text)
  }
  return strings
}
