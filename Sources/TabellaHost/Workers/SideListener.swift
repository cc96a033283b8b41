import CTabellaSystem
import Synchronization
import Tabella
import TabellaConfinement
import TabellaFiles
import TabellaRemote

/// The thread that reads what a worker says beside its calls: notifications, log, denials, and whatever
/// it prints. It also watches what the worker uses. Owns the descriptors that it is given.
final class SideListener: @unchecked Sendable {
  private let side: Int32
  private let streams: [Int32]
  /// A pipe that is written to when the thread is to end.
  private var wake: [Int32] = [-1, -1]
  private let capture: OutputCapture
  private let watch: @Sendable () -> Void
  private let count = Atomic(0)
  private var thread: pthread_t?
  /// Not kept alive by the thread: the session keeps the worker, which ends the thread.
  private weak var session: RemoteSession?

  /// Milliseconds from one call of `watch` to the next.
  private static let interval: Int32 = 50

  /// `watch` is called by the thread twenty times a second.
  init(
    side: Int32, output: Int32, errors: Int32, capture: OutputCapture,
    watch: @escaping @Sendable () -> Void
  ) {
    self.side = side
    streams = [output, errors]
    self.capture = capture
    self.watch = watch
    _ = tabella_system_make_pipe(&wake)
  }

  deinit { for file in streams + wake + [side] where file >= 0 { close(file) } }

  /// How many lines and messages came.
  var signs: Int { count.load(ordering: .relaxed) }

  func begin(_ session: RemoteSession) {
    self.session = session
    var made = pthread_t()
    let context = Unmanaged.passRetained(self)
    let result = pthread_create(
      &made, nil,
      { context in
        Unmanaged<SideListener>.fromOpaque(context!).takeRetainedValue().run()
        return nil
      }, context.toOpaque())
    if result == 0 { thread = made } else { context.release() }
  }

  /// Ends the thread once everything that was said is read; the second call does nothing.
  func stop() {
    guard let thread else { return }
    self.thread = nil
    var byte: UInt8 = 1
    write(wake[1], &byte, 1)
    // The last use of a worker may end in what it calls.
    if pthread_equal(thread, pthread_self()) == 0 {
      pthread_join(thread, nil)
    } else {
      pthread_detach(thread)
    }
  }

  private func run() {
    var files = ([wake[0], side] + streams).map {
      pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
    }
    var isEnding = false
    // What is there when the end is near is still read, as far as pipes hold it.
    var rounds = 64
    var lastWatch = now()
    while rounds > 0 {
      if isEnding { rounds -= 1 }
      let wait = isEnding ? 0 : SideListener.interval
      guard poll(&files, UInt(files.count), wait) > 0 || !isEnding else { break }
      // Also while there is always something to be read.
      if !isEnding, now() - lastWatch > 0.9 * Double(SideListener.interval) / 1000 {
        watch()
        lastWatch = now()
      }
      var cameAnything = false
      if files[1].revents != 0 {
        if readSide() { cameAnything = true } else { files[1].fd = -1 }
      }
      for stream in streams.indices where files[stream + 2].revents != 0 {
        if readStream(stream) { cameAnything = true } else { files[stream + 2].fd = -1 }
      }
      if isEnding, !cameAnything { break }
      if files[0].revents != 0 {
        isEnding = true
        files[0].fd = -1
      }
    }
    capture.finish()
  }

  private func readSide() -> Bool {
    switch SideMessage.receive(from: side, waiting: false) {
    case .message(.notify(let source)): session?.sourceNotified(source)
    case .message(.log(_, let text)): capture.tell(.logged, text)
    case .message(.denial(let record)): tell(record.withUnsafeBytes { Denial($0) })
    case .message(.cancel), .rubbish, .nothing: break
    case .closed: return false
    }
    count.wrappingAdd(1, ordering: .relaxed)
    return true
  }

  /// Passes on what the confinement refused; not what no process of this user could do.
  private func tell(_ denial: Denial?) {
    guard let denial, !denial.isByMode else { return }
    capture.tell(.denied, Array(denial.description.utf8))
  }

  private func readStream(_ stream: Int) -> Bool {
    withUnsafeTemporaryAllocation(byteCount: 65536, alignment: 1) { buffer in
      let got = read(streams[stream], buffer.baseAddress, buffer.count)
      if got < 0, errno == EINTR || errno == EAGAIN { return true }
      guard got > 0 else { return false }
      capture.take(UnsafeRawBufferPointer(rebasing: buffer[..<got]), stream: stream)
      return true
    }
  }
}
