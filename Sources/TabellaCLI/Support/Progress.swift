import CTabellaSystem
import Synchronization
import Tabella
import TabellaHost
import TabellaSystem
import TabellaTerminal
import TabellaThreads

/// Shows the progress of work that takes longer than half a second, on standard error, if that is a terminal.
///
/// A separate thread draws the line, because a provider can spend a long time in one call. `/proc/self/io` shows
/// how much of a file the process has read, in any provider. The number of written rows shows the progress of
/// the output.
enum Progress {
  private struct State {
    var subject = ""
    /// Seconds.
    var began = 0.0
    /// The size of the files to read, and the bytes read before the work began; nil if not all locations are files.
    var files: (size: Int, before: Int)?
    var isDrawn = false
    /// The number of this work. A thread of earlier work draws nothing.
    var number = 0
    var isOver = true
  }

  private static let state = Mutex(State())
  private static let rowsDone = Atomic(0)
  private static let rowsInAll = Atomic(0)
  /// The number of rows that a view has read to arrange them.
  private static let rowsArranged = Atomic(0)
  /// The time until the first line, and between two lines, in nanoseconds.
  private static let times = (patience: 500_000_000 as UInt64, pause: 100_000_000 as UInt64)

  /// Begins to show the progress of work on some locations.
  static func begin(_ locations: [Location]) {
    guard isPossible else { return }
    let sizes = locations.map { fileSize($0) }
    let number = state.withLock { state in
      state.files = sizes.contains(nil) ? nil : (sizes.reduce(0) { $0 + $1! }, bytesRead())
      return begin(locations.map(\.description).joined(separator: " "), since: now(), &state)
    }
    startThread(number)
  }

  /// Begins to show a step of work that began at a time, or shows it instead of the step before.
  static func begin(_ step: String, since start: Double) {
    guard isPossible else { return }
    let number = state.withLock { state -> Int? in
      guard state.isOver else {
        state.subject = step
        return nil
      }
      state.files = nil
      return begin(step, since: start, &state)
    }
    if let number { startThread(number) }
  }

  /// Whether standard error is a terminal that can show a line again and again.
  private static var isPossible: Bool {
    isatty(2) == 1 && !Messages.isHeld && environment("TERM").map { $0 != "dumb" } ?? false
  }

  private static func begin(_ subject: String, since start: Double, _ state: inout State) -> Int {
    state.subject = subject
    state.began = start
    state.isOver = false
    state.number += 1
    return state.number
  }

  /// Reports the number of rows that a view has read and passed on.
  static func passed(_ rows: Int) {
    if rowsInAll.load(ordering: .relaxed) == 0 { rowsDone.store(rows, ordering: .relaxed) }
  }

  /// Reports the number of rows that a view has read before it can show the first one.
  static func arranged(_ rows: Int) {
    rowsDone.store(rows, ordering: .relaxed)
    rowsArranged.store(rows, ordering: .relaxed)
  }

  /// Reports the number of written rows, and their total number if it is known.
  static func written(_ rows: Int, of total: Int?) {
    rowsDone.store(rows, ordering: .relaxed)
    let total = total ?? rowsArranged.load(ordering: .relaxed)
    rowsInAll.store(rows <= total ? total : 0, ordering: .relaxed)
  }

  /// Clears the line. Nothing is drawn after this call.
  static func end() {
    state.withLock { state in
      if state.isOver { return }
      state.isOver = true
      if state.isDrawn { Messages.send("\r\u{1B}[K") }
      state.isDrawn = false
      tabella_system_has_progress_line(false)
    }
  }

  private static func startThread(_ number: Int) {
    let thread = SystemThread {
      Progress.sleep(Progress.times.patience)
      while Progress.draw(number) { Progress.sleep(Progress.times.pause) }
    }
    thread?.detach()
  }

  /// Draws the line, unless the work is over.
  private static func draw(_ number: Int) -> Bool {
    state.withLock { state in
      guard !state.isOver, state.number == number else { return false }
      var size = winsize()
      let width =
        ioctl(2, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0 ? Int(size.ws_col) - 1 : 79
      tabella_system_has_progress_line(true)
      state.isDrawn = true
      Messages.send("\r\(line(state, width: width))\u{1B}[K")
      return true
    }
  }

  private static func line(_ state: State, width: Int) -> SafeText {
    let seconds = now() - state.began
    let rows = rowsDone.load(ordering: .relaxed)
    let total = rowsInAll.load(ordering: .relaxed)
    var facts: SafeText = ""
    if total > 0 {
      facts = share(Double(rows) / Double(total), seconds)
      facts.append("  \(rows) of \(total) rows, \(rate(Double(rows) / seconds)) rows/s")
    } else if let (size, before) = state.files, size > 0, bytesRead() - before <= size + size / 16 {
      // Parts of a file are read twice, to detect its format.
      let read = min(bytesRead() - before, size)
      facts = share(Double(read) / Double(size), seconds)
      facts.append("  \(Readable.bytes(Int64(read))) of \(Readable.bytes(Int64(size)))")
      facts.append(", \(Readable.bytes(Int64(Double(read) / seconds)))/s")
    } else if rows > 0, rows != rowsArranged.load(ordering: .relaxed) {
      facts = "\(rows) rows, \(rate(Double(rows) / seconds)) rows/s, \(Int(seconds)) s so far"
    } else {
      facts = rows > 0 ? "sorting \(rows) rows, " : ""
      facts.append("\(Int(seconds)) s so far")
    }
    let room = max(0, width - facts.width - 2)
    let line: SafeText = "\(SafeText(state.subject).fitted(to: room))  \(facts)"
    return line.fitted(to: width)
  }

  /// `45%, 3 s left`.
  private static func share(_ share: Double, _ seconds: Double) -> SafeText {
    let share = min(max(share, 0), 1)
    let left = share > 0 ? seconds / share - seconds : .infinity
    let percent: SafeText = "\(Int(share * 100))%"
    guard left < 1e6 else { return percent }
    return percent
      + (left < 100 ? ", \(Int(left.rounded(.up))) s left" : ", \(Int(left / 60)) min left")
  }

  private static func rate(_ value: Double) -> String {
    value < 10_000 ? "\(Int(value))" : Readable.count(value)
  }

  private static func sleep(_ nanoseconds: UInt64) {
    var time = timespec(tv_sec: 0, tv_nsec: Int(nanoseconds))
    nanosleep(&time, nil)
  }

  /// The size of the regular file at a path, or of standard input if that is one.
  private static func fileSize(_ location: Location) -> Int? {
    let path = location.isStandardInput ? Array("/dev/stdin".utf8) : location.bytes
    guard let status = stat(at: path), status.kind == S_IFREG else { return nil }
    return Int(status.st_size)
  }

  /// The number of bytes that the process has read since its start.
  private static func bytesRead() -> Int { TransferredBytes().map { Int($0.read) } ?? 0 }
}
