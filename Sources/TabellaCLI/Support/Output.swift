import Glibc
import Tabella
import TabellaSystem
import TabellaTerminal

/// Buffered standard output. Output that is longer than the screen of a terminal goes to the pager.
final class Output {
  private(set) var screen: Screen
  private let descriptor: Int32
  private static let capacity = 1 << 17
  private var buffer: UnsafeMutableRawBufferPointer
  /// Whether the buffer keeps everything that is written.
  private let keepsAll: Bool
  private var filled = 0
  /// The pager to start when the screen is full. Until then the output is held back.
  private var pendingPager: Pager.Choice?
  private var pager: Pager?
  /// The number of terminal lines that were written, with wrapped lines, and the width of the last one.
  private var lines = 0
  private var lineLength = 0
  /// The number of lines at the top that a pager keeps in view.
  private var keptLines = 0

  /// The lines of a frame, if the output is not written anywhere.
  private let frame: FrameLines?
  /// Whether the lines form a frame for a part of a screen.
  var isFrame: Bool { frame != nil }

  /// Begins rows on the next line, for a frame. Their lines have the mark until ``endRows()``.
  func beginRows(_ count: Int = 1, mark: RowMark? = nil) {
    frame?.beginRows(count)
    frame?.mark = mark
  }

  /// Ends rows: the lines that follow have no mark.
  func endRows() { frame?.mark = nil }

  /// Creates an output for standard output or another descriptor, and examines it unless its screen is known.
  init(descriptor: Int32 = 1, screen: Screen? = nil) {
    self.descriptor = descriptor
    self.screen = screen ?? Screen(descriptor: descriptor)
    buffer = Output.buffer(Output.capacity)
    (frame, keepsAll) = (nil, false)
  }

  /// Creates an output whose lines form a frame for a part of a screen.
  init(_ frame: FrameLines, screen: Screen) {
    descriptor = -1
    self.screen = screen
    buffer = Output.buffer(Output.capacity)
    (self.frame, keepsAll) = (frame, false)
  }

  /// Creates an output in memory, for another output that is no terminal. It has room for about `size` bytes, and grows.
  init(keepingAllFor other: Output, size: Int) {
    descriptor = -1
    buffer = Output.buffer(size + Output.capacity)
    screen = other.screen
    (frame, keepsAll) = (nil, true)
  }

  /// Writes what an output in memory keeps, and empties it.
  func write(_ kept: Output) throws(Failure) {
    precondition(kept.keepsAll, "only an output in memory keeps everything")
    try put(UnsafeRawBufferPointer(rebasing: kept.buffer[..<kept.filled]))
    kept.filled = 0
  }

  private static func buffer(_ size: Int) -> UnsafeMutableRawBufferPointer {
    .allocate(byteCount: size, alignment: 64)
  }

  deinit { buffer.deallocate() }

  /// The descriptor whose reader can leave.
  var reader: Int32 { descriptor }

  /// Applies the display options from here on.
  func adopt(_ display: DisplayOptions) {
    WidthRules.current = WidthRules(ambiguousIsWide: display.ambiguousIsWide)
    screen.adopt(display)
    if display.pages, screen.canPage { pendingPager = Pager.preferred }
  }

  /// Whether the output is a terminal. Then every format is made safe to print.
  var isTerminal: Bool { screen.isTerminal }

  /// Whether more lines were written than the screen has, without a pager.
  var hasScrolled: Bool {
    guard pager == nil, let height = screen.height else { return false }
    return lines >= height
  }

  /// Makes the lines written so far stay at the top of a pager that can do so.
  func keepLinesAbove() {
    if let height = screen.height, lines < height / 2 { keptLines = lines }
  }

  /// Writes text that is safe to print.
  func write(_ text: SafeText) throws(Failure) {
    var string = text.string
    try string.withUTF8Bytes { bytes throws(Failure) in try put(bytes) }
  }

