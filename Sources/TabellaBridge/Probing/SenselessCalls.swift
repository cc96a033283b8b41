import CTabella
import Tabella

extension ImportedProvider {
  /// Makes random invalid calls, which a host would refuse itself. Returns a description of a wrong answer, or nil.
  ///
  /// Use it only for checks, in a process that may end. Only if `mayEdit` is true, the calls include edits, all of
  /// which are impossible.
  package func complaintAboutSenselessCalls(
    opening request: OpenRequest, mayEdit: Bool, calls: Int, draw: (Range<Int>) -> Int
  ) throws(TableError) -> String? {
    let foreign = try ForeignSource(try openRaw(request), provider: id)
    // The abilities of the source, as a host sees them.
    let source = try ImportedSource(foreign)
    let caller = SenselessCaller(foreign, source, mayEdit: mayEdit)
    for _ in 0..<calls {
      let call = caller.calls[draw(0..<caller.calls.count)]
      if let complaint = call(draw) { return complaint }
    }
    return nil
  }
}

/// Makes invalid calls of each kind.
private final class SenselessCaller {
  private typealias Call = ((Range<Int>) -> Int) -> String?

  private static let absent = [TABELLA_NOT_FOUND, TABELLA_INVALID_ARGUMENT]
  private static let farAway: [Int64] = [-1, -2, .min, .max, .max - 1, 1 << 57]

  private let foreign: ForeignSource
  private let source: ImportedSource
  private(set) var calls: [((Range<Int>) -> Int) -> String?] = []

  init(_ foreign: ForeignSource, _ source: ImportedSource, mayEdit: Bool) {
    self.foreign = foreign
    self.source = source
    calls = [
      { [unowned self] in rowCount($0) }, { [unowned self] in rows($0) },
      { [unowned self] in rows($0) }, { [unowned self] in rows($0) },
      { [unowned self] in cancel($0) },
    ]
    func add<T>(_ id: String, _: T.Type, _ call: @escaping (T, (Range<Int>) -> Int) -> String?) {
      guard let table = try? foreign.ability(id, T.self, { _ in [] }) else { return }
      calls.append { draw in call(table, draw) }
    }
    add(TABELLA_SECTIONS_ID, tabella_sections.self) { [unowned self] in title($0, $1) }
    add(TABELLA_SECTION_INDEX_ID, tabella_section_index.self) { [unowned self] in index($0, $1) }
    add(TABELLA_IDENTITY_ID, tabella_identity.self) { [unowned self] in find($0, $1) }
    add(TABELLA_GATHERING_ID, tabella_gathering.self) { [unowned self] in gather($0, $1) }
    add(TABELLA_MOVING_ID, tabella_moving.self) { [unowned self] in movable($0, $1) }
    add(TABELLA_SUPPLEMENTARY_ID, tabella_supplementary.self) { [unowned self] in element($0, $1) }
    add(TABELLA_ACCESSORIES_ID, tabella_accessories.self) { [unowned self] in location($0, $1) }
    add(TABELLA_DISPLAY_ID, tabella_display.self) { [unowned self] in display($0, $1) }
    add(TABELLA_PREFETCHING_ID, tabella_prefetching.self) { [unowned self] in prefetch($0, $1) }
    add(TABELLA_EDITING_ID, tabella_editing.self) { [unowned self] in editable($0, $1) }
    add(TABELLA_SECTION_EDITING_ID, tabella_section_editing.self) { [unowned self] in
      editable($0, $1)
    }
    if mayEdit {
      add(TABELLA_EDITING_ID, tabella_editing.self) { [unowned self] in title($0, $1) }
      add(TABELLA_EDITING_ID, tabella_editing.self) { [unowned self] in commit($0, $1) }
      add(TABELLA_UNDO_ID, tabella_undo.self) { [unowned self] in undo($0, $1) }
    }
  }

