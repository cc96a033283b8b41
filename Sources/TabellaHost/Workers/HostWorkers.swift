import Glibc
import Synchronization
import Tabella
import TabellaBridge
import TabellaConfinement
import TabellaFiles
import TabellaLoading
import TabellaRemote
import TabellaSystem
import TabellaThreads

@_exported import struct TabellaConfinement.ConfinementReport
@_exported import struct TabellaSystem.ResourceUse

// Opening locations in workers.

extension Host {
  func isIsolated(_ entry: Catalogue.Entry) -> Bool {
    switch isolation {
    case .automatic: !entry.isShipped && !entry.isLinked
    case .always: true
    case .never: false
    }
  }

  /// Opens a location with a library that needs no manifest. ``isolation`` selects the process; `.automatic` means a
  /// new worker.
  ///
  /// With `isMinimal`, the host offers the provider no optional services. Messages use `name`, or the path if it is
  /// nil.
  public func open(
    library: String, name: String? = nil, _ request: OpenRequest, access: Access = .editing,
    isMinimal: Bool = false
  ) throws(TableError) -> (source: any TableDataSource, worker: WorkerStatus?) {
    let name = name ?? library
    let load = LoadRequest(library: library, name: name, isMinimal: isMinimal)
    let isIsolated = isolation != .never
    return try tracing(name, library, request, isIsolated: isIsolated) {
      () throws(TableError) -> (any TableDataSource, WorkerStatus?) in
      guard isIsolated else {
        let provider = try Library.load(
          try report(onLibraryAt: library).library, name: name, isMinimal: isMinimal)
        return (try provider.open(request), nil)
      }
      return try openInWorker(load, request, access, entry(of: library))
    }
  }

  /// Loads a library and returns its id, version and options. Runs its code.
  ///
  /// ``isolation`` selects the process. A worker ends after this call.
  package func examine(library: String) throws(TableError) -> LoadedProvider {
    func reply(_ provider: ImportedProvider) -> LoadedProvider {
      LoadedProvider(
        contract: provider.contract, id: provider.id, version: provider.version,
        options: provider.options)
    }
    let entry = entry(of: library)
    if let entry, !isIsolated(entry) {
      let provider = try load(entry)
      return reply(provider)
    }
    let load = LoadRequest(library: library, name: entry?.manifest.id ?? library)
    guard isolation == .never else {
      return try launch(load, OpenRequest(location: []), .reading, entry).start().provider
    }
    let provider = try Library.load(try report(onLibraryAt: library).library, name: library)
    return reply(provider)
  }

  /// Lets a new worker perform one check of a library: a probe, or a law that needs its own process. `ProbeSuite` has
  /// both.
  ///
  /// Throws `TableError` with the worker's end if the worker ends before it answers.
  package func probe(
    library: String, name: String? = nil, _ probe: ProbeRequest
  ) throws(TableError) -> ProbeAnswer {
    let load = LoadRequest(library: library, name: name ?? library, isProbed: true)
    let request = probe.request ?? OpenRequest(location: [])
    return try launch(
      load, request, probe.mayEdit ? .editing : .reading, entry(of: library)
    ).start().session.probe(probe)
  }

  /// The catalogue's provider for a library; nil if there is none.
  private func entry(of library: String) -> Catalogue.Entry? {
    catalogue.entries.first { isSameFile($0.library, library) }
  }

  /// Opens a source in its own worker, with the same checks as for a source in this process.
  func openInWorker(
    _ load: LoadRequest, _ request: OpenRequest, _ access: Access,
    _ entry: Catalogue.Entry? = nil
  ) throws(TableError) -> (any TableDataSource, WorkerStatus) {
    let launch = try launch(load, request, access, entry)
    let opened = try launch.open()
    let provider = opened.provider
    reportWeakIsolation(provider, load.name)
    let status = WorkerStatus(opened.session, provider)
    let place = LastingPath(request.location)
    func nextLaunch() -> WorkerLaunch {
      var launch = launch
      // The location of a scheme need not be a path.
      if request.scheme == nil { launch.request.location = place.current }
      return launch
    }
    let renewed = RenewedSource.wrapping(opened.source, at: place, opened.file) {
      () throws(TableError) in
      let again = try nextLaunch().open()
      launch.trace?.note("\(load.name) continues in a new worker: another file has taken the name")
      status.follow(again.session)
      return again.source
    }
    let source = try CheckedSource(
      renewed, provider: provider.id,
      edits: .judgedAlsoByReopening { () throws(TableError) in
        let again = try nextLaunch().open()
        return try CheckedSource(again.source, provider: again.provider.id)
      })
    return (source, status)
  }

