import CTabellaSystem
import Glibc
import Tabella
import TabellaSystem
import TabellaTerminal

/// `--watch`: redraws a table in place, when it changes or at an interval.
///
/// If the table fails, the last rows stay, and the closing line has the error until another attempt succeeds.
struct Watching {
  /// The interval of attempts without another one, and the minimum time between two frames, in seconds.
  private static let times = (interval: 2.0, spacing: 0.1)
  /// The number of attempts to draw a table that changes while it is drawn.
  private static let attempts = 3

  private let invocation: Invocation
  private let output: Output
  private let interval: Double?
  private let wakeUp: WakeUp
  private let open: WatchedTable.Opening
  private var screen: Screen
  private var watched: WatchedTable
  private var marks = RowMarks()
  private var frame: WatchFrame
  /// The time of the data.
  private var time = Timestamp.now
  /// An error, or a remark about the data.
  private var note: SafeText?
  /// Whether the table must be opened again.
  private var hasFailed = false
  /// The time of the next refresh; nil if only a change leads to one.
  private var due: Double?
  private var lastFrame = 0.0
  private var readsKeys = false

  /// Watches the table that `open` opens until the user leaves.
  static func run(
    _ invocation: Invocation, _ output: Output, interval: Double?,
    opening open: @escaping WatchedTable.Opening
  ) throws(Failure) -> ExitStatus {
    let wakeUp = try WakeUp()
    var watching = try Watching(invocation, output, interval, wakeUp, open)
    Messages.hold()
    tabella_system_begin_screen(output.reader, wakeUp.handlersEnd)
    defer {
      tabella_system_end_screen()
      Messages.release()
    }
    try watching.loop()
    return .done
  }

  /// Opens the table. If that fails, the command fails, too.
  private init(
    _ invocation: Invocation, _ output: Output, _ interval: Double?, _ wakeUp: WakeUp,
    _ open: @escaping WatchedTable.Opening
  ) throws(Failure) {
    self.invocation = invocation
    self.output = output
    self.interval = interval
    self.wakeUp = wakeUp
    self.open = open
    screen = Watching.screen(invocation)
    watched = try WatchedTable(open)
    frame = try WatchFrame(of: watched.table, invocation, marks: marks, on: screen)
  }

  /// The terminal with its present size.
  private static func screen(_ invocation: Invocation) -> Screen {
    var screen = Screen()
    screen.adopt(invocation.display)
    return screen
  }

  private mutating func loop() throws(Failure) {
    readsKeys = tabella_system_screen_has_keys()
    try show()
    attempt { watching throws(Failure) in try watching.begin() }
    while true {
      let reasons = wakeUp.wait(until: due, output: output.reader, keys: readsKeys)
      if reasons.contains(.readerLeft) { throw .readerLeft(.brokenPipe) }
      if reasons.contains(.keys), try readKeys() { return }
      if reasons.contains(.redraw) {
        screen = Watching.screen(invocation)
        attempt { watching throws(Failure) in try watching.draw() }
        try show()
      }
      if reasons.contains(.changes), interval == nil {
        due = min(due ?? .infinity, max(now(), lastFrame + Watching.times.spacing))
      }
      guard let time = due, now() >= time else { continue }
      try refresh()
    }
  }

  /// Reads typed keys. Returns whether the user wants to leave.
  private mutating func readKeys() throws(Failure) -> Bool {
    var keys = [UInt8](repeating: 0, count: 64)
    let count = read(0, &keys, keys.count)
    if count <= 0 { readsKeys = false }
    return keys.prefix(max(0, count)).contains { $0 | 0x20 == UInt8(ascii: "q") }
  }

  /// Begins to wait for changes of the opened table.
  private mutating func begin() throws(Failure) {
    due = nil
    if watched.reportsChanges, interval == nil {
      try watched.listen { [wakeUp] in wakeUp.notify() }
      // Finds the changes since the opening.
      wakeUp.notify()
    } else {
      due = now() + (interval ?? Watching.times.interval)
    }
    try watched.remember()
  }

  /// Moves to the newest version of the table, and draws it if something changed.
  private mutating func refresh() throws(Failure) {
    let start = now()
    due = nil
    attempt { watching throws(Failure) in try watching.move() }
    try show()
    lastFrame = now()
    if hasFailed || !watched.reportsChanges || interval != nil {
      // Reading takes at most half of the time.
      due = now() + max(interval ?? Watching.times.interval, lastFrame - start)
    }
  }

  private mutating func move() throws(Failure) {
    if hasFailed {
      watched = try WatchedTable(open)
      marks = RowMarks()
      try draw()
      hasFailed = false
      note = nil
      try begin()
      return
    }
    let before = watched.rowCounts
    let (next, changes) = try watched.refreshed()
    let isNew = next !== watched
    watched = next
    note = nil
    if let changes, !changes.isEmpty {
      marks = try Failure.about(next.table.subject) { () throws(TableError) in
        try RowMarks(changes, rowsBefore: before, rowsAfter: next.rowCounts)
      }
    } else if changes == nil {
      marks = RowMarks()
    }
    try draw()
    if isNew { try begin() }
  }

  /// Draws the present rows. If they cannot be read any more, draws those of the newest version.
  private mutating func draw() throws(Failure) {
    for attempt in 1...Watching.attempts {
      do throws(Failure) {
        frame = try WatchFrame(of: watched.table, invocation, marks: marks, on: screen)
        time = .now
        return
      } catch {
        guard error.status == .conflict, attempt < Watching.attempts else { throw error }
        watched = try watched.refreshed().table
        marks = RowMarks()
      }
    }
  }

  /// Runs a part that can fail. A failure becomes the closing line, and the next refresh opens the table again.
  private mutating func attempt(_ body: (inout Watching) throws(Failure) -> Void) {
    do throws(Failure) {
      try body(&self)
      // A provider can have ever new remarks.
      for _ in 0..<Messages.remarkLimit {
        guard let diagnostic = watched.table.source.diagnostics?.nextDiagnostic() else { break }
        note = SafeText(diagnostic.message)
      }
    } catch {
      note = SafeText(error.message)
      hasFailed = true
      due = due ?? now() + (interval ?? Watching.times.interval)
    }
  }

  /// Sends the frame to the terminal with one write.
  private func show() throws(Failure) {
    try output.show(
      frame.bytes(on: screen, note: note, at: time, hasKeys: readsKeys))
  }
}
