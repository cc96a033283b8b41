import Tabella
import TabellaFiles
import TabellaSystem

/// The name of a source: a path, or `SCHEME:REST` if a provider claims the scheme. It may contain any bytes.
public struct Location: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
  /// The bytes as the user wrote them.
  public var bytes: [UInt8]

  /// A location with these bytes.
  public init(_ bytes: [UInt8]) { self.bytes = bytes }
  /// A location with the UTF-8 bytes of a text.
  public init(_ text: String) { bytes = Array(text.utf8) }
  public init(stringLiteral value: String) { self.init(value) }

  /// The location as text for people. Invalid UTF-8 is replaced.
  public var description: String { String(decoding: bytes, as: UTF8.self) }

  /// The text in front of the first colon and the bytes after it; nil if that text cannot be a scheme.
  public var schemeAndRest: (scheme: String, rest: [UInt8])? {
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return nil }
    let scheme = String(decoding: bytes[..<colon], as: UTF8.self)
    return Manifest.isName(scheme) ? (scheme, Array(bytes[(colon + 1)...])) : nil
  }

  /// Whether the location cannot have the form `SCHEME:REST`.
  public var isPath: Bool { schemeAndRest == nil }

  /// Whether the location is standard input.
  public var isStandardInput: Bool { bytes == [UInt8(ascii: "-")] }

  /// The last component of the path.
  var fileName: ArraySlice<UInt8> {
    bytes.lastIndex(of: UInt8(ascii: "/")).map { bytes[($0 + 1)...] } ?? bytes[...]
  }
}

extension Catalogue {
  /// A location with its provider.
  struct Choice {
    var entry: Entry
    var scheme: String?
    /// The location that the provider receives, without the scheme.
    var rest: [UInt8]
  }

  /// Whether the location has the form `SCHEME:REST` with a scheme that a provider claims, or with the id of a provider,
  /// even if that provider is refused. Runs no code of a provider.
  public func claimsScheme(of location: Location) -> Bool {
    guard let scheme = location.schemeAndRest?.scheme else { return false }
    return candidates.contains { $0.manifest.schemes.contains(scheme) }
      || namedByID(location) != nil
  }

  /// The provider whose id the location has in front of a colon, and the path after it. `ID:PATH` means the same as
  /// PATH with the provider ID. Nil if a provider claims the id as a scheme, or if a file has the whole name.
  func namedByID(_ location: Location) -> (candidate: Candidate, path: [UInt8])? {
    guard let (id, path) = location.schemeAndRest, !path.isEmpty,
      !candidates.contains(where: { $0.manifest.schemes.contains(id) }),
      let candidate = candidates.first(where: { $0.manifest.id == id }),
      stat(at: location.bytes, followsLink: false) == nil
    else { return nil }
    return (candidate, path)
  }

  /// Chooses the provider of a location without running its code.
  ///
  /// The order is: the named provider, the scheme, the id in front of a colon, the longest matching pattern of file
  /// names, magic bytes, the pattern `*`.
  ///
  /// Throws `TableError` if the chosen provider is refused. A substitute would show other rows, and an edit by index
  /// path would change a row that the user did not mean.
  func choose(_ location: Location, provider: String?) throws(TableError) -> Choice {
    guard !location.bytes.isEmpty else {
      throw TableError(.invalidArgument, "the location is empty")
    }
    guard !location.bytes.contains(0) else {
      throw TableError(.invalidArgument, "the location contains a NUL")
    }
    let named = try provider.map { id throws(TableError) in try entry(id: id) }
    if location.isStandardInput { return try chooseForInput(named) }
    let choice = try chooseForPath(location, named)
    // A scheme or a name chooses the provider, too. The file counts even if its name does not.
    let isNamed = named != nil || choice.scheme != nil
    if choice.entry.isDeceivable(isNamed: isNamed) {
      let file = Location(choice.rest)
      try checkNotCompressed(readStart(file), file, provider: isNamed ? choice.entry : nil)
    }
    return choice
  }