  /// Reports the missing parts of the confinement, once per provider.
  private func reportWeakIsolation(_ provider: LoadedProvider, _ name: String) {
    guard let lacking = provider.confinement?.lacking, !lacking.isEmpty,
      reportedWeakIsolation.insert(name).inserted
    else { return }
    let text = Array(lacking.joined(separator: "; ").utf8)
    traced?(WorkerOutput(provider: name, kind: .unconfined, text: text))
  }

  /// Collects everything needed to open a location any number of times.
  private func launch(
    _ load: LoadRequest, _ request: OpenRequest, _ access: Access, _ entry: Catalogue.Entry?
  ) throws(TableError) -> WorkerLaunch {
    guard let program = workerProgram ?? standardWorkerProgram else {
      throw TableError(
        .noProvider,
        "tabella-worker, which runs \(load.name), is not found: it is neither "
          + installation.workerPrograms.joined(separator: " nor "))
    }
    let folders = UserFolders { [dataFolder] name in
      name == UserFolders.Kind.data.rawValue
        ? dataFolder ?? trustedVariable(name) : trustedVariable(name)
    }
    let permissions =
      entry.map { grantedPermissions(for: $0).granted(in: folders) } ?? GrantedPermissions()
    return WorkerLaunch(
      program: program, load: load, entry: entry, permissions: permissions,
      dataFolder: dataFolder,
      check: { () throws(TableError) in
        if let entry { return try self.checkChosen(entry) }
        return try self.report(onLibraryAt: load.library).library
      }, request: request, access: access, limits: limits,
      isStrict: access == .editing && !acceptsWeakIsolation, onOutput: traced,
      onPacket: onPacket, trace: trace)
  }

  /// The path of the worker program if it is installed or built.
  private var standardWorkerProgram: String? {
    installation.workerPrograms.first { access($0, X_OK) == 0 }
  }
}

/// The parameters to open one location, in a new worker each time.
struct WorkerLaunch {
  var program: String
  var load: LoadRequest
  /// The provider in the catalogue, if it was found there.
  var entry: Catalogue.Entry?
  /// The permissions in addition to the location.
  var permissions: GrantedPermissions
  /// ``Host/dataFolder``.
  var dataFolder: [UInt8]?
  /// Checks the library again and holds it open.
  var check: () throws(TableError) -> CheckedLibrary
  var request: OpenRequest
  var access: Host.Access
  var limits: WorkerLimits
  /// Whether the worker must not run foreign code if a part of the confinement is missing.
  var isStrict: Bool
  var onOutput: (@Sendable (WorkerOutput) -> Void)?
  var onPacket: (@Sendable (pid_t) -> Void)?
  var trace: Trace?

  /// Whether the worker may open only one file. It cannot open a file that takes the name of that one later.
  var confinesToFile: Bool {
    access == .reading && request.location != Array("/dev/stdin".utf8)
  }

  /// How many workers are started for a file that other programs replace.
  private static let attempts = 3

  /// Opens the location in a new worker. If another file takes its name meanwhile, the worker cannot open that file, and
  /// another worker is started. `file` is the file to which the worker is confined, if it is.
  func open() throws(TableError) -> (
    source: any TableDataSource, session: RemoteSession, provider: LoadedProvider, file: stat?
  ) {
    for _ in 0..<Self.attempts {
      let file = confinesToFile ? stat(at: request.location) : nil
      do throws(TableError) {
        let (session, provider) = try start()
        return (try session.open(request), session, provider, file)
      } catch {
        // A new file can have the inode number of one that was removed, but not its time of change.
        guard error.code == .denied || error.code == .conflict, let file,
          let named = stat(at: request.location),
          !named.isSameFile(as: file) || named.st_ctim.seconds != file.st_ctim.seconds,
          request.location.withCString({ Glibc.access($0, R_OK) }) == 0
        else { throw error }
      }
    }
    throw Confinement.replaced(request.location)
  }

  /// Starts a worker and loads the library.
  func start() throws(TableError) -> (session: RemoteSession, provider: LoadedProvider) {
    let library = try check()
    var order = load
    order.library = library.path
    order.rules = try rules(for: library)
    let input = try self.input()
    let session = try Worker.start(
      program: program, provider: load.name, library: library.descriptor,
      input: input.raw, dataFolder: dataFolder,
      limits: limits,
      onOutput: output(), onPacket: onPacket
    ) { [load, trace] error in trace?.note("\(load.name) worker ended: \(error.message)") }
    let provider = try session.load(order)
    if !load.isProbed { try entry?.check(id: provider.id) }
    return (session, provider)
  }
}

