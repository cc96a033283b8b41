// The program `tabella-worker`: one provider in a process of its own. Started by a host, never by hand.
//
// Its descriptors: 0 what the provider may read, 1 and 2 pipes to the host, 3 the calls, 4 what is said
// beside them, 5 the shared memory, 6 the library.

import CTabellaSystem
import Tabella
import TabellaBridge
import TabellaConfinement
import TabellaConformance
import TabellaFiles
import TabellaLoading
import TabellaRemote

/// The descriptors that the host gives.
enum Descriptor {
  static let calls: Int32 = 3
  static let side: Int32 = 4
  static let arena: Int32 = 5
  static let library: Int32 = 6
}

/// Ends the process without running anything of the provider's.
func leave(_ status: Int32, _ message: String? = nil) -> Never {
  if let message { SideMessage.log(severity: 4, Array(message.utf8)).send(to: Descriptor.side) }
  _exit(status)
}

/// The provider, once it is loaded.
nonisolated(unsafe) var provider: ImportedProvider?

/// The entry of a library that is loaded for a probe.
nonisolated(unsafe) var probed: (entry: ProviderEntry, name: String)?

// Whatever a provider does later, this process ends with its host.
let followed = tabella_system_end_with_host(Descriptor.calls)
if followed == -ESRCH { _exit(0) }

nonisolated(unsafe) var words: (UInt64, UInt64) = (0, 0)
let received = withUnsafeMutableBytes(of: &words) {
  recv(Descriptor.calls, $0.baseAddress, $0.count, 0)
}
guard followed == 0, received == 16 else {
  let text = "tabella-worker is started by programs that show tables, not by hand\n"
  _ = text.withCString { write(2, $0, strlen($0)) }
  _exit(2)
}

tabella_system_keep_memory()

/// The call that runs, once there is a server.
nonisolated(unsafe) var running: SourceServer.RunningCall?

do throws(TableError) {
  let server = SourceServer(
    socket: Descriptor.calls, side: Descriptor.side,
    arena: try SharedMemory(mapping: Descriptor.arena), token: Token(words.0, words.1),
    handlers: SourceServer.Handlers(
      load: { request throws(TableError) in
        // Asked once: afterwards the question would be refused.
        let kernel = Kernel.running
        let report = try Confinement.begin(
          request.rules, telling: Descriptor.side, prefix: SideMessage.denialPrefix, on: kernel)
        // Not before: mounts are made for a single thread.
        if let running { listen(running) }
        let library = try CheckedLibrary(taking: Descriptor.library, path: request.library)
        if request.isProbed {
          probed = (try Library.entry(of: library), request.name)
          try Confinement.tighten(request.rules, on: kernel)
          return LoadedProvider(id: "", version: "", options: [], confinement: report)
        }
        let loaded = try Library.load(
          library, name: request.name, isMinimal: request.isMinimal,
          log: { severity, line in
            SideMessage.log(severity: severity, line).send(to: Descriptor.side)
          })
        provider = loaded
        try Confinement.tighten(request.rules, on: kernel)
        return LoadedProvider(
          id: loaded.id, version: loaded.version, options: loaded.options, confinement: report)
      },
      open: { request throws(TableError) in
        guard let provider else { throw TableError(.invalidState, "no library was loaded") }
        return try provider.open(request, edits: .passedOn)
      },
      statistics: {
        let use = ResourceUse.ofThisProcess()
        return WorkerStatistics(
          heap: use.heap, descriptors: use.descriptors, threads: use.threads)
      },
      probe: { request throws(TableError) in
        guard let (entry, name) = probed else {
          throw TableError(.invalidState, "no library was loaded for a probe")
        }
        return try probe(request, entry, name)
      }))
  running = server.running
  try server.run()
  leave(0)
} catch {
  leave(1, error.message)
}

/// Starts the thread that hears what the host says beside the calls, and ends the process with it.
func listen(_ running: SourceServer.RunningCall) {
  var thread = pthread_t()
  pthread_create(
    &thread, nil,
    { context in
      let running = Unmanaged<SourceServer.RunningCall>.fromOpaque(context!).takeRetainedValue()
      while true {
        switch SideMessage.receive(from: Descriptor.side, waiting: true) {
        case .message(.cancel(let number)): running.cancel(number)
        // The host is gone, or is done with this worker.
        case .closed: leave(0)
        default: break
        }
      }
    }, Unmanaged.passRetained(running).toOpaque())
  pthread_detach(thread)
}

/// Makes a check of a provider in this process, which is lost if it is a bad one.
func probe(
  _ request: ProbeRequest, _ entry: ProviderEntry, _ name: String
) throws(TableError) -> ProbeAnswer {
  let suite = ProbeSuite(
    seed: request.seed, entry: entry, name: name, request: request.request,
    mayEdit: request.mayEdit, sign: giveSign)
  switch suite.run(request.name) {
  case .passed: return ProbeAnswer(.passed)
  case .skipped(let reason): return ProbeAnswer(.skipped, reason)
  case .failed(let what): return ProbeAnswer(.failed, what)
  case nil: throw TableError(.invalidArgument, "there is no probe \(request.name)")
  }
}

/// Reads a byte of nothing: the host sees from what is read that the work goes on.
func giveSign() {
  let file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC)
  guard file >= 0 else { return }
  defer { close(file) }
  var byte: UInt8 = 0
  _ = read(file, &byte, 1)
}
