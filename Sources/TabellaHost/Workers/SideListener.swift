import CTabellaSystem
import Synchronization
import Tabella
import TabellaConfinement
import TabellaFiles
import TabellaRemote
import TabellaSystem
import TabellaThreads

/// The thread that reads a worker's messages outside of calls: notifications, log lines, denials and output.
///
/// It also watches the worker's use of resources. It owns the descriptors that it receives.
final class SideListener: @unchecked Sendable {
  private let side: Descriptor
  private let output: Descriptor
  private let errors: Descriptor
  /// A pipe; nil if there is none. A byte in it asks the thread to end.
  private var wake: DescriptorPair?
  private let capture: OutputCapture
  private let watch: @Sendable () -> Void
  private let count = Atomic(0)
  private var thread: SystemThread?
  /// Weak, because the session owns the worker, which ends the thread.
  private weak var session: RemoteSession?

  /// The time between two calls of `watch`, in milliseconds.
  private static let interval: Int32 = 50

  /// The thread calls `watch` twenty times per second.
  init(
    side: consuming Descriptor, output: consuming Descriptor, errors: consuming Descriptor,
    capture: OutputCapture, watch: @escaping @Sendable () -> Void
  ) {
    self.side = side
    self.output = output
    self.errors = errors
    self.capture = capture
    self.watch = watch
    wake = DescriptorPair(tabella_system_make_pipe)
  }

  /// The socket for messages outside of calls.
  var socket: Int32 { side.raw }

  /// The pipes of the worker's output: standard output and standard error.
  private var streams: [Int32] { [output.raw, errors.raw] }

  /// The number of lines and messages received.
  var signs: Int { count.load(ordering: .relaxed) }

  func begin(_ session: RemoteSession) {
    self.session = session
    thread = SystemThread { self.run() }
  }

  /// Ends the thread after it has read all messages. A second call does nothing.
  func stop() {
    guard let thread else { return }
    self.thread = nil
    var byte: UInt8 = 1
    write(wake?.second.raw ?? -1, &byte, 1)
    // A callback of this thread can release the worker, and then the thread cannot join itself.
    if thread.isCurrent { thread.detach() } else { thread.join() }
  }

  private func run() {
    let streams = streams
    var files = ([wake?.first.raw ?? -1, side.raw] + streams).map {
      pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
    }
    var isEnding = false
    // The thread still reads buffered data, up to the capacity of the pipes.
    var rounds = 64
    var lastWatch = now()
    while rounds > 0 {
      if isEnding { rounds -= 1 }
      let wait = isEnding ? 0 : SideListener.interval
      guard poll(&files, UInt(files.count), wait) > 0 || !isEnding else { break }
      // The clock decides, because `poll` does not time out while data keeps arriving.
      if !isEnding, now() - lastWatch > 0.9 * Double(SideListener.interval) / 1000 {
        watch()
        lastWatch = now()
      }
      var cameAnything = false
      if files[1].revents != 0 {
        if readSide() { cameAnything = true } else { files[1].fd = -1 }
      }
      for stream in streams.indices where files[stream + 2].revents != 0 {
        if read(streams[stream], stream) { cameAnything = true } else { files[stream + 2].fd = -1 }
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
    switch SideMessage.receive(from: side.raw, waiting: false) {
    case .message(.notify(let source)): session?.sourceNotified(source)
    case .message(.log(_, let text)): capture.tell(.logged, text)
    case .message(.denial(let record)): tell(record.withUnsafeBytes { Denial($0) })
    case .message(.cancel), .rubbish, .nothing: break
    case .closed:
      session?.workerEnded()
      return false
    }
    count.wrappingAdd(1, ordering: .relaxed)
    return true
  }

  /// Passes on denials by the confinement. File modes deny the same access to all processes of the user, so those are
  /// left out.
  private func tell(_ denial: Denial?) {
    guard let denial, !denial.isByMode else { return }
    capture.tell(.denied, Array(denial.description.utf8))
  }

  /// Passes a line on. The listener must have stopped.
  func report(_ kind: WorkerOutput.Kind, _ text: [UInt8]) { capture.tell(kind, text) }

  private func read(_ file: Int32, _ stream: Int) -> Bool {
    withUnsafeTemporaryAllocation(byteCount: 65536, alignment: 1) { buffer in
      let got = Glibc.read(file, buffer.baseAddress, buffer.count)
      if got < 0, errno == EINTR || errno == EAGAIN { return true }
      guard got > 0 else { return false }
      capture.take(UnsafeRawBufferPointer(rebasing: buffer[..<got]), stream: stream)
      return true
    }
  }
}
