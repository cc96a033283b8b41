import Synchronization
import Tabella
import TabellaFiles

/// What providers in workers failed at lately, so that a location that ends its worker again and again is
/// not tried each time.
///
/// The third failure within an hour denies that location to that library for a minute, each one more for
/// twice as long, a day at most. Another location, or another build of the library, is another matter, and
/// an entry ends by itself. Kept in a folder, a file an entry, so that it holds for later processes; or in
/// memory only. May be used by any thread.
public final class DenyList: Sendable {
  /// Some failures of one library at one location.
  public struct Entry: Hashable, Sendable {
    public var provider: String
    public var library: String
    /// The location as the provider gets it, for people.
    public var location: String
    /// What the provider was asked when it failed last: a function of the contract.
    public var operation: String
    /// How it failed last.
    public var reason: String
    /// How many times within an hour of each other.
    public var failures: Int
    /// When it failed last, and until when it is denied; in seconds since 1970.
    public var last: Int
    public var until: Int
    /// Which build of the library it was.
    var build: String
  }

  private static let grace = 2
  private static let memory = 3600
  private static let longest = 24 * 3600
  /// No clock shows more, in seconds since 1970; sums of such moments do not overflow.
  fileprivate static let lastMoment = 1 << 40

  private let folder: [UInt8]?
  /// What is kept if there is no folder.
  private let kept = Mutex<[String: Entry]>([:])
  private let clock: @Sendable () -> Int

  /// A list in a folder of state, which is made when it is needed; nil for one in memory.
  public init(
    folder: [UInt8]?, clock: @escaping @Sendable () -> Int = { Int(time(nil)) }
  ) {
    self.folder = folder.map { $0 + Array("/denied".utf8) }
    self.clock = clock
  }

  /// The list of this user: in `$XDG_STATE_HOME/tabella/denied`.
  public static var standard: DenyList { DenyList(folder: stateFolder()) }

  /// What is denied now, by provider and location.
  public var denied: [Entry] {
    let now = clock()
    return all().filter { $0.until > now }.sorted {
      ($0.provider, $0.location) < ($1.provider, $1.location)
    }
  }

  /// Throws `.misbehaved` if a library is denied a location now: with what happened, how often, until when,
  /// and what can be done.
  func check(_ library: String, _ location: [UInt8]) throws(TableError) {
    let now = clock()
    guard let entry = read(key(library, location)), entry.until > now,
      entry.build == build(library)
    else { return }
    var error = TableError(
      .misbehaved,
      "provider \(entry.provider) failed \(entry.failures) times here, last in \(entry.operation) (\(entry.reason)), and is not tried again for \(DenyList.text(seconds: entry.until - now)); try it now with: tabella providers --allow \(entry.provider)"
    )
    error.provider = entry.provider
    throw error
  }

  /// Notes a failure.
  func note(
    provider: String, library: String, location: [UInt8], operation: String, reason: String
  ) {
    let now = clock()
    let key = key(library, location)
    let build = build(library)
    let before = read(key).flatMap { entry in
      entry.build == build && now - entry.last < DenyList.memory && entry.last <= now
        ? entry.failures : nil
    }
    let failures = (before ?? 0) + 1
    // One minute, two, four, …
    let minutes = failures > DenyList.grace ? 1 << min(failures - DenyList.grace - 1, 11) : 0
    let entry = Entry(
      provider: provider, library: library, location: String(decoding: location, as: UTF8.self),
      operation: operation, reason: reason, failures: failures, last: now,
      until: now + min(minutes * 60, DenyList.longest), build: build)
    write(entry, key)
  }

  /// Forgets what a provider failed at, or all; returns how many locations that were.
  @discardableResult
  public func allow(_ provider: String? = nil) -> Int {
    var count = 0
    for (name, entry) in named() where provider == nil || entry.provider == provider {
      remove(name)
      if entry.until > clock() { count += 1 }
    }
    return count
  }

  // What is kept

  private func key(_ library: String, _ location: [UInt8]) -> String {
    let text = Array(library.utf8) + [0] + location
    let digest = text.withUnsafeBytes { digest64($0) }
    return String(digest, radix: 16) + ".json"
  }

