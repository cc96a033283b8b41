import Tabella

/// The explanation why a host chooses a provider for a location, or why it chooses none. It runs no code of providers.
public struct ProviderChoice: Hashable, Sendable {
  /// The reason why a provider fits a location, in the order of choice.
  public enum Reason: Hashable, Sendable {
    /// The user named the provider, apart from the location or in front of it: `ID:PATH`.
    case name
    /// The provider claims the scheme of the location.
    case scheme(String)
    /// The name of the file matches a pattern. The longest pattern comes first.
    case pattern(String)
    /// The file, or standard input, contains these bytes at this offset.
    case magic(offset: Int, bytes: [UInt8])
    /// The provider opens any file or folder: it has the pattern `*`.
    case anyName

    /// The reason in words: `its pattern *.csv fits`.
    public var text: String {
      switch self {
      case .name: "it was named"
      case .scheme(let scheme): "it claims the scheme \(scheme):"
      case .pattern(let pattern): "its pattern \(pattern) fits"
      case .magic(let offset, let bytes):
        "its \(bytes.count) magic bytes are at offset \(offset)"
      case .anyName: "it opens any name"
      }
    }
  }

  /// A provider that fits the location.
  public struct Candidate: Hashable, Sendable {
    /// The id of the provider.
    public let provider: String
    /// Why it fits.
    public let reason: Reason
    /// Why the host refuses the provider; nil if the host can load it.
    public let refusal: String?
  }

  /// The providers that fit, in the order of choice. The host chooses the first one, or fails if it is refused.
  public internal(set) var candidates: [Candidate] = []
  /// Refused manifests and libraries that fit or that cannot be read, and that are not candidates.
  public internal(set) var refusals: [Catalogue.Refusal] = []
  /// The ids of all providers that the host found.
  public internal(set) var known: [String] = []

  /// The chosen provider; nil if no provider fits, or if the host refuses the first one.
  public var chosen: Candidate? { candidates.first.flatMap { $0.refusal == nil ? $0 : nil } }
}

extension Catalogue {
  /// A candidate that fits a location, and why.
  struct Contender {
    let candidate: Candidate
    let reason: ProviderChoice.Reason
  }

  /// The kinds of reasons for a path, in the order of choice.
  enum Criterion: CaseIterable {
    case pattern, magic, anyName
  }

  /// The candidates that fit by one criterion, in the order of choice. `start` reads the first bytes of the file.
  func contenders(
    by criterion: Criterion, _ name: ArraySlice<UInt8>, among candidates: [Candidate],
    start: () -> [UInt8]
  ) -> [Contender] {
    switch criterion {
    case .pattern:
      let fitting = candidates.compactMap { candidate in
        candidate.manifest.pattern(fitting: name).map {
          Contender(candidate: candidate, reason: .pattern($0))
        }
      }
      // The sort is stable: among equal lengths, the first one found comes first.
      return fitting.sorted { $0.reason.patternLength > $1.reason.patternLength }
    case .magic:
      guard candidates.contains(where: { !$0.manifest.magic.isEmpty }) else { return [] }
      let start = start()
      return candidates.compactMap { candidate in
        candidate.manifest.magic.first { $0.matches(start) }.map {
          Contender(candidate: candidate, reason: .magic(offset: $0.offset, bytes: $0.bytes))
        }
      }
    case .anyName:
      return candidates.filter { $0.manifest.patterns.contains("*") }
        .map { Contender(candidate: $0, reason: .anyName) }
    }
  }

  /// The candidates that claim a scheme, in the order of choice.
  func contenders(byScheme scheme: String) -> [Contender] {
    candidates.filter { $0.manifest.schemes.contains(scheme) }
      .map { Contender(candidate: $0, reason: .scheme(scheme)) }
  }

  /// Explains the choice of the provider of a location.
  func explain(_ location: Location, provider: String?) -> ProviderChoice {
    var choice = ProviderChoice()
    choice.known = entries.map(\.manifest.id)
    let contenders = allContenders(location, provider)
    var seen: Set<String> = []
    for contender in contenders where seen.insert(contender.candidate.manifest.id).inserted {
      choice.candidates.append(
        .init(
          provider: contender.candidate.manifest.id, reason: contender.reason,
          refusal: contender.candidate.refusal?.message))
    }
    // A refused candidate says its reason itself. Other refusals matter if their manifests fit, or cannot be read.
    choice.refusals = refusals.filter { refusal in
      guard let manifest = refusal.manifest else { return true }
      return !choice.candidates.contains { $0.provider == manifest.id && $0.refusal != nil }
        && fits(manifest, location)
    }
    return choice
  }

  private func allContenders(_ location: Location, _ provider: String?) -> [Contender] {
    if let provider {
      let named = candidates.filter { $0.manifest.id == provider }
      // A name finds a usable provider even behind a refused one.
      let usable = named.filter { $0.refusal == nil }
      return (usable.isEmpty ? named : usable).map { Contender(candidate: $0, reason: .name) }
    }
    if let scheme = location.schemeAndRest?.scheme {
      let claiming = contenders(byScheme: scheme)
      if !claiming.isEmpty { return claiming }
      if let named = namedByID(location)?.candidate {
        return [Contender(candidate: named, reason: .name)]
      }
    }
    guard let kind = try? pathKind(location) else { return [] }
    let accepting = candidates.filter { $0.manifest.accepts.contains(kind) }
    return Criterion.allCases.flatMap {
      contenders(by: $0, location.fileName, among: accepting) { readStart(location, kind) }
    }
  }

  private func fits(_ manifest: Manifest, _ location: Location) -> Bool {
    if let scheme = location.schemeAndRest?.scheme, manifest.schemes.contains(scheme) {
      return true
    }
    return manifest.pattern(fitting: location.fileName) != nil
  }
}

extension Manifest {
  /// The longest pattern other than `*` that a name matches; nil if there is none.
  func pattern(fitting name: ArraySlice<UInt8>) -> String? {
    patterns.filter { $0 != "*" && canEnd($0, name) && matches(name, Array($0.utf8)[...]) }
      .max { $0.utf8.count < $1.utf8.count }
  }
}

/// Whether a name ends as a pattern demands. Most patterns, such as `*.csv`, are refused by this quick test.
private func canEnd(_ pattern: String, _ name: ArraySlice<UInt8>) -> Bool {
  guard let last = pattern.utf8.last, last != UInt8(ascii: "*"), last != UInt8(ascii: "?") else {
    return true
  }
  return name.last == last
}

extension ProviderChoice.Reason {
  fileprivate var patternLength: Int {
    if case .pattern(let pattern) = self { pattern.utf8.count } else { 0 }
  }
}

extension Host {
  /// Explains which provider the host chooses for a location, and why. Runs no code of providers.
  public func explain(_ location: Location, provider: String? = nil) -> ProviderChoice {
    catalogue.explain(location, provider: provider)
  }
}
