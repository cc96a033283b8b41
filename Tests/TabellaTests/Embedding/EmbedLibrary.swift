import CTabella
import CTabellaEmbed
import Glibc
import Tabella
import TabellaBridge
import Testing

@testable import TabellaTestSupport

/// The functions of libtabella, loaded as a program in C would load them.
struct EmbedLibrary: @unchecked Sendable {
  typealias Out = UnsafeMutablePointer<OpaquePointer?>
  typealias Failure = UnsafeMutablePointer<tabella_error>

  static let path = buildFolder + "/libtabella-embed.so"
  static let shared = EmbedLibrary()

  let version: @convention(c) () -> tabella_string
  let createHost: @convention(c) (UnsafePointer<tabella_embed_settings>?, Out, Failure) -> Int32
  let releaseHost: @convention(c) (OpaquePointer?) -> Void
  let providers: @convention(c) (OpaquePointer, Out, Failure) -> Int32
  let open:
    @convention(c) (OpaquePointer, UnsafePointer<tabella_embed_request>, Out, Failure) ->
      Int32
  let join: @convention(c) (UnsafePointer<OpaquePointer>, Int64, Out, Failure) -> Int32
  let shaped:
    @convention(c) (OpaquePointer, UnsafePointer<tabella_embed_shape>, Out, Failure) ->
      Int32
  let summarize:
    @convention(c) (
      OpaquePointer, tabella_string, tabella_string, UInt32, Out, Failure
    ) -> Int32
  let releaseTable: @convention(c) (OpaquePointer?) -> Void
  let cancel: @convention(c) (OpaquePointer) -> Void
  let provider: @convention(c) (OpaquePointer) -> tabella_string
  let source: @convention(c) (OpaquePointer, UnsafeMutablePointer<tabella_source>, Failure) -> Int32
  let stream:
    @convention(c) (
      OpaquePointer, UnsafePointer<tabella_embed_stream_request>?,
      UnsafeMutablePointer<ArrowArrayStream>, Failure
    ) -> Int32
  let commit:
    @convention(c) (
      OpaquePointer, UnsafePointer<tabella_edit_batch>, UnsafeMutablePointer<tabella_embed_edit>,
      Failure
    ) -> Int32
  let undo:
    @convention(c) (
      OpaquePointer, tabella_string, UInt32, UnsafeMutablePointer<tabella_embed_edit>, Failure
    ) -> Int32
  let log: @convention(c) (OpaquePointer, tabella_string, Out, Failure) -> Int32
  let follow: @convention(c) (OpaquePointer, Out, Failure) -> Int32
  let pull: @convention(c) (OpaquePointer, UnsafeMutablePointer<tabella_changes>, Failure) -> Int32
  let listen:
    @convention(c) (
      OpaquePointer, tabella_notify?, UnsafeMutableRawPointer?, Failure
    ) -> Int32
  let releaseFollower: @convention(c) (OpaquePointer?) -> Void

  private init() {
    guard let library = dlopen(EmbedLibrary.path, RTLD_NOW | RTLD_LOCAL) else {
      fatalError(String(cString: dlerror()))
    }
    func function<F>(_ name: String) -> F {
      guard let symbol = dlsym(library, "tabella_embed_" + name) else { fatalError("no \(name)") }
      return unsafeBitCast(symbol, to: F.self)
    }
    version = function("version")
    createHost = function("host_create")
    releaseHost = function("host_release")
    providers = function("providers")
    open = function("open")
    join = function("join")
    shaped = function("shaped")
    summarize = function("summarize")
    releaseTable = function("table_release")
    cancel = function("cancel")
    provider = function("provider")
    source = function("source")
    stream = function("stream")
    commit = function("commit")
    undo = function("undo")
    log = function("log")
    follow = function("follow")
    pull = function("pull")
    listen = function("listen")
    releaseFollower = function("follower_release")
  }
}

/// An error that a function of libtabella reported.
struct EmbedError: Error, CustomStringConvertible {
  var code: Int32
  var message: String
  var row: Int64?
  var column: Int64?

  var description: String { "\(code): \(message)" }
}

/// Calls a function of libtabella. Throws its error.
func embed(_ body: (EmbedLibrary.Failure) -> Int32) throws {
  var error = tabella_error()
  let code = body(&error)
  defer { error.release?(&error) }
  guard code != TABELLA_OK else {
    #expect(error.release == nil && error.message.bytes == nil)
    return
  }
  throw EmbedError(
    code: code, message: String(error.message),
    row: error.located & TABELLA_ERROR_HAS_ROW != 0 ? error.path.row : nil,
    column: error.located & TABELLA_ERROR_HAS_COLUMN != 0 ? error.column : nil)
}

