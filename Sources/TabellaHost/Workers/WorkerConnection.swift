import CTabellaSystem
import Tabella
import TabellaRemote
import TabellaSystem

/// Two descriptors that are connected with each other: the ends of a pipe or of a pair of sockets.
struct DescriptorPair: ~Copyable {
  /// The first end: the reading end of a pipe.
  let first: Descriptor
  /// The second end: the writing end of a pipe.
  let second: Descriptor

  /// Takes over the pair that `make` creates; it returns 0 or -errno. Returns nil with `errno` set on failure.
  init?(_ make: (UnsafeMutablePointer<Int32>) -> Int32) {
    var ends: [Int32] = [-1, -1]
    let result = make(&ends)
    guard result == 0 else {
      errno = -result
      return nil
    }
    first = Descriptor(owning: ends[0])
    second = Descriptor(owning: ends[1])
  }

  /// Takes over the pair that `make` creates for a worker. Throws `TableError` on failure.
  init(forWorker make: (UnsafeMutablePointer<Int32>) -> Int32) throws(TableError) {
    guard let pair = DescriptorPair(make) else {
      throw .system(errno, "a worker cannot be connected")
    }
    self = pair
  }
}

/// The ends of the connections between a host and a worker that one of the two has.
struct WorkerEnds: ~Copyable {
  /// The socket for calls.
  let main: Descriptor
  /// The socket for messages outside of calls.
  let side: Descriptor
  /// The pipe of the worker's standard output.
  let output: Descriptor
  /// The pipe of the worker's standard error.
  let errors: Descriptor

  /// Starts the worker with its ends, and closes them here. `input` is its standard input. The caller keeps the other
  /// descriptors. Throws `.noProvider` if that fails.
  consuming func start(
    _ program: String, input: Int32, arena: SharedMemory, library: Int32, dataFolder: [UInt8]?
  ) throws(TableError) -> WorkerProcess {
    try WorkerProcess(
      program: program,
      files: [input, output.raw, errors.raw, main.raw, side.raw, arena.descriptor, library],
      dataFolder: dataFolder)
  }
}

/// The connections between a host and a worker.
struct WorkerConnection: ~Copyable {
  /// The ends of the host.
  let host: WorkerEnds
  /// The ends of the worker.
  let worker: WorkerEnds

  /// Creates all connections. Throws `TableError` on failure.
  init() throws(TableError) {
    let main = try DescriptorPair(forWorker: tabella_system_make_sockets)
    let side = try DescriptorPair(forWorker: tabella_system_make_sockets)
    let output = try DescriptorPair(forWorker: tabella_system_make_pipe)
    let errors = try DescriptorPair(forWorker: tabella_system_make_pipe)
    host = WorkerEnds(
      main: main.first, side: side.first, output: output.first, errors: errors.first)
    worker = WorkerEnds(
      main: main.second, side: side.second, output: output.second, errors: errors.second)
  }
}
