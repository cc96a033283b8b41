import Synchronization
import Tabella
import TabellaBridge
import TabellaConformance
import TabellaHost
import TabellaLoading
import TabellaRemote
import TabellaSystem

/// The environment of a check: the library, and sources that each live in a new process.
final class CheckRun {
  let library: String
  let manifest: Manifest?
  let manifestFile: ManifestFile?
  let loaded: LoadedProvider
  let options: CheckOptions
  let folder: PrivateFolder
  private let host: Host
  private var opened: [Opened] = []
  /// The unexpected ends of processes, in order.
  private var endings: [TableError] = []
  private let capturedOutput = CapturedOutput()
  private var folders = 0

  /// A source and its process.
  private struct Opened {
    weak var source: (any TableDataSource)?
    let worker: WorkerStatus?
  }

  /// The output, log lines and denials, and the trace. Any thread may use it.
  private final class CapturedOutput: Sendable {
    let lines = Mutex<[WorkerOutput]>([])
    let trace = Mutex("")
  }

  init(
    library: String, manifest: Manifest?, manifestFile: ManifestFile?, loaded: LoadedProvider,
    options: CheckOptions,
    folder: PrivateFolder, host: Host
  ) {
    self.library = library
    self.manifest = manifest
    self.manifestFile = manifestFile
    self.loaded = loaded
    self.options = options
    self.folder = folder
    self.host = host
    host.onOutput = { [capturedOutput] output in capturedOutput.lines.withLock { $0.append(output) }
    }
    if options.keepsCalls, host.trace == nil {
      host.trace = Trace { [capturedOutput] text in
        capturedOutput.trace.withLock { trace in
          trace += text
          if trace.utf8.count > CheckRun.mostTrace {
            trace = String(trace.suffix(CheckRun.mostTrace / 2))
          }
        }
      }
    }
  }

  /// Forgets everything from the previous check.
  func begin() {
    opened = []
    endings = []
    capturedOutput.lines.withLock { $0 = [] }
    capturedOutput.trace.withLock { $0 = "" }
  }

  /// The maximum length of the stored trace in bytes.
  private static let mostTrace = 64 << 10

  /// The last lines of the trace since ``begin()``.
  var lastCalls: [String] {
    capturedOutput.trace.withLock { $0.split(separator: "\n").suffix(12).map(String.init) }
  }

  // Sources

  /// Opens a source in a new process. With `isSoon`, each call has a short time limit.
  func open(
    _ request: OpenRequest, access: Host.Access = .reading, isMinimal: Bool = false,
    isSoon: Bool = false
  ) throws(TableError) -> any TableDataSource {
    forgetReleased()
    let limits = host.limits
    defer { host.limits = limits }
    if isSoon { host.limits.total = min(limits.total, 3 * limits.silence) }
    do throws(TableError) {
      let (source, worker) = try host.open(
        library: library, name: loaded.id, request, access: access, isMinimal: isMinimal)
      opened.append(Opened(source: source, worker: worker))
      return source
    } catch {
      if Finding.Status.of(error) != nil { endings.append(error) }
      throw error
    }
  }

  /// The resources of the process in which a source lives.
  func resources(of source: any TableDataSource) throws -> ResourceUse {
    guard let worker = opened.first(where: { $0.source === source })?.worker else {
      return .ofThisProcess()
    }
    return try worker.statistics()
  }

  /// Releases the workers whose sources were released, and keeps their errors.
  private func forgetReleased() {
    endings += opened.compactMap { $0.source == nil ? $0.worker?.ending : nil }
    opened.removeAll { $0.source == nil }
  }

  /// The first unexpected end of a process since ``begin()``.
  var ending: TableError? {
    (endings + opened.compactMap { $0.worker?.ending }).first { Finding.Status.of($0) != nil }
  }

  /// The output since ``begin()``. Releases all sources first, because a process's last output arrives when it ends.
  func takeOutput() -> [WorkerOutput] {
    opened = []
    return capturedOutput.lines.withLock { $0 }
  }

  // Editable data

  /// Creates editable data from a location. Returns a closure that opens it. Throws `Skipped` if that is impossible.
  func scratch(_ place: CheckedLocation) throws -> () throws(TableError) -> any TableDataSource {
    var request = place.request
    if place.isPath {
      let copy = try freshFolder()
      let name = request.location.split(separator: UInt8(ascii: "/")).last ?? []
      let target = copy + [UInt8(ascii: "/")] + (name.isEmpty ? Array("copy".utf8) : Array(name))
      do throws(TableError) {
        try TreeCopy.make(request.location, target)
      } catch {
        throw Skipped(reason: error.message)
      }
      request = place.request(target)
    } else if !options.mayEdit {
      guard try open(place.request).editing != nil else { throw Skipped(reason: "read-only") }
      throw Skipped(
        reason:
          "the rows of \(place.name) cannot be copied, so the check would edit them; use --edit to allow it"
      )
    }
    return { () throws(TableError) in try self.open(request, access: .editing) }
  }

  // Checks in the provider's process

  /// Performs a probe or a law in the provider's process.
  func probe(_ name: String, _ place: CheckedLocation?) throws(TableError)
    -> ConformanceSuite.Outcome
  {
    guard host.isolation == .never else {
      let answer = try host.probe(
        library: library, name: loaded.id,
        ProbeRequest(name: name, seed: options.seed, request: place?.request))
      return switch answer.kind {
      case .passed: answer.text.isEmpty ? .passed : .sampled(answer.text)
      case .skipped: .skipped(answer.text)
      case .failed: .failed(answer.text)
      }
    }
    let suite = ProbeSuite(
      seed: options.seed,
      entry: try Library.entry(of: host.report(onLibraryAt: library).library), name: loaded.id,
      request: place?.request)
    return suite.run(name) ?? .skipped("there is no such probe")
  }
}

extension CheckRun {
  /// Whether the output of the provider arrives here.
  var capturesOutput: Bool { host.isolation != .never }

  /// Creates an empty folder.
  func freshFolder() throws(TableError) -> [UInt8] {
    folders += 1
    return try folder.makeFolder("folder-\(folders)")
  }

  /// A request for a new file with these bytes, with the name and the options of an existing location.
  func sample(_ bytes: [UInt8], like place: CheckedLocation) throws(TableError) -> OpenRequest {
    let name = place.request.location.split(separator: UInt8(ascii: "/")).last ?? []
    let path = try freshFolder() + [UInt8(ascii: "/")] + name
    try write(bytes, to: path, mode: 0o600)
    return place.request(path)
  }
}