  /// Chooses the provider of standard input by its first bytes. Otherwise it is text for a provider of any file.
  private func chooseForInput(_ named: Entry?) throws(TableError) -> Choice {
    let accepting = candidates.filter { $0.manifest.accepts.contains(.file) }
    let magic = named == nil ? accepting.flatMap(\.manifest.magic) : []
    let size = max(
      Compression.magicSize, magic.map { $0.offset + $0.bytes.count }.max() ?? 0)
    let start = InputStart.bytes(size) { start in
      (magic + Compression.magics.map { Manifest.Magic(offset: 0, bytes: $0) }).allSatisfy {
        $0.isDecided(by: start)
      }
    }
    let entry: Entry
    if let named {
      entry = named
    } else if let found = first(of: [.magic, .anyName], [], accepting, start: { start }) {
      entry = try self.entry(of: found)
    } else {
      throw refused(noProvider("no provider reads any standard input"))
    }
    if entry.isDeceivable(isNamed: named != nil) {
      try checkNotCompressed(start, nil, provider: named)
    }
    return Choice(entry: entry, scheme: nil, rest: Array("/dev/stdin".utf8))
  }

  /// Throws for the start of a compressed file or input, with the command that shows it. `provider` is the provider that
  /// the user named.
  private func checkNotCompressed(
    _ start: [UInt8], _ file: Location?, provider: Entry?
  ) throws(TableError) {
    guard let found = Compression(start) else { return }
    // `data.csv.gz` contains `data.csv`.
    let name = file?.fileName ?? []
    let inner = name.lastIndex(of: UInt8(ascii: ".")).map { name[..<$0] } ?? []
    let accepting = candidates.filter { $0.manifest.accepts.contains(.file) }
    let claims =
      first(of: [.pattern], inner, accepting) { [] }
      ?? first(of: [.pattern], name, accepting) { [] }
    throw TableError(.noProvider, "is compressed with \(found.rawValue), which no provider reads")
      .with(
        .decompress(
          command: found.command, path: file?.bytes,
          provider: provider?.manifest.id ?? claims?.manifest.id))
  }

  private func chooseForPath(
    _ location: Location, _ named: Entry?
  ) throws(TableError) -> Choice {
    if let (scheme, rest) = location.schemeAndRest {
      if let named {
        if named.manifest.schemes.contains(scheme) {
          return Choice(entry: named, scheme: scheme, rest: rest)
        }
      } else if let claims = contenders(byScheme: scheme).first {
        return Choice(entry: try entry(of: claims.candidate), scheme: scheme, rest: rest)
      } else if let (found, path) = namedByID(location) {
        return Choice(entry: try entry(of: found), scheme: nil, rest: path)
      }
    }
    if let named { return Choice(entry: named, scheme: nil, rest: location.bytes) }
    let kind = try pathKind(location)
    let accepting = candidates.filter { $0.manifest.accepts.contains(kind) }
    let found = first(of: Criterion.allCases, location.fileName, accepting) {
      readStart(location, kind)
    }
    if let found {
      return Choice(entry: try entry(of: found), scheme: nil, rest: location.bytes)
    }
    if entries.isEmpty, let refusal = refusals.first {
      throw TableError(
        refusal.code, "no provider can open this: \(refusal.path): \(refusal.reason)")
    }
    throw refused(noProvider("no provider opens a \(kind.rawValue) with this name"))
  }

  /// The entry of a candidate. If the candidate is refused, throws the reason and the remedy.
  private func entry(of candidate: Candidate) throws(TableError) -> Entry {
    switch candidate {
    case .usable(let entry): return entry
    case .refused(_, let error): throw refused(error)
    }
  }

  func pathKind(_ location: Location) throws(TableError) -> Manifest.PathKind {
    switch fileKind(location) {
    case .success(let kind): return kind == S_IFDIR ? .directory : .file
    case .failure(let error):
      if error.code == .notFound { try explainMissing(location) }
      throw error
    }
  }

  /// The file type at a path after following links: `S_IFREG` and so on.
  private func fileKind(_ location: Location) -> Result<UInt32, TableError> {
    guard let status = stat(at: location.bytes) else {
      return .failure(.system(errno, "cannot be opened"))
    }
    return .success(status.kind)
  }