extension WorkerLaunch {
  /// The receiver of a new worker's output.
  ///
  /// Two denials are not reported. A provider tries inotify, and without it looks for changes when the host asks. If
  /// another file takes the name of the location, the provider tries in vain to read it, and ``RenewedSource`` opens that
  /// file in another worker.
  private func output() -> (@Sendable (WorkerOutput) -> Void)? {
    guard let onOutput else { return nil }
    let file = confinesToFile ? stat(at: request.location) : nil
    let location = request.location
    let start = Array("reading ".utf8)
    let inotify = Array("the system call inotify_init1".utf8)
    return { output in
      if output.kind == .denied, output.text == inotify { return }
      if output.kind == .denied, output.text.starts(with: start), let file,
        let denied = stat(at: Array(output.text.dropFirst(start.count))),
        let named = stat(at: location), denied.isSameFile(as: named), !named.isSameFile(as: file)
      {
        return
      }
      onOutput(output)
    }
  }

  /// The worker's standard input: that of this process if it is the location, otherwise `/dev/null`.
  ///
  /// It is opened again, for reading only, for two reasons. A terminal is open for writing, too, and nobody filters the
  /// output of a provider there. And other programs share the open file of this process, so a provider could change its
  /// flags (`O_NONBLOCK`) or its offset for them.
  private func input() throws(TableError) -> Descriptor {
    guard request.scheme == nil, request.location == Array("/dev/stdin".utf8) else {
      return try Descriptor(
        opening: Array("/dev/null".utf8), O_RDONLY, errorPrefix: "/dev/null cannot be opened")
    }
    let way = fcntl(0, F_GETFL)
    guard way >= 0 else { throw .system(errno, "standard input cannot be passed on") }
    // Without `O_NONBLOCK`, opening a pipe whose writer has ended would block.
    if let input = Descriptor(opening: "/dev/stdin", O_RDONLY | O_NOCTTY | O_NONBLOCK) {
      _ = fcntl(input.raw, F_SETFL, way & ~(O_ACCMODE | O_NONBLOCK))
      let position = lseek(0, 0, SEEK_CUR)
      if position > 0 { lseek(input.raw, position, SEEK_SET) }
      return input
    }
    // The user may not open the file again.
    if way & O_ACCMODE == O_RDONLY, let input = Descriptor(duplicating: 0) { return input }
    throw .system(errno, "standard input, which is open for writing too, cannot be passed on")
  }

  /// The rules for the worker: the needs of the location, and the granted permissions.
  private func rules(for library: CheckedLibrary) throws(TableError) -> WorkerRules {
    // In the library's own folder, only libraries are granted.
    let slash = library.path.lastIndex(of: "/") ?? library.path.startIndex
    let own = realPath(Array(library.path[...slash].utf8))
    let others = (library.searched + library.neededPaths).map { Array($0.utf8) }
      .filter { realPath($0) != own }
    if access == .editing {
      // If one cannot be made, the provider's edit fails, with a better reason.
      for path in permissions.write where path.last == UInt8(ascii: "/") {
        try? makeFolders(path.dropLast())
      }
    }
    var rules = try WorkerRules.forLocation(
      request.location, isPath: request.scheme == nil, isEditing: access == .editing,
      library: Array(library.path.utf8), otherLibraries: others, permissions: permissions)
    rules.isStrict = isStrict
    rules.memory = limits.memory
    rules.addresses = limits.addresses
    rules.files = limits.files
    // All threads share this time. The limits on elapsed time end longer calls earlier.
    rules.processorSeconds = max(10, Int(limits.total) * 2 * Cores.usable)
    return rules
  }
}

extension Manifest.Permissions {
  /// The permissions with absolute paths, without folders that this user does not have.
  func granted(in folders: UserFolders) -> GrantedPermissions {
    GrantedPermissions(
      read: read.compactMap { Manifest.Permissions.path($0, in: folders) },
      write: write.compactMap { Manifest.Permissions.path($0, in: folders) }, links: links,
      signals: signals, network: network, processes: processes)
  }
}

/// The state of the worker in which a source lives.
public struct WorkerStatus: Sendable {
  /// The session with the present worker, because a source can move to another one.
  private final class Present: Sendable {
    let session: Mutex<RemoteSession>

    init(_ session: RemoteSession) { self.session = Mutex(session) }
  }

  private let present: Present
  /// The parts of its confinement, and those that this system lacks.
  public let confinement: ConfinementReport?

  init(_ session: RemoteSession, _ provider: LoadedProvider) {
    present = Present(session)
    confinement = provider.confinement
  }

  private var session: RemoteSession { present.session.withLock { $0 } }

  /// Describes another worker from now on.
  func follow(_ session: RemoteSession) { present.session.withLock { $0 = session } }

  /// The present use of resources. Throws `TableError` if the worker has ended.
  public func statistics() throws(TableError) -> ResourceUse { try session.statistics() }

  /// The error with which the worker ended; nil while it lives.
  public var ending: TableError? { session.ended }
}