/// The error that `body` throws.
func embedError(_ body: () throws -> Void) throws -> EmbedError {
  do { try body() } catch let error as EmbedError { return error }
  throw EmbedError(code: 0, message: "no error")
}

extension String {
  init(_ string: tabella_string) {
    self.init(
      decoding: UnsafeRawBufferPointer(start: string.bytes, count: Int(string.length)),
      as: UTF8.self)
  }
}

/// Strings that live as long as the object.
final class EmbedStrings {
  private let memory = ExportedMemory()

  func callAsFunction(_ text: String?) -> tabella_string { memory.string(text) }
  func callAsFunction(_ bytes: [UInt8]) -> tabella_string { memory.string(bytes) }
  func list<T: BitwiseCopyable>(_ values: [T]) -> UnsafePointer<T> { memory.array(values) }
}

/// A host of libtabella with its own receipts.
final class EmbedHost {
  let raw: OpaquePointer
  private static let library = EmbedLibrary.shared
  private var library: EmbedLibrary { EmbedHost.library }

  init(
    receipts: String? = nil, providers: String? = nil, worker: String? = nil,
    isolation: Int32 = TABELLA_EMBED_ISOLATION_AUTOMATIC, flags: UInt32 = 0
  ) throws {
    let strings = EmbedStrings()
    var settings = tabella_embed_settings(
      provider_path: strings(providers), worker: strings(worker), receipts: strings(receipts),
      isolation: isolation, flags: flags)
    var out: OpaquePointer?
    try embed { EmbedHost.library.createHost(&settings, &out, $0) }
    raw = out!
  }

  deinit { library.releaseHost(raw) }

  func open(
    _ location: String, options: [String: String] = [:], provider: String? = nil,
    flags: UInt32 = TABELLA_EMBED_EDITING
  ) throws -> EmbedTable {
    try open(Array(location.utf8), options: options, provider: provider, flags: flags)
  }

  func open(
    _ location: [UInt8], options: [String: String] = [:], provider: String? = nil,
    flags: UInt32 = TABELLA_EMBED_EDITING
  ) throws -> EmbedTable {
    let strings = EmbedStrings()
    let list = options.map { tabella_option_value(name: strings($0), value: strings($1)) }
    var request = tabella_embed_request(
      location: strings(location), provider: strings(provider), options: strings.list(list),
      option_count: Int64(list.count), flags: flags, reserved: 0)
    return try table { library.open(raw, &request, $0, $1) }
  }

  func providers() throws -> EmbedTable { try table { library.providers(raw, $0, $1) } }

  func log(_ location: String? = nil) throws -> EmbedTable {
    let strings = EmbedStrings()
    return try table { library.log(raw, strings(location), $0, $1) }
  }

  func undo(_ location: String, isDryRun: Bool = false) throws -> EmbedEdit {
    let strings = EmbedStrings()
    var edit = tabella_embed_edit()
    try embed {
      library.undo(raw, strings(location), isDryRun ? TABELLA_EDITS_DRY_RUN : 0, &edit, $0)
    }
    return EmbedEdit(edit)
  }

  func join(_ tables: [EmbedTable]) throws -> EmbedTable {
    let list = tables.map(\.raw)
    return try table { library.join(list, Int64(list.count), $0, $1) }
  }

  fileprivate func table(
    _ body: (EmbedLibrary.Out, EmbedLibrary.Failure) -> Int32
  ) throws -> EmbedTable {
    var out: OpaquePointer?
    try embed { body(&out, $0) }
    return EmbedTable(out!)
  }
}

/// A table of libtabella.
final class EmbedTable {
  let raw: OpaquePointer
  private let library = EmbedLibrary.shared

  init(_ raw: OpaquePointer) { self.raw = raw }

  deinit { library.releaseTable(raw) }

  var provider: String { String(library.provider(raw)) }

  func shaped(
    filters: [String] = [], search: String? = nil, sectionBy: String? = nil, sort: String? = nil,
    sectionsBy: String? = nil, flags: UInt32 = 0
  ) throws -> EmbedTable {
    let strings = EmbedStrings()
    var shape = tabella_embed_shape(
      filters: strings.list(filters.map { strings($0) }), filter_count: Int64(filters.count),
      search: strings(search), section_by: strings(sectionBy), sort: strings(sort),
      sections_by: strings(sectionsBy), flags: flags, reserved: 0)
    return try table { library.shaped(raw, &shape, $0, $1) }
  }

