import CTabella
import Tabella

nonisolated(unsafe) let sectionEditingTable = immortal(
  tabella_section_editing(
    editable: { source, first, count, out, error in
      answer(source, error) { box throws(TableError) in
        let sections = try range(first, count)
        let answers = try box.base.sectionEditing?.editability(ofSections: sections) ?? []
        for (index, answer) in answers.prefix(sections.count).enumerated() {
          out[index] = answer.rawValue
        }
      }
    },
    insertable: { source, out, error in
      answer(source, error) { box throws(TableError) in
        out.pointee = try box.base.sectionEditing?.canInsertSections() == true ? 1 : 0
      }
    }))

func importSectionEditing(
  _ foreign: ForeignSource
) throws(TableError) -> (any TableSectionEditing)? {
  let table = try foreign.ability(TABELLA_SECTION_EDITING_ID, tabella_section_editing.self) {
    [("editable", $0.editable != nil)]
  }
  return table.map { ImportedSectionEditing(foreign: foreign, table: $0) }
}

private final class ImportedSectionEditing: TableSectionEditing {
  let foreign: ForeignSource
  let table: tabella_section_editing

  init(foreign: ForeignSource, table: tabella_section_editing) {
    self.foreign = foreign
    self.table = table
  }

  func editability(ofSections sections: Range<Int>) throws(TableError) -> [SectionEditability] {
    try importBytes(foreign, "section_editing.editable", sections) { out, error in
      table.editable!(
        foreign.source, Int64(sections.lowerBound), Int64(sections.count), out, error)
    }.map { SectionEditability(rawValue: $0) }
  }

  func canInsertSections() throws(TableError) -> Bool {
    guard let function = table.insertable else { return false }
    var answer: Int32 = 0
    try foreign.call("section_editing.insertable") { function(foreign.source, &answer, $0) }
    return try foreign.checking("section_editing.insertable") { () throws(TableError) in
      guard 0...1 ~= answer else {
        throw TableError(.misbehaved, "returned \(answer), which is neither 0 nor 1")
      }
      return answer == 1
    }
  }
}