  /// Throws a helpful error for a missing path that looks like a scheme.
  private func explainMissing(_ location: Location) throws(TableError) {
    let text = location.description
    if entries.contains(where: { $0.manifest.schemes.contains(text) }) {
      throw TableError(.notFound, "there is no such file; did you mean \(text): (with a colon)?")
    }
    try checkNotRefused(text)
    guard let (scheme, _) = location.schemeAndRest else { return }
    let schemes = entries.flatMap(\.manifest.schemes)
    let known = schemes.map { "\($0):" }.joined(separator: ", ")
    let advice =
      Suggestion.nearest(to: scheme, among: schemes).map { "did you mean \($0):?" }
      ?? "put a provider of it into a folder that TABELLA_PROVIDER_PATH names"
    // A broken manifest, of which nobody knows the scheme, can be the cause.
    let others = refusals.first.map { ". Refused: \($0.path): \($0.reason)" } ?? ""
    let more = refusals.count > 1 ? " (and \(refusals.count - 1) more)" : ""
    throw TableError(
      .noProvider,
      "there is no such file, and no provider has the scheme \(scheme): (the schemes are \(known)); \(advice)"
        + others + more)
  }

  /// The first candidate that fits by the first criterion by which one fits.
  private func first(
    of criteria: [Criterion], _ name: ArraySlice<UInt8>, _ candidates: [Candidate],
    start: () -> [UInt8]
  ) -> Candidate? {
    for criterion in criteria {
      let found = contenders(by: criterion, name, among: candidates, start: start).first
      if let found { return found.candidate }
    }
    return nil
  }

  /// The first bytes of a path; none if it is a folder.
  func readStart(_ location: Location, _ kind: Manifest.PathKind) -> [UInt8] {
    kind == .file ? readStart(location) : []
  }

  private func readStart(_ location: Location) -> [UInt8] {
    // Opening a pipe and closing it again would end its writer, even without reading.
    guard case .success(S_IFREG) = fileKind(location),
      let file = try? OpenFile(path: location.bytes)
    else { return [] }
    return (try? file.bytes().bytes(at: 0, count: 8192)) ?? []
  }
}

extension Catalogue.Entry {
  /// Whether the provider would take a compressed file for something else.
  ///
  /// Shipped providers read no compressed files. But a provider of any file, if the user names it, shows the bytes.
  fileprivate func isDeceivable(isNamed: Bool) -> Bool {
    isShipped && !manifest.patterns.isEmpty && !(isNamed && manifest.patterns.contains("*"))
  }
}

extension Manifest.Magic {
  /// Whether a file with these first bytes has the magic bytes.
  func matches(_ start: [UInt8]) -> Bool {
    start.count >= offset && start[offset...].starts(with: bytes)
  }

  /// Whether further bytes cannot change the result of ``matches(_:)``.
  fileprivate func isDecided(by start: [UInt8]) -> Bool {
    start.count >= offset + bytes.count
      || (start.count > offset && !bytes.starts(with: start[offset...]))
  }
}

/// Whether a name matches a pattern. `*` matches any bytes, `?` matches one byte.
///
/// - Complexity: O(name × pattern).
func matches(_ name: ArraySlice<UInt8>, _ pattern: ArraySlice<UInt8>) -> Bool {
  var (name, pattern) = (name, pattern)
  var retry: (name: ArraySlice<UInt8>, pattern: ArraySlice<UInt8>)?
  while true {
    if pattern.first == UInt8(ascii: "*") {
      pattern = pattern.dropFirst()
      retry = (name, pattern)
    } else if let wanted = pattern.first, let byte = name.first,
      wanted == UInt8(ascii: "?") || wanted == byte
    {
      (name, pattern) = (name.dropFirst(), pattern.dropFirst())
    } else if pattern.isEmpty, name.isEmpty {
      return true
    } else if let (start, rest) = retry, !start.isEmpty {
      (name, pattern) = (start.dropFirst(), rest)
      retry = (name, pattern)
    } else {
      return false
    }
  }
}