  /// Makes a call and checks that it is refused: with one of these codes, a message of one line, and a release that
  /// clears itself.
  private func refuse(
    _ what: String, _ codes: [Int32],
    _ body: (UnsafeMutablePointer<tabella_error>) -> Int32
  ) -> String? {
    var raw = tabella_error()
    let code = body(&raw)
    defer { if code == TABELLA_OK { raw.release?(&raw) } }
    guard codes.contains(code) else {
      raw.release?(&raw)
      let expected = codes.map(name(of:)).joined(separator: " or ")
      return "\(what) returns \(name(of: code)), not \(expected)"
    }
    guard code != TABELLA_OK else { return nil }
    guard raw.message.bytes != nil else {
      raw.release?(&raw)
      return "\(what) is refused without a message"
    }
    do throws(TableError) {
      try call(what) { out in
        out.pointee = raw
        return code
      }
      return nil
    } catch {
      if error.code == .misbehaved { return error.message }
      let isOneLine = !error.message.utf8.contains { $0 == 10 || $0 == 13 }
      return isOneLine ? nil : "\(what) is refused with a message of several lines"
    }
  }

  private func drawFar(_ draw: (Range<Int>) -> Int) -> Int64 {
    SenselessCaller.farAway[draw(0..<SenselessCaller.farAway.count)]
  }

  /// The path of a row or section that does not exist.
  private func drawPath(_ draw: (Range<Int>) -> Int) -> tabella_index_path {
    draw(0..<2) == 0
      ? tabella_index_path(section: drawFar(draw), row: 0)
      : tabella_index_path(section: 0, row: drawFar(draw))
  }

  // The core.

  private func cancel(_ draw: (Range<Int>) -> Int) -> String? {
    foreign.table.cancel?(foreign.source)
    return nil
  }

  private func rowCount(_ draw: (Range<Int>) -> Int) -> String? {
    let section = drawFar(draw)
    return refuse("row_count of section \(section)", SenselessCaller.absent) { error in
      var count = tabella_count()
      return foreign.table.row_count!(foreign.source, section, 0, &count, error)
    }
  }

  private func rows(_ draw: (Range<Int>) -> Int) -> String? {
    let count = Int64(source.columns.count)
    var (section, first, rows, columns) = (Int64(0), Int64(0), Int64(1), Array(0..<count))
    var (flags, codes) = (UInt32(0), [TABELLA_INVALID_ARGUMENT])
    switch draw(0..<5) {
    case 0:
      section = drawFar(draw)
      codes = SenselessCaller.absent
    case 1:
      first = [-1, .min, -1000][draw(0..<3)]
    case 2: rows = [0, -1, .min][draw(0..<3)]
    case 3: columns.append([count, -1, .min, .max, Int64(Int32.max)][draw(0..<5)])
    default:
      if source.identity == nil {
        flags = TABELLA_ROWS_IDS
        codes = [TABELLA_NOT_SUPPORTED]
      } else {
        first = .max
        codes = [TABELLA_NOT_FOUND]
      }
    }
    // In a table without sections, nothing exists.
    if case .exact(0)? = try? source.numberOfSections(knowing: 1) {
      codes.append(TABELLA_NOT_FOUND)
    }
    let what =
      "rows of section \(section) from \(first), \(rows) of them, columns \(columns)"
      + (flags == 0 ? "" : ", with ids")
    var batch = tabella_batch()
    defer { batch.array.release?(&batch.array) }
    let complaint = refuse(what, codes) { error in
      columns.withUnsafeBufferPointer { columns in
        var request = tabella_row_request(
          section: section, first: first, count: rows, columns: columns.baseAddress,
          column_count: Int64(columns.count), flags: flags, reserved: 0)
        return foreign.table.rows!(foreign.source, &request, &batch, error)
      }
    }
    if complaint == nil, batch.array.release != nil {
      return "\(what) is refused, but leaves a batch that must be released"
    }
    return complaint
  }

  // Abilities that only read.

  private func title(_ table: tabella_sections, _ draw: (Range<Int>) -> Int) -> String? {
    let section = drawFar(draw)
    return refuse("the title of section \(section)", SenselessCaller.absent) { error in
      var title = tabella_string()
      return table.title!(foreign.source, section, TABELLA_TITLE_HEADER, &title, error)
    }
  }

  private func index(_ table: tabella_section_index, _ draw: (Range<Int>) -> Int) -> String? {
    let title = drawFar(draw)
    return refuse("where index title \(title) leads", SenselessCaller.absent) { error in
      var path = tabella_index_path()
      return table.path!(foreign.source, title, &path, error)
    }
  }

