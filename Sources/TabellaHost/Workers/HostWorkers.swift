import Tabella
import TabellaBridge
import TabellaConfinement
import TabellaFiles
import TabellaLoading
import TabellaRemote

// How a host opens a location in a worker.

extension Host {
  func isIsolated(_ entry: Catalogue.Entry) -> Bool {
    switch isolation {
    case .automatic: !entry.isShipped
    case .always: true
    case .never: false
    }
  }

  /// Opens a location with a library, manifest or not, in a new worker or in this process, by
  /// ``isolation``; `.automatic` means a worker. With `isMinimal` the provider meets a host that offers
  /// nothing. `name` is what to call the provider in messages, its path if it is not known.
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

  /// What a library says of itself once it is loaded: in a worker that ends with this, or in this process,
  /// by ``isolation``. Runs its code.
  public func examine(library: String) throws(TableError) -> LoadedProvider {
    let entry = entry(of: library)
    if let entry, !isIsolated(entry) {
      let provider = try load(entry)
      return LoadedProvider(
        id: provider.id, version: provider.version, options: provider.options)
    }
    let load = LoadRequest(library: library, name: entry?.manifest.id ?? library)
    guard isolation == .never else {
      return try launch(load, OpenRequest(location: []), .reading, entry).start().provider
    }
    let provider = try Library.load(try report(onLibraryAt: library).library, name: library)
    return LoadedProvider(
      id: provider.id, version: provider.version, options: provider.options)
  }

  /// Has a new worker check a library from the inside: a probe, or a law of those that need one process
  /// (`ProbeSuite` has both). Throws ``TableError`` for how the worker ended, if that is before it answers.
  public func probe(
    library: String, name: String? = nil, _ probe: ProbeRequest
  ) throws(TableError) -> ProbeAnswer {
    let load = LoadRequest(library: library, name: name ?? library, isProbed: true)
    let request = probe.request ?? OpenRequest(location: [])
    return try launch(
      load, request, probe.mayEdit ? .editing : .reading, entry(of: library)
    ).start().session.probe(probe)
  }

  /// The provider in the catalogue that a library belongs to.
  private func entry(of library: String) -> Catalogue.Entry? {
    catalogue.entries.first { isSameFile($0.library, library) }
  }

  /// A source in a worker of its own, checked like one that was loaded here.
  func openInWorker(
    _ load: LoadRequest, _ request: OpenRequest, _ access: Access,
    _ entry: Catalogue.Entry? = nil
  ) throws(TableError) -> (any TableDataSource, WorkerStatus) {
    let launch = try launch(load, request, access, entry)
    let (remote, session, provider) = try launch.open()
    tellOfWeakIsolation(provider, load.name)
    let source = try importSource(
      exportSource(remote), provider: provider.id,
      edits: .judgedAlsoByReopening { () throws(TableError) in
        let (again, _, provider) = try launch.open()
        return try importSource(exportSource(again), provider: provider.id)
      })
    return (source, WorkerStatus(session, provider))
  }

  /// Says once for each provider what its confinement lacks on this system.
  private func tellOfWeakIsolation(_ provider: LoadedProvider, _ name: String) {
    guard let lacking = provider.confinement?.lacking, !lacking.isEmpty,
      toldOfWeakIsolation.insert(name).inserted
    else { return }
    let text = Array(lacking.joined(separator: "; ").utf8)
    traced?(WorkerOutput(provider: name, kind: .unconfined, text: text))
  }

  /// What is needed to open the same location any number of times.
  private func launch(
    _ load: LoadRequest, _ request: OpenRequest, _ access: Access, _ entry: Catalogue.Entry?
  ) throws(TableError) -> WorkerLaunch {
    guard let program = workerProgram ?? Host.standardWorkerProgram else {
      throw TableError(
        .noProvider, "tabella-worker, in which \(load.name) is to run, is not beside this program")
    }
    let permissions = entry.map { grantedPermissions(for: $0).granted } ?? GrantedPermissions()
    return WorkerLaunch(
      program: program, load: load, entry: entry, permissions: permissions,
      check: { () throws(TableError) in
        if let entry { return try self.checkChosen(entry) }
        return try self.report(onLibraryAt: load.library).library
      }, request: request, access: access, limits: limits,
      isStrict: access == .editing && !acceptsWeakIsolation, onOutput: traced,
      onPacket: onPacket, trace: trace)
  }

  /// The worker's program where it is installed or built.
  private static var standardWorkerProgram: String? {
    guard let directory = SearchPath.executableDirectory else { return nil }
    let candidates = ["tabella-worker", "../libexec/tabella/tabella-worker"]
    return candidates.map { "\(directory)/\($0)" }.first { access($0, X_OK) == 0 }
  }
}