  /// Writes a number in decimal digits.
  func write(_ number: Int) throws(Failure) {
    let result = withUnsafeTemporaryAllocation(byteCount: Int64.longestText, alignment: 8) {
      place in
      Result { () throws(Failure) in
        let count = Int64(number).write(to: place.baseAddress!)
        try put(UnsafeRawBufferPointer(rebasing: place[..<count]))
      }
    }
    try result.get()
  }

  /// Writes JSON, whose own escapes make it safe to print.
  func write(json: [UInt8]) throws(Failure) { try write(safe: json) }

  /// Writes bytes of text that is safe to print.
  func write(safe bytes: [UInt8]) throws(Failure) {
    try bytes.withRawBytes { bytes throws(Failure) in try put(bytes) }
  }

  func write(json: JSONValue) throws(Failure) {
    var text: [UInt8] = []
    json.append(to: &text)
    try write(json: text + [10])
  }

  /// Writes bytes unchanged. On a terminal the parts between the separators are made safe and form one line.
  func write(line bytes: UnsafeRawBufferPointer, separator: UInt8? = nil) throws(Failure) {
    if isTerminal {
      var rest = bytes[...]
      while let separator, let end = rest.firstIndex(of: separator) {
        try write(SafeText(bytes: UnsafeRawBufferPointer(rebasing: rest[..<end])))
        try write(safe: [separator])
        rest = rest[(end + 1)...]
      }
      try write(SafeText(bytes: UnsafeRawBufferPointer(rebasing: rest)))
    } else {
      try put(bytes)
    }
    try write("\n")
  }

  func write(line bytes: [UInt8], separator: UInt8? = nil) throws(Failure) {
    try bytes.withRawBytes { bytes throws(Failure) in
      try write(line: bytes, separator: separator)
    }
  }

  /// Writes bytes unchanged. The output must not be a terminal.
  func write(data bytes: UnsafeRawBufferPointer) throws(Failure) {
    precondition(!isTerminal, "bytes as they are never reach a terminal")
    try put(bytes)
  }

  func write(data bytes: [UInt8]) throws(Failure) {
    try bytes.withRawBytes { bytes throws(Failure) in try write(data: bytes) }
  }