  private func find(_ table: tabella_identity, _ draw: (Range<Int>) -> Int) -> String? {
    let ids: [[UInt8]?] = [
      nil, [], [0], [0xFF, 0xFE], Array("\u{1B}[2J".utf8), Array("no-such-id".utf8),
      Array(repeating: 0x78, count: 1 << 20),
    ]
    let id = ids[draw(0..<ids.count)]
    let memory = id.flatMap { GuardedMemory($0) }
    let what = id.map { "an id of \($0.count) bytes that no row has" } ?? "an absent id"
    return refuse("looking for \(what)", SenselessCaller.absent) { error in
      var path = tabella_index_path()
      let string = tabella_string(
        bytes: memory.map { UnsafePointer($0.start.assumingMemoryBound(to: CChar.self)) },
        length: Int64(id?.count ?? 0))
      return withExtendedLifetime(memory) { table.find!(foreign.source, string, &path, error) }
    }
  }

  private func gather(_ table: tabella_gathering, _ draw: (Range<Int>) -> Int) -> String? {
    let paths = [drawPath(draw)]
    let columns = Array(0..<Int64(source.columns.count))
    var batch = tabella_batch()
    defer { batch.array.release?(&batch.array) }
    return refuse(
      "gathering row \(paths[0].section):\(paths[0].row)", SenselessCaller.absent
    ) { error in
      paths.withUnsafeBufferPointer { paths in
        columns.withUnsafeBufferPointer { columns in
          var request = tabella_gather_request(
            paths: paths.baseAddress, path_count: 1, columns: columns.baseAddress,
            column_count: Int64(columns.count), flags: 0, reserved: 0)
          return table.rows!(foreign.source, &request, &batch, error)
        }
      }
    }
  }

  private func element(_ table: tabella_supplementary, _ draw: (Range<Int>) -> Int) -> String? {
    let path = drawPath(draw)
    var element = tabella_element()
    // The source returns no element, or an error.
    let complaint = refuse(
      "an element at \(path.section):\(path.row)", SenselessCaller.absent + [TABELLA_OK]
    ) { error in
      draw(0..<2) == 0
        ? table.element!(foreign.source, tabella_string(), path, &element, error)
        : withCString("preview") { table.element!(foreign.source, $0, path, &element, error) }
    }
    defer {
      element.release?(&element)
      if let source = element.table.source { element.table.table?.pointee.release?(source) }
    }
    guard complaint == nil, element.form != TABELLA_ELEMENT_NONE, path.row != -1 else {
      return complaint
    }
    return "there is an element at \(path.section):\(path.row), where no row is"
  }

  private func location(_ table: tabella_accessories, _ draw: (Range<Int>) -> Int) -> String? {
    let path = drawPath(draw)
    return refuse(
      "where row \(path.section):\(path.row) leads", SenselessCaller.absent + [TABELLA_OK]
    ) { error in
      var location = tabella_string()
      return table.location!(foreign.source, path, &location, error)
    }
  }

  private func display(_ table: tabella_display, _ draw: (Range<Int>) -> Int) -> String? {
    let (section, first) = (drawFar(draw), drawFar(draw))
    table.will_display?(foreign.source, section, first, 3)
    table.did_end_displaying?(foreign.source, section, first, 3)
    return nil
  }

  private func prefetch(_ table: tabella_prefetching, _ draw: (Range<Int>) -> Int) -> String? {
    let (section, first) = (drawFar(draw), drawFar(draw))
    table.prefetch?(foreign.source, section, first, .max)
    table.cancel_prefetch?(foreign.source, section, first, .max)
    return nil
  }

  // Editing.

  /// Memory for answers that must not be written.
  private func withAnswers(_ count: Int, _ body: (UnsafeMutablePointer<UInt8>) -> Int32) -> Int32 {
    guard let memory = GuardedMemory(count) else { return TABELLA_NOT_FOUND }
    return withExtendedLifetime(memory) {
      body(memory.start.bindMemory(to: UInt8.self, capacity: count))
    }
  }

  private func editable(_ table: tabella_editing, _ draw: (Range<Int>) -> Int) -> String? {
    let path = drawPath(draw)
    return refuse("whether \(path.section):\(path.row) is editable", SenselessCaller.absent) {
      error in
      withAnswers(2) {
        table.editable!(foreign.source, path.section, path.row, 2, $0, error)
      }
    }
  }