/// One way to open one location, in a new worker each time.
struct WorkerLaunch {
  var program: String
  var load: LoadRequest
  /// The provider in the catalogue, if it was found there.
  var entry: Catalogue.Entry?
  /// What the provider may do beyond its location.
  var permissions: GrantedPermissions
  /// Checks the library, anew each time, and holds it open.
  var check: () throws(TableError) -> CheckedLibrary
  var request: OpenRequest
  var access: Host.Access
  var limits: WorkerLimits
  /// Whether foreign code must not run if a part of the confinement is missing.
  var isStrict: Bool
  var onOutput: (@Sendable (WorkerOutput) -> Void)?
  var onPacket: (@Sendable (pid_t) -> Void)?
  var trace: Trace?

  func open() throws(TableError) -> (
    source: any TableDataSource, session: RemoteSession, provider: LoadedProvider
  ) {
    let (session, provider) = try start()
    return (try session.open(request), session, provider)
  }

  /// A worker with the library loaded.
  func start() throws(TableError) -> (session: RemoteSession, provider: LoadedProvider) {
    let library = try check()
    var order = load
    order.library = library.path
    order.rules = try rules(for: library)
    let input = try self.input()
    defer { close(input) }
    let session = try Worker.start(
      program: program, provider: load.name, library: library.descriptor, input: input,
      limits: limits,
      onOutput: onOutput, onPacket: onPacket
    ) { [load, trace] error in trace?.note("\(load.name) worker ended: \(error.message)") }
    let provider = try session.load(order)
    if !load.isProbed { try entry?.check(id: provider.id) }
    return (session, provider)
  }
}

extension WorkerLaunch {
  /// The worker's standard input: this process's, if that is the location, else nothing.
  ///
  /// It is opened anew, for reading only. A terminal is open for writing too, and what a provider writes there no
  /// one makes safe. And other programs share what this process has open: a provider could set its flags
  /// (`O_NONBLOCK`) or its position for them.
  private func input() throws(TableError) -> Int32 {
    guard request.scheme == nil, request.location == Array("/dev/stdin".utf8) else {
      let null = Glibc.open("/dev/null", O_RDONLY | O_CLOEXEC)
      guard null >= 0 else { throw .system(errno, "/dev/null cannot be opened") }
      return null
    }
    let way = fcntl(0, F_GETFL)
    guard way >= 0 else { throw .system(errno, "standard input cannot be passed on") }
    // A pipe whose writer has ended would be waited for.
    var input = Glibc.open("/dev/stdin", O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
    if input >= 0 {
      _ = fcntl(input, F_SETFL, way & ~(O_ACCMODE | O_NONBLOCK))
      let position = lseek(0, 0, SEEK_CUR)
      if position > 0 { lseek(input, position, SEEK_SET) }
    } else if way & O_ACCMODE == O_RDONLY {
      // A file that this user may not open.
      input = fcntl(0, F_DUPFD_CLOEXEC, 0)
    }
    guard input >= 0 else {
      throw .system(errno, "standard input, which is open for writing too, cannot be passed on")
    }
    return input
  }

  /// What the worker may do: what the location needs, and the permissions that the provider was granted.
  private func rules(for library: CheckedLibrary) throws(TableError) -> Rules {
    // Of the library's own folder only libraries are granted.
    let slash = library.path.lastIndex(of: "/") ?? library.path.startIndex
    let own = realPath(Array(library.path[...slash].utf8))
    let others = (library.searched + library.neededPaths).map { Array($0.utf8) }
      .filter { realPath($0) != own }
    var rules = try Rules.forLocation(
      request.location, isPath: request.scheme == nil, isEditing: access == .editing,
      library: Array(library.path.utf8), otherLibraries: others, permissions: permissions)
    rules.isStrict = isStrict
    rules.memory = limits.memory
    rules.addresses = limits.addresses
    rules.files = limits.files
    // Threads use it up together; what takes too long by the clock is ended before.
    rules.processorSeconds = max(10, Int(limits.total) * 2 * coreCount)
    return rules
  }
}

extension Manifest.Permissions {
  /// The permissions with absolute paths. Paths in folders that this user does not have are left out.
  var granted: GrantedPermissions {
    GrantedPermissions(
      read: read.compactMap { Manifest.Permissions.path($0) },
      write: write.compactMap { Manifest.Permissions.path($0) }, links: links,
      signals: signals, network: network, processes: processes)
  }
}

/// The worker in which a source lives, for whoever wants to know more than the source.
public struct WorkerStatus: Sendable {
  private let session: RemoteSession
  /// What confines it, and what this system lacks for that.
  public let confinement: Report?

  init(_ session: RemoteSession, _ provider: LoadedProvider) {
    self.session = session
    confinement = provider.confinement
  }

  /// What it uses now; throws ``TableError`` if it has ended.
  public func statistics() throws(TableError) -> WorkerStatistics { try session.statistics() }

  /// How it ended; nil while it lives.
  public var ending: TableError? { session.ended }
}