  private func put(_ bytes: UnsafeRawBufferPointer) throws(Failure) {
    if let frame { return frame.add(bytes) }
    if isTerminal { count(bytes) }
    if keepsAll { grow(for: bytes.count) }
    // Large pieces are sent without a copy.
    let isLarge = !keepsAll && pendingPager == nil && bytes.count >= Output.capacity / 4
    if isLarge || bytes.count > buffer.count - filled { try send() }
    if isLarge || bytes.count > buffer.count { return try send(bytes) }
    UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]).copyMemory(from: bytes)
    filled += bytes.count
    if pendingPager != nil, lines >= screen.height ?? .max { try send() }
  }

  /// The maximum room of one call of ``write(room:_:)``, in bytes.
  static let room = capacity

  /// Lets `body` write into the buffer. `body` gets room for that many bytes and returns the number of bytes
  /// that it wrote. The output must not be a terminal.
  func write(
    room: Int, _ body: (UnsafeMutableRawPointer) -> Int
  ) throws(Failure) {
    precondition(!isTerminal, "bytes as they are never reach a terminal")
    if keepsAll { grow(for: room) }
    if room > buffer.count - filled { try send() }
    if let frame {
      let count = body(buffer.baseAddress!)
      return frame.add(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    }
    filled += body(buffer.baseAddress! + filled)
  }

  /// Writes rows in groups, directly into the buffer. `room` is the number of bytes that some rows need at most, and `body`
  /// writes them and returns the number of bytes. `apart` writes a row that does not fit into the buffer or goes to a
  /// terminal.
  func write(
    rows count: Int, room: (Range<Int>) -> Int,
    body: (Range<Int>, UnsafeMutableRawPointer) -> Int,
    apart: (Int, _ room: Int) throws(Failure) -> Void
  ) throws(Failure) {
    var first = 0
    while first < count {
      var rows = first..<min(first + 64, count)
      while rows.count > 1, room(rows) > Output.room {
        rows = first..<first + rows.count / 2
      }
      let size = room(rows)
      if isTerminal || size > Output.room {
        try apart(first, room(first..<first + 1))
        first += 1
      } else {
        try write(room: size) { body(rows, $0) }
        first = rows.upperBound
      }
    }
  }

  /// Makes room for more bytes in a buffer that keeps everything.
  private func grow(for count: Int) {
    guard count > buffer.count - filled else { return }
    let grown = UnsafeMutableRawBufferPointer.allocate(
      byteCount: max(2 * buffer.count, filled + count), alignment: 64)
    grown.copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[..<filled]))
    buffer.deallocate()
    buffer = grown
  }

  /// Sends the buffer, unless the output is held back until the screen is full.
  func flush() throws(Failure) {
    if pendingPager == nil, !keepsAll { try send() }
  }

  /// Sends the buffer even if it is held back. A pager does not start afterwards.
  func sendNow() throws(Failure) {
    if filled > 0 { pendingPager = nil }
    try send()
  }

  /// Sends a frame at once. Its text is safe to print, and its escape sequences draw it on a whole screen.
  func show(_ frame: [UInt8]) throws(Failure) {
    try frame.withRawBytes { bytes throws(Failure) in try send(bytes) }
  }

  /// Sends everything and waits until the pager ends. Do not write after this call.
  func finish() throws(Failure) {
    pendingPager = nil
    try send()
    guard let pager else { return }
    self.pager = nil
    if let trouble = pager.wait() {
      throw Failure(status: .failed, subject: "pager", code: "io", message: trouble)
    }
  }

  /// Counts lines as a terminal wraps them. Characters without width can make the count too large.
  private func count(_ bytes: UnsafeRawBufferPointer) {
    let width = screen.width ?? 80
    var rest = bytes[...]
    while let end = rest.firstIndex(of: 10) {
      lines += 1 + max(0, lineLength + end - rest.startIndex - 1) / width
      lineLength = 0
      rest = rest[(end + 1)...]
    }
    lineLength += rest.count
  }

  /// Sends the buffer. If it is longer than the screen, starts the pager first.
  private func send() throws(Failure) {
    if let choice = pendingPager {
      pendingPager = nil
      Progress.end()
      pager = Pager(choice, keptLines: keptLines)
    }
    let count = filled
    filled = 0
    try send(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
  }

  private func send(_ bytes: UnsafeRawBufferPointer) throws(Failure) {
    if isTerminal, !bytes.isEmpty { Progress.end() }
    var sent = 0
    while sent < bytes.count {
      let receiver = pager?.input ?? descriptor
      let result = Glibc.write(receiver, bytes.baseAddress! + sent, bytes.count - sent)
      if result >= 0 {
        sent += result
      } else if errno == EPIPE {
        throw readerLeft()
      } else if errno == EAGAIN {
        // Another program that has the same pipe made it non-blocking.
        waitForRoom(receiver)
      } else if errno != EINTR {
        throw Failure(
          status: .failed, subject: "standard output", code: "io",
          message: "cannot be written: \(errorText(errno))")
      }
    }
  }

  /// The failure if the reader of the output ended. Leaving a pager is normal, so the status is 0; without a
  /// pager the status is that of SIGPIPE. The failure is thrown, so that notices and workers end properly.
  private func readerLeft() -> Failure {
    guard let pager else { return .readerLeft(.brokenPipe) }
    self.pager = nil
    if let trouble = pager.wait() {
      return Failure(status: .failed, subject: "pager", code: "io", message: trouble)
    }
    return .readerLeft(.done)
  }
}

extension String {
  /// Calls `body` with the UTF-8 of the string.
  fileprivate mutating func withUTF8Bytes(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Void
  ) throws(Failure) {
    let result = withUTF8 { utf8 in
      Result { () throws(Failure) in try body(UnsafeRawBufferPointer(utf8)) }
    }
    try result.get()
  }
}

extension [UInt8] {
  fileprivate func withRawBytes(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Void
  ) throws(Failure) {
    let result = withUnsafeBytes { bytes in
      Result { () throws(Failure) in try body(bytes) }
    }
    try result.get()
  }
}