  private func editable(
    _ table: tabella_section_editing, _ draw: (Range<Int>) -> Int
  ) -> String? {
    let section = drawFar(draw)
    return refuse("whether section \(section) is editable", SenselessCaller.absent) { error in
      withAnswers(2) { table.editable!(foreign.source, section, 2, $0, error) }
    }
  }

  /// Sets the title of a row, or of a section that does not exist, or a title that is not text.
  private func title(_ table: tabella_editing, _ draw: (Range<Int>) -> Int) -> String? {
    var cell = tabella_cell()
    cell.column = Int64(TABELLA_SECTION_TITLE)
    var edit = tabella_edit()
    edit.kind = TABELLA_EDIT_SET
    edit.from = tabella_index_path(section: drawFar(draw), row: -1)
    switch draw(0..<3) {
    case 0: edit.from = tabella_index_path(section: 0, row: 0)
    case 1:
      edit.from.section = 0
      cell.value.type = ColumnType.integer.rawValue
    default: break
    }
    var result = tabella_edit_result()
    defer { result.release?(&result) }
    let refusals =
      SenselessCaller.absent + [
        TABELLA_NOT_SUPPORTED, TABELLA_READ_ONLY, TABELLA_CONSTRAINT,
      ]
    let what = "an invalid title for \(edit.from.section):\(edit.from.row)"
    return refuse(what, refusals) { error in
      withUnsafePointer(to: &cell) { cell in
        edit.cells = cell
        edit.cell_count = 1
        return withUnsafePointer(to: &edit) { edit in
          var batch = tabella_edit_batch(
            version: tabella_string(), edits: edit, edit_count: 1,
            flags: draw(0..<2) == 0 ? TABELLA_EDITS_DRY_RUN : 0, reserved: 0)
          return table.commit!(foreign.source, &batch, &result, error)
        }
      }
    }
  }

  private func movable(_ table: tabella_moving, _ draw: (Range<Int>) -> Int) -> String? {
    let path = drawPath(draw)
    return refuse("whether \(path.section):\(path.row) is movable", SenselessCaller.absent) {
      error in
      withAnswers(2) { table.movable!(foreign.source, path.section, path.row, 2, $0, error) }
    }
  }

  private func commit(_ table: tabella_editing, _ draw: (Range<Int>) -> Int) -> String? {
    var edit = tabella_edit()
    edit.kind = [0, 99, -1, TABELLA_EDIT_DELETE, TABELLA_EDIT_SET][draw(0..<5)]
    // A path without a row names a section, which could be deleted.
    repeat { edit.from = drawPath(draw) } while edit.from.row == -1
    edit.target = drawPath(draw)
    var result = tabella_edit_result()
    defer { result.release?(&result) }
    let refusals =
      SenselessCaller.absent + [
        TABELLA_NOT_SUPPORTED, TABELLA_READ_ONLY, TABELLA_CONSTRAINT,
      ]
    let what = "an edit of kind \(edit.kind) of row \(edit.from.section):\(edit.from.row)"
    return refuse(what, refusals) { error in
      withUnsafePointer(to: &edit) { edit in
        var batch = tabella_edit_batch(
          version: tabella_string(), edits: edit, edit_count: 1,
          flags: draw(0..<2) == 0 ? TABELLA_EDITS_DRY_RUN : 0, reserved: 0)
        return table.commit!(foreign.source, &batch, &result, error)
      }
    }
  }

  private func undo(_ table: tabella_undo, _ draw: (Range<Int>) -> Int) -> String? {
    let receipt = (0..<draw(0..<40)).map { _ in UInt8(draw(0..<256)) }
    var result = tabella_edit_result()
    defer { result.release?(&result) }
    let refusals =
      SenselessCaller.absent + [
        TABELLA_CONFLICT, TABELLA_NOT_SUPPORTED, TABELLA_IO,
      ]
    guard let memory = GuardedMemory(receipt) else { return nil }
    return refuse("undo with a damaged receipt", refusals) { error in
      let string = tabella_string(
        bytes: memory.start.assumingMemoryBound(to: CChar.self), length: Int64(receipt.count))
      return withExtendedLifetime(memory) {
        table.undo!(foreign.source, string, 0, &result, error)
      }
    }
  }
}
