import Synchronization
import Tabella

/// An opened source that several tables can share: the source itself, views of it, joins with it.
///
/// It counts how often a table moved the source to another version, and passes notices of changes to all listeners. A
/// source has only one listener itself.
final class SharedSource {
  let source: any TableDataSource
  /// The number of times that a commit or a pull has moved the source.
  fileprivate(set) var moves = 0
  private let listeners = Listeners()
  private var isListening = false

  init(_ source: any TableDataSource) { self.source = source }

  /// Adds a listener. Returns its number.
  func add(_ notify: @escaping @Sendable () -> Void) throws(TableError) -> Int {
    let number = listeners.add(notify)
    guard !isListening else { return number }
    do throws(TableError) {
      try source.changes?.listen { [listeners] in listeners.notify() }
      isListening = true
    } catch {
      _ = listeners.remove(number)
      throw error
    }
    return number
  }

  /// Removes a listener. It does not run any more once this method returns.
  func remove(_ number: Int) {
    guard listeners.remove(number), isListening else { return }
    try? source.changes?.listen(nil)
    isListening = false
  }
}

/// Functions that any thread calls.
private final class Listeners: Sendable {
  private struct State {
    var functions: [Int: @Sendable () -> Void] = [:]
    var next = 0
  }

  private let state = Mutex(State())

  func add(_ function: @escaping @Sendable () -> Void) -> Int {
    state.withLock { state in
      state.next += 1
      state.functions[state.next] = function
      return state.next
    }
  }

  /// Removes a function, after its running call. Returns whether none is left.
  func remove(_ number: Int) -> Bool {
    state.withLock { state in
      state.functions[number] = nil
      return state.functions.isEmpty
    }
  }

  func notify() {
    state.withLock { state in
      for function in state.functions.values { function() }
    }
  }
}

/// The version that a table shows, among the tables that share its sources.
///
/// A table is current until another table moves one of the sources.
final class Position {
  let sources: [SharedSource]
  private var seen: Int

  init(_ sources: [SharedSource]) {
    self.sources = sources
    seen = 0
    seen = stamp
  }

  /// A number that grows with each move of a source.
  var stamp: Int { sources.reduce(0) { $0 + $1.moves } }

  var isCurrent: Bool { seen == stamp }

  /// Notes that this table moved its sources, so that other tables are no longer current.
  func move() {
    for source in sources { source.moves += 1 }
    seen = stamp
  }

  /// Notes that this table shows the version to which others moved the sources.
  func catchUp() { seen = stamp }

  /// Runs a pull of a table, and notes whether it moved the sources or showed the table where they are.
  func pulling(
    _ pull: () throws(TableError) -> ChangeBatch
  ) throws(TableError) -> ChangeBatch {
    let versions = versions
    let changes: ChangeBatch
    do throws(TableError) { changes = try pull() } catch {
      if versions != self.versions { move() }
      throw error
    }
    // A list of changes alone does not mean that the sources moved: an edit can have moved them before.
    let isMoved = versions.contains(nil) ? changes.changes != [] : versions != self.versions
    if isMoved { move() } else { catchUp() }
    return changes
  }

  /// The versions of the sources.
  private var versions: [Version?] { sources.map { (try? $0.source.version()) ?? nil } }

  /// Throws ``TableError`` with `.conflict` if another table has moved a source.
  func check() throws(TableError) {
    guard isCurrent else {
      throw TableError(
        .conflict,
        "another table of the same source was edited or pulled; pull this table, or open it again")
    }
  }
}
