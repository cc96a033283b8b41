import CTabellaSystem
import Glibc
import Synchronization
import Tabella
import TabellaFiles
import TabellaRemote
import TabellaSystem

/// A source in a worker that moves to another worker when another file has taken the name of its location.
///
/// A worker that reads may open only the file that had the name when the worker started. Programs save by renaming a
/// new file, which this worker cannot open. So a pull compares the file with the name. If they differ, it opens the
/// location again, in a worker with the rights for the new file, and says that everything must be read again.
final class RenewedSource: ForwardingSource {
  /// Opens the location in a new worker.
  typealias Opening = () throws(TableError) -> any TableDataSource

  private let path: LastingPath
  private let open: Opening
  private var base: any TableDataSource
  /// The file that the worker of ``base`` may read.
  private var file: stat
  let abilities: AbilitySet
  let hasVolatileOrder: Bool
  let cancellation: (@Sendable () -> Void)?
  private let cancel: Cancel

  private var notify: (@Sendable () -> Void)?
  private var watch: NameWatch?
  /// The file with the name of the location, when the last changes of the old file were asked for.
  private var finished: stat?
  /// The ranges whose display was announced to ``base``.
  private var displayed: [(rows: Range<Int>, section: Int)] = []

  /// Wraps the source of a location that is read. Returns the source itself if it reports no changes, or if the location
  /// is not the path of a regular file.
  ///
  /// `file` is the file with this path before the worker started.
  static func wrapping(
    _ base: any TableDataSource, at path: LastingPath, _ file: stat?,
    opening open: @escaping Opening
  ) -> any TableDataSource {
    guard base.changes != nil, let file, file.kind == S_IFREG else { return base }
    return RenewedSource(base, path, file, open)
  }

  private init(
    _ base: any TableDataSource, _ path: LastingPath, _ file: stat, _ open: @escaping Opening
  ) {
    (self.base, self.path, self.file, self.open) = (base, path, file, open)
    abilities = AbilitySet(of: base)
    hasVolatileOrder = base.hasVolatileOrder
    let cancel = Cancel(base.cancellation)
    self.cancel = cancel
    cancellation =
      if base.cancellation == nil { nil } else { { cancel.run() } }
  }

  deinit { watch?.stop() }

  func call<Answer, each Argument>(
    _ call: Call<Answer, repeat each Argument>, _ argument: repeat each Argument
  ) throws(TableError) -> Answer { try call.make(base, repeat each argument) }

  var columns: [Column] { base.columns }
  var storesEdits: Bool { base.storesEdits }

  // Changes

  func listen(_ notify: (@Sendable () -> Void)?) throws(TableError) {
    watch?.stop()
    watch = nil
    try base.changes?.listen(notify)
    self.notify = notify
    guard let notify else { return }
    watch = try NameWatch(path, notify)
    watch?.rearm(file)
  }

  func pull() throws(TableError) -> ChangeBatch {
    do throws(TableError) {
      let changes = try pullFromNamed()
      watch?.rearm(file)
      return changes
    } catch {
      watch?.rearm(file, hasFailed: true)
      throw error
    }
  }

  private func pullFromNamed() throws(TableError) -> ChangeBatch {
    if let named = stat(at: path.current), !named.isSameFile(as: file) {
      return try move(to: named)
    }
    do throws(TableError) {
      return try pullBase()
    } catch {
      // The source cannot open the file by its name, because the file has none, or because another one has it.
      guard let named = stat(at: path.current) else { return noChanges() }
      guard named.isSameFile(as: file) else { return try move(to: named) }
      throw error
    }
  }

  private func noChanges() -> ChangeBatch {
    let version = try? version()
    return ChangeBatch(from: version, to: version, changes: [])
  }

  private func pullBase() throws(TableError) -> ChangeBatch {
    guard let changes = base.changes else { throw TableError(.misbehaved, "an ability is gone") }
    return try changes.pull()
  }

  /// Moves to another file. The last changes of the old one come first, so that the last lines of a renamed log are
  /// shown.
  private func move(to named: stat) throws(TableError) -> ChangeBatch {
    if finished?.isSameFile(as: named) != true {
      finished = named
      if let rest = try? pullBase(), rest.changes?.isEmpty == false { return rest }
    }
    let old = try? version()
    let source: any TableDataSource
    let new: Version?
    do throws(TableError) {
      source = try open()
      guard AbilitySet(of: source).isSuperset(of: abilities) else {
        throw TableError(
          .conflict,
          "another file has taken the name, and its table has other abilities; open it again")
      }
      // After an error, the source still shows the old file.
      new = try source.version()
      try source.changes?.listen(notify)
    } catch {
      guard error.code == .notFound, stat(at: path.current) == nil else { throw error }
      return noChanges()
    }
    adopt(source, named)
    return ChangeBatch(from: old, to: new, changes: nil)
  }

  private func adopt(_ source: any TableDataSource, _ named: stat) {
    try? base.changes?.listen(nil)
    for (rows, section) in displayed {
      base.display?.didEndDisplaying(rows: rows, inSection: section)
    }
    (displayed, finished) = ([], nil)
    (base, file) = (source, named)
    cancel.set(source.cancellation)
  }

  // Notices are paired for each worker.

  func willDisplay(rows: Range<Int>, inSection section: Int) {
    displayed.append((rows, section))
    base.display?.willDisplay(rows: rows, inSection: section)
  }

  func didEndDisplaying(rows: Range<Int>, inSection section: Int) {
    let index = displayed.firstIndex { $0.rows == rows && $0.section == section }
    guard let index else { return }
    displayed.remove(at: index)
    base.display?.didEndDisplaying(rows: rows, inSection: section)
  }
}

/// The cancellation of a source that can be replaced. Any thread may use it.
private final class Cancel: Sendable {
  private let function: Mutex<(@Sendable () -> Void)?>

  init(_ function: (@Sendable () -> Void)?) { self.function = Mutex(function) }

  func set(_ function: (@Sendable () -> Void)?) { self.function.withLock { $0 = function } }

  func run() { function.withLock { $0 }?() }
}