  /// What tells one build of a library from the next.
  private func build(_ library: String) -> String {
    var status = stat()
    guard stat(library, &status) == 0 else { return "" }
    return "\(status.st_ino) \(status.st_size) \(status.st_mtim.tv_sec) \(status.st_mtim.tv_nsec)"
  }

  private func all() -> [Entry] { named().map(\.entry) }

  private func named() -> [(name: String, entry: Entry)] {
    guard let folder else { return kept.withLock { $0.map { ($0.key, $0.value) } } }
    guard let stream = folder.withCString({ opendir($0) }) else { return [] }
    defer { closedir(stream) }
    var found: [(String, Entry)] = []
    while let item = readdir(stream) {
      guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else { break }
      let name = String(
        cString: (UnsafeRawPointer(item) + offset).assumingMemoryBound(to: CChar.self))
      if name.hasSuffix(".json"), let entry = read(name) { found.append((name, entry)) }
    }
    return found
  }

  private func path(_ name: String) -> [UInt8]? { folder.map { $0 + Array("/\(name)".utf8) } }

  private func read(_ name: String) -> Entry? {
    guard let path = path(name) else { return kept.withLock { $0[name] } }
    // What cannot be read denies nothing.
    guard let file = try? OpenFile(path: path), file.fingerprint.kind == S_IFREG,
      file.fingerprint.size <= 1 << 16,
      let bytes = try? file.bytes().bytes(at: 0, count: file.fingerprint.size),
      let json = try? JSONValue(parsing: bytes)
    else { return nil }
    return Entry(json)
  }

  private func write(_ entry: Entry, _ name: String) {
    guard let folder, let path = path(name) else {
      kept.withLock { $0[name] = entry }
      return
    }
    // A list that cannot be kept is none: the provider's failure is told all the same.
    guard (try? makeFolders(folder)) != nil else { return }
    let temporary = path + Array(".\(getpid()).new".utf8)
    let descriptor = temporary.withCString {
      open($0, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    }
    guard descriptor >= 0 else { return }
    let text = Array(entry.json.text.utf8)
    let written = text.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
    close(descriptor)
    let isKept =
      written == text.count
      && temporary.withCString { from in path.withCString { rename(from, $0) } } == 0
    if !isKept { _ = temporary.withCString { unlink($0) } }
    prune()
  }

  private func remove(_ name: String) {
    guard let path = path(name) else {
      _ = kept.withLock { $0.removeValue(forKey: name) }
      return
    }
    _ = path.withCString { unlink($0) }
  }

  /// Removes what is over and forgotten.
  private func prune() {
    let now = clock()
    for (name, entry) in named()
    where entry.until < now && (now - entry.last > DenyList.memory || entry.last > now) {
      remove(name)
    }
  }

  /// A span of time for people.
  public static func text(seconds: Int) -> String {
    let minutes = (seconds + 59) / 60
    if seconds < 60 { return "\(seconds) s" }
    return minutes < 120 ? "\(minutes) min" : "\((minutes + 59) / 60) h"
  }
}

extension DenyList.Entry {
  /// Nil if it is no entry.
  fileprivate init?(_ json: JSONValue) {
    guard let provider = json["provider"]?.string, let library = json["library"]?.string,
      let location = json["location"]?.string, let operation = json["operation"]?.string,
      let reason = json["reason"]?.string, let failures = json["failures"]?.integer,
      let last = json["last"]?.integer, let until = json["until"]?.integer,
      let build = json["build"]?.string, 1...Int(Int32.max) ~= failures,
      0...DenyList.lastMoment ~= last, 0...DenyList.lastMoment ~= until
    else { return nil }
    self.init(
      provider: provider, library: library, location: location, operation: operation,
      reason: reason, failures: failures, last: last, until: until, build: build)
  }

  /// The entry as it is kept.
  public var json: JSONValue {
    .object([
      "provider": .string(provider), "library": .string(library),
      "location": .string(location), "operation": .string(operation),
      "reason": .string(reason), "failures": .number("\(failures)"), "last": .number("\(last)"),
      "until": .number("\(until)"), "build": .string(build),
    ])
  }
}
