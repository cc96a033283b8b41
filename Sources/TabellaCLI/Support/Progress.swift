import CTabellaSystem
import Glibc
import Synchronization
import Tabella
import TabellaHost
import TabellaTerminal

/// Tells on standard error, if that is a terminal, how far work is that takes longer than half a second.
///
/// A thread of its own draws it, since a provider may be busy in one call for long. How far a file is
/// read is seen in what the process has read (`/proc/self/io`), whoever reads it and in whatever
/// language; how far the writing is, in the rows written.
enum Progress {
  private struct State {
    var subject = ""
    /// Nanoseconds.
    var began: UInt64 = 0
    /// The size of the files that are read, and what was read before; nil if not all are files.
    var files: (size: Int, before: Int)?
    var isDrawn = false
    /// Each line belongs to a beginning, so that a late thread draws nothing.
    var number = 0
    var isOver = true
  }

  private static let state = Mutex(State())
  private static let rowsDone = Atomic(0)
  private static let rowsInAll = Atomic(0)
  /// How many rows a view had read when it had them all in order.
  private static let rowsArranged = Atomic(0)
  /// Nanoseconds: until the first line, and between two.
  private static let times = (patience: 500_000_000 as UInt64, pause: 100_000_000 as UInt64)

  /// Begins to watch work on the tables at some locations.
  static func begin(_ locations: [Location]) {
    guard isatty(2) == 1, environment("TERM").map({ $0 != "dumb" }) ?? false else { return }
    let sizes = locations.map { fileSize($0) }
    let number = state.withLock { state in
      state.subject = locations.map(\.description).joined(separator: " ")
      state.began = now()
      state.files = sizes.contains(nil) ? nil : (sizes.reduce(0) { $0 + $1! }, bytesRead())
      state.isOver = false
      state.number += 1
      return state.number
    }
    startThread(number)
  }

  /// A view that passes rows on as it reads them has read so many.
  static func passed(_ rows: Int) {
    if rowsInAll.load(ordering: .relaxed) == 0 { rowsDone.store(rows, ordering: .relaxed) }
  }

  /// A view that must have all rows before it shows one has read so many.
  static func arranged(_ rows: Int) {
    rowsDone.store(rows, ordering: .relaxed)
    rowsArranged.store(rows, ordering: .relaxed)
  }

  /// So many rows were written, of so many if that is known.
  static func written(_ rows: Int, of total: Int?) {
    rowsDone.store(rows, ordering: .relaxed)
    let total = total ?? rowsArranged.load(ordering: .relaxed)
    rowsInAll.store(rows <= total ? total : 0, ordering: .relaxed)
  }

  /// Wipes the line; nothing is drawn from here on.
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
    var thread = pthread_t()
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    pthread_create(
      &thread, &attributes,
      { argument in
        let number = Int(bitPattern: argument)
        Progress.sleep(Progress.times.patience)
        while Progress.draw(number) { Progress.sleep(Progress.times.pause) }
        return nil
      }, UnsafeMutableRawPointer(bitPattern: number))
    pthread_attr_destroy(&attributes)
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
    let seconds = Double(now() - state.began) / 1e9
    let rows = rowsDone.load(ordering: .relaxed)
    let total = rowsInAll.load(ordering: .relaxed)
    var facts: SafeText = ""
    if total > 0 {
      facts = share(Double(rows) / Double(total), seconds)
      facts.append("  \(rows) of \(total) rows, \(rate(Double(rows) / seconds)) rows/s")
    } else if let (size, before) = state.files, size > 0, bytesRead() - before <= size + size / 16 {
      // Some of it is read twice, to find out what it is.
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

  /// Nanoseconds of a clock that only goes forward.
  private static func now() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }

  private static func sleep(_ nanoseconds: UInt64) {
    var time = timespec(tv_sec: 0, tv_nsec: Int(nanoseconds))
    nanosleep(&time, nil)
  }

  /// The size of the regular file at a path, or of standard input if that is one.
  private static func fileSize(_ location: Location) -> Int? {
    var status = stat()
    let path = location.bytes == [UInt8(ascii: "-")] ? Array("/dev/stdin".utf8) : location.bytes
    let result = (path + [0]).withUnsafeBufferPointer { path in
      path.withMemoryRebound(to: CChar.self) { stat($0.baseAddress!, &status) }
    }
    return result == 0 && status.st_mode & S_IFMT == S_IFREG ? Int(status.st_size) : nil
  }

  /// How many bytes the process has read since it began.
  private static func bytesRead() -> Int {
    let descriptor = open("/proc/self/io", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return 0 }
    defer { close(descriptor) }
    let text = [UInt8](unsafeUninitializedCapacity: 512) { buffer, count in
      count = max(0, read(descriptor, buffer.baseAddress, 512))
    }
    // `rchar: 123` is the first line.
    let digits = text.drop { !(48...57 ~= $0) }.prefix { 48...57 ~= $0 }
    return Int(String(decoding: digits, as: UTF8.self)) ?? 0
  }
}