  func summarize(by: String? = nil, compute: String? = nil) throws -> EmbedTable {
    let strings = EmbedStrings()
    return try table { library.summarize(raw, strings(by), strings(compute), 0, $0, $1) }
  }

  private func table(
    _ body: (EmbedLibrary.Out, EmbedLibrary.Failure) -> Int32
  ) throws -> EmbedTable {
    var out: OpaquePointer?
    try embed { body(&out, $0) }
    return EmbedTable(out!)
  }

  func rawSource() throws -> tabella_source {
    var source = tabella_source()
    try embed { library.source(raw, &source, $0) }
    return source
  }

  /// The table as a source of this process.
  func source() throws -> any TableDataSource {
    try importSource(rawSource(), provider: provider)
  }

  func stream(_ request: tabella_embed_stream_request? = nil) throws -> EmbedStream {
    var stream = ArrowArrayStream()
    if var request {
      try embed { library.stream(raw, &request, &stream, $0) }
    } else {
      try embed { library.stream(raw, nil, &stream, $0) }
    }
    return EmbedStream(stream)
  }

  /// Commits edits with receipts.
  func commit(_ edits: [tabella_edit], version: String? = nil, flags: UInt32 = 0) throws
    -> EmbedEdit
  {
    let strings = EmbedStrings()
    var batch = tabella_edit_batch(
      version: strings(version), edits: strings.list(edits), edit_count: Int64(edits.count),
      flags: flags, reserved: 0)
    var edit = tabella_embed_edit()
    try embed { library.commit(raw, &batch, &edit, $0) }
    return EmbedEdit(edit)
  }

  /// Sets a text cell.
  func set(
    _ row: Int, _ column: Int, _ text: String, section: Int = 0, version: String? = nil,
    flags: UInt32 = 0
  ) throws -> EmbedEdit {
    let strings = EmbedStrings()
    var edit = tabella_edit()
    edit.kind = TABELLA_EDIT_SET
    edit.from = tabella_index_path(section: Int64(section), row: Int64(row))
    edit.target = tabella_index_path(section: -1, row: -1)
    edit.cells = strings.list([
      tabella_cell(
        column: Int64(column),
        value: tabella_value(
          type: TABELLA_TYPE_TEXT, reserved: 0, integer: 0, real: 0, bytes: strings(text)))
    ])
    edit.cell_count = 1
    return try withExtendedLifetime(strings) {
      try commit([edit], version: version, flags: flags)
    }
  }

  func follow() throws -> EmbedFollower {
    var out: OpaquePointer?
    try embed { library.follow(raw, &out, $0) }
    return EmbedFollower(out!)
  }

  func cancel() { library.cancel(raw) }
}

/// An edit of libtabella.
final class EmbedEdit {
  private(set) var raw: tabella_embed_edit

  init(_ raw: tabella_embed_edit) { self.raw = raw }

  deinit { raw.result.release?(&raw.result) }

  var receipt: String? { raw.receipt.bytes == nil ? nil : String(raw.receipt) }
  var codes: [Int32] {
    UnsafeBufferPointer(start: raw.result.outcomes, count: Int(raw.result.outcome_count)).map(
      \.code)
  }
}

/// A follower of libtabella.
final class EmbedFollower {
  let raw: OpaquePointer
  private let library = EmbedLibrary.shared

  init(_ raw: OpaquePointer) { self.raw = raw }

  deinit { library.releaseFollower(raw) }

  /// The changes as text: `insert 0:1`.
  func pull() throws -> [String] {
    var changes = tabella_changes()
    try embed { library.pull(raw, &changes, $0) }
    defer { changes.release?(&changes) }
    #expect(changes.flags == 0)
    let names = ["", "insert", "delete", "move", "reload", "reconfigure"]
    return UnsafeBufferPointer(start: changes.changes, count: Int(changes.change_count)).map {
      let path = $0.kind == TABELLA_CHANGE_INSERT ? $0.to : $0.from
      return "\(names[Int($0.kind)]) \(path.section):\(path.row)"
    }
  }

  func listen(_ notify: tabella_notify?, _ context: UnsafeMutableRawPointer? = nil) throws {
    try embed { library.listen(raw, notify, context, $0) }
  }
}
