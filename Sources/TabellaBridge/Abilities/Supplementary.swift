import CTabella
import Tabella

nonisolated(unsafe) let supplementaryTable = immortal(
  tabella_supplementary(
    kinds: { source, out, count, error in
      answer(source, error) { box throws(TableError) in
        let kinds = try box.base.supplementary?.supplementaryKinds() ?? []
        let arena = box.lend()
        out.pointee = arena.array(kinds.map { arena.string($0.utf8) })
        count.pointee = Int64(kinds.count)
      }
    },
    element: { source, kind, path, out, error in
      answer(source, error) { box throws(TableError) in
        let kind = try kind.text("the kind") ?? ""
        let element = try box.base.supplementary?.supplementaryElement(
          ofKind: kind, at: try IndexPath(asked: path))
        switch element {
        case nil: out.pointee.form = TABELLA_ELEMENT_NONE
        case .table(let table):
          out.pointee.form = TABELLA_ELEMENT_TABLE
          out.pointee.table = exportSource(table, through: box.gate)
        case .text(let text):
          let arena = ExportedMemory()
          let spans = text.spans.map { span in
            tabella_text_span(
              start: Int64(span.bytes.lowerBound), length: Int64(span.bytes.count),
              style: span.style.rawValue, reserved: 0)
          }
          out.pointee.form = TABELLA_ELEMENT_TEXT
          out.pointee.text = arena.string(text.bytes)
          out.pointee.spans = arena.array(spans)
          out.pointee.span_count = Int64(spans.count)
          out.pointee.private_data = arena.retained()
          out.pointee.release = { element in
            ExportedMemory.release(element.pointee.private_data)
            element.pointee.release = nil
          }
        }
      }
    }))

func importSupplementary(_ foreign: ForeignSource) throws(TableError) -> (any TableSupplementary)? {
  let table = try foreign.ability(TABELLA_SUPPLEMENTARY_ID, tabella_supplementary.self) {
    [("kinds", $0.kinds != nil), ("element", $0.element != nil)]
  }
  return table.map { ImportedSupplementary(foreign: foreign, table: $0) }
}

private final class ImportedSupplementary: TableSupplementary {
  let foreign: ForeignSource
  let table: tabella_supplementary

  init(foreign: ForeignSource, table: tabella_supplementary) {
    self.foreign = foreign
    self.table = table
  }

  func supplementaryKinds() throws(TableError) -> [String] {
    var list: UnsafePointer<tabella_string>?
    var count: Int64 = 0
    try foreign.call("supplementary.kinds") { table.kinds!(foreign.source, &list, &count, $0) }
    return try foreign.checking("supplementary.kinds") { () throws(TableError) in
      try importStrings(list, count)
    }
  }

  func supplementaryElement(ofKind kind: String, at path: IndexPath) throws(TableError)
    -> SupplementaryElement?
  {
    var raw = tabella_element()
    try foreign.call("supplementary.element") { error in
      withCString(kind) { table.element!(foreign.source, $0, path.raw, &raw, error) }
    }
    defer {
      raw.release?(&raw)
      foreign.witness.released("an element", isCleared: raw.release == nil)
    }
    return try foreign.checking("supplementary.element") { () throws(TableError) in
      switch raw.form {
      case TABELLA_ELEMENT_NONE: return nil
      case TABELLA_ELEMENT_TABLE:
        return .table(try ImportedSource(ForeignSource(raw.table, provider: foreign.provider)))
      case TABELLA_ELEMENT_TEXT: return .text(try importText(raw))
      default: throw TableError(.misbehaved, "an element has the unknown form \(raw.form)")
      }
    }
  }
}

private func importText(_ raw: tabella_element) throws(TableError) -> StyledText {
  let bytes = try raw.text.copied("an element's text") ?? []
  guard (0...Int64(Int32.max)).contains(raw.span_count), raw.span_count == 0 || raw.spans != nil
  else { throw TableError(.misbehaved, "an element has \(raw.span_count) spans") }
  var spans: [StyledText.Span] = []
  for span in UnsafeBufferPointer(start: raw.spans, count: Int(raw.span_count)) {
    let (end, overflow) = span.start.addingReportingOverflow(span.length)
    guard end >= span.start, !overflow else {
      throw TableError(
        .misbehaved, "a span of \(span.length) bytes at \(span.start) does not fit the text")
    }
    spans.append(.init(Int(span.start)..<Int(end), .init(rawValue: span.style)))
  }
  return StyledText(bytes, spans: spans)
}
