import CTabella
import Tabella

nonisolated(unsafe) let sectionsTable = immortal(
  tabella_sections(
    count: { source, atLeast, out, error in
      answer(source, error) { box throws(TableError) in
        let minimum = try natural(atLeast, "the number of sections to know")
        out.pointee = tabella_count(try box.base.numberOfSections(knowing: minimum))
      }
    },
    title: { source, section, which, out, error in
      answer(source, error) { box throws(TableError) in
        guard let place = TitlePlace(rawValue: which) else {
          throw TableError(.invalidArgument, "there is no title place \(which)")
        }
        let title = try box.base.sections?.title(place, ofSection: Int(section))
        out.pointee = box.lend().string(title)
      }
    }))

func importSections(_ foreign: ForeignSource) throws(TableError) -> (any TableSections)? {
  let table = try foreign.ability(TABELLA_SECTIONS_ID, tabella_sections.self) {
    [("count", $0.count != nil), ("title", $0.title != nil)]
  }
  return table.map { ImportedSections(foreign: foreign, table: $0) }
}

private final class ImportedSections: TableSections {
  let foreign: ForeignSource
  let table: tabella_sections

  init(foreign: ForeignSource, table: tabella_sections) {
    self.foreign = foreign
    self.table = table
  }

  func numberOfSections(knowing minimum: Int) throws(TableError) -> Count {
    var raw = tabella_count()
    try foreign.call("sections.count") {
      table.count!(foreign.source, Int64(minimum), &raw, $0)
    }
    return try foreign.checking("sections.count") { () throws(TableError) in
      try Count(raw)
    }
  }

  func title(_ place: TitlePlace, ofSection section: Int) throws(TableError) -> String? {
    var raw = tabella_string()
    try foreign.call("sections.title") {
      table.title!(foreign.source, Int64(section), place.rawValue, &raw, $0)
    }
    return try foreign.checking("sections.title") { () throws(TableError) in
      try raw.text("the title")
    }
  }
}
