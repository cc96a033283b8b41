// The program `tabella-worker`: one provider in its own process. Only hosts start it.
//
// Descriptors: 0 standard input of the provider, 1 and 2 pipes to the host, 3 calls, 4 messages outside of calls, 5
// shared memory, 6 the library.

import CTabellaSystem
import Tabella
import TabellaBridge
import TabellaConfinement
import TabellaConformance
import TabellaFiles
import TabellaLoading
import TabellaRemote
import TabellaSystem
import TabellaThreads

/// The descriptors that the host passes.
enum Passed {
  static let calls: Int32 = 3
  static let side: Int32 = 4
  static let arena: Int32 = 5
  static let library: Int32 = 6
}

/// Ends the process without running code of the provider.
func leave(_ status: Int32, _ message: String? = nil) -> Never {
  if let message { SideMessage.log(severity: 4, Array(message.utf8)).send(to: Passed.side) }
  _exit(status)
}

/// The loaded provider.
nonisolated(unsafe) var provider: ImportedProvider?

/// The entry point of a library that is loaded for a probe.
nonisolated(unsafe) var probed: (entry: ProviderEntry, name: String)?

// The process ends with its host, even if the provider misbehaves.
let followed = tabella_system_end_with_host(Passed.calls)
if followed == -ESRCH { _exit(0) }

nonisolated(unsafe) var words: (UInt64, UInt64) = (0, 0)
let received = withUnsafeMutableBytes(of: &words) {
  recv(Passed.calls, $0.baseAddress, $0.count, 0)
}
guard followed == 0, received == 16 else {
  let text = "tabella-worker is started by other programs, such as tabella\n"
  _ = text.withCString { write(2, $0, strlen($0)) }
  _exit(2)
}

tabella_system_keep_memory()

/// The running call, once there is a server.
nonisolated(unsafe) var running: SourceServer.RunningCall?

do throws(TableError) {
  let server = SourceServer(
    socket: Passed.calls, side: Passed.side,
    arena: try SharedMemory(mapping: Passed.arena), token: Token(words.0, words.1),
    handlers: SourceServer.Handlers(
      load: { request throws(TableError) in
        // The kernel is examined only once, because the confinement refuses these calls later.
        let kernel = KernelFeatures.running
        let report = try Confinement.begin(
          request.rules, telling: Passed.side, prefix: SideMessage.denialPrefix, on: kernel)
        // The second thread starts after the mounts, which need a single thread.
        if let running { listen(running) }
        let library = try CheckedLibrary(taking: Passed.library, path: request.library)
        if request.isProbed {
          probed = (try Library.entry(of: library), request.name)
          try Confinement.tighten(request.rules, on: kernel)
          return LoadedProvider(
            contract: "", id: "", version: "", options: [], confinement: report)
        }
        let loaded = try Library.load(
          library, name: request.name, isMinimal: request.isMinimal,
          log: { severity, line in
            SideMessage.log(severity: severity, line).send(to: Passed.side)
          })
        provider = loaded
        try Confinement.tighten(request.rules, on: kernel)
        return LoadedProvider(
          contract: loaded.contract, id: loaded.id, version: loaded.version,
          options: loaded.options, confinement: report)
      },
      open: { request throws(TableError) in
        guard let provider else { throw TableError(.invalidState, "no library was loaded") }
        return try provider.open(request, edits: .passedOn)
      },
      statistics: { ResourceUse.ofThisProcess() },
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

/// Starts the thread that reads the host's messages outside of calls. It ends the process when the host closes the
/// socket.
func listen(_ running: SourceServer.RunningCall) {
  let thread = SystemThread {
    while true {
      switch SideMessage.receive(from: Passed.side, waiting: true) {
      case .message(.cancel(let number)): running.cancel(number)
      // The host has ended or has released this worker.
      case .closed: leave(0)
      default: break
      }
    }
  }
  thread?.detach()
}

/// Performs one check of a provider in this process. A bad provider may crash the process.
func probe(
  _ request: ProbeRequest, _ entry: ProviderEntry, _ name: String
) throws(TableError) -> ProbeAnswer {
  let suite = ProbeSuite(
    seed: request.seed, entry: entry, name: name, request: request.request,
    mayEdit: request.mayEdit, sign: giveSignOfLife)
  switch suite.run(request.name) {
  case .passed: return ProbeAnswer(.passed)
  case .sampled(let part): return ProbeAnswer(.passed, part)
  case .skipped(let reason): return ProbeAnswer(.skipped, reason)
  case .failed(let what): return ProbeAnswer(.failed, what)
  case nil: throw TableError(.invalidArgument, "there is no probe \(request.name)")
  }
}
