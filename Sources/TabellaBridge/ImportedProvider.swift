import CTabella
import Tabella

/// The entry function that a provider library exports.
package typealias ProviderEntry =
  @convention(c) (UnsafeMutablePointer<tabella_entry>) -> Int32

/// An entry function that is linked into this program. It needs no C symbol.
package typealias LinkedProviderEntry =
  @Sendable (UnsafeMutablePointer<tabella_entry>) -> Int32

/// A provider behind the C contract.
///
/// It lives until the process ends. Calls must not overlap; the host ensures this.
package final class ImportedProvider {
  /// The version of the contract with which the provider was compiled, such as `0.9`.
  package let contract: String
  /// The id of the provider.
  package let id: String
  /// The version of the provider, for the user.
  package let version: String
  /// The options that the provider's code declares. A host reads them from the manifest, without running code.
  package let options: [OptionDeclaration]
  let raw: tabella_provider

  /// Calls the entry function and checks its result.
  ///
  /// `name` identifies the provider in messages until its id is known. Throws ``TableError`` with `.noProvider` if
  /// the provider has another contract version or refuses. Throws `.misbehaved` if its answer breaks the contract.
  ///
  /// `log` receives the lines that the provider writes to the host's log. Any thread may call it until the process
  /// ends. If `isMinimal` is true, the provider sees a host without any optional feature.
  package init(
    calling entry: (UnsafeMutablePointer<tabella_entry>) -> Int32, name: String,
    isMinimal: Bool = false,
    log: (@Sendable (_ severity: Int, _ line: [UInt8]) -> Void)? = nil
  ) throws(TableError) {
    var meeting = tabella_entry()
    meeting.contract_version = TABELLA_CONTRACT_VERSION
    meeting.host = isMinimal ? minimalHost : log.map(hostLogging) ?? sharedHost
    do throws(TableError) {
      let code = entry(&meeting)
      let contract = ContractVersion(meeting.provider_contract)
      // A provider that accepts only its own version fills in no error.
      let isRefusal = code == TABELLA_NOT_SUPPORTED && meeting.error.message.bytes == nil
      if !contract.isAccepted || (isRefusal && contract != .own) {
        meeting.error.release?(&meeting.error)
        try contract.checkAccepted("the provider")
        throw TableError(
          .noProvider,
          "the provider was built for contract \(contract) and refuses a host of contract "
            + "\(ContractVersion.own)")
      }
      try withUnsafeMutablePointer(to: &meeting.error) { error throws(TableError) in
        let reported = error.pointee
        try TabellaBridge.call("the entry") { raw in
          raw.pointee = reported
          return code
        }
      }
    } catch {
      throw error.code == .misbehaved || error.code == .noProvider
        ? error : TableError(.noProvider, "the provider refused to start: \(error.message)")
    }
    contract = ContractVersion(meeting.provider_contract).description
    let provider = meeting.provider
    guard let id = try provider.id.text("the id"), !id.isEmpty,
      id.utf8.allSatisfy({ 0x21...0x7E ~= $0 })
    else { throw TableError(.misbehaved, "provider \(name) broke the contract: it has no id") }
    guard provider.open != nil else {
      throw TableError(.misbehaved, "provider \(id) broke the contract: it has no open")
    }
    raw = provider
    self.id = id
    version = try provider.version.text("the version") ?? ""
    options = try readOptions(provider, id)
  }

  /// Opens a location. `edits` determines how reports of edits are verified.
  package func open(
    _ request: OpenRequest, edits: EditJudgement = .judged
  ) throws(TableError) -> any TableDataSource {
    try importSource(try openRaw(request), provider: id, edits: edits)
  }

  /// Opens a location as a C source. The caller owns the source.
  func openRaw(_ request: OpenRequest) throws(TableError) -> tabella_source {
    let arena = ExportedMemory()
    let options = request.options.sorted { $0.key < $1.key }.map { name, value in
      tabella_option_value(name: arena.string(name.utf8), value: arena.string(value.utf8))
    }
    var asked = tabella_open_request(
      location: arena.string(request.location), scheme: arena.string(request.scheme),
      options: arena.array(options), option_count: Int64(options.count), flags: 0, reserved: 0)
    var source = tabella_source()
    try blaming(id, for: "open") { () throws(TableError) in
      defer { withExtendedLifetime(arena) {} }
      try TabellaBridge.call("open") { raw.open!(raw.provider, &asked, &source, $0) }
    }
    return source
  }
}

/// The name of the only symbol that a provider library exports.
package let providerEntrySymbol = TABELLA_ENTRY_SYMBOL

// The features of this host: no optional ones yet, and a log that is discarded.
nonisolated(unsafe) private let sharedHost = immortal(
  tabella_host(host: nil, log: { _, _, _ in }, ability: { _, _ in nil }))
nonisolated(unsafe) let minimalHost = immortal(
  tabella_host(host: nil, log: nil, ability: nil))

private final class HostLog: Sendable {
  let write: @Sendable (Int, [UInt8]) -> Void

  init(_ write: @escaping @Sendable (Int, [UInt8]) -> Void) { self.write = write }
}

/// A host with a log. It lives until the process ends, as does the provider.
private func hostLogging(
  _ write: @escaping @Sendable (Int, [UInt8]) -> Void
) -> UnsafePointer<tabella_host> {
  immortal(
    tabella_host(
      host: Unmanaged.passRetained(HostLog(write)).toOpaque(),
      log: { host, severity, message in
        guard let host, let line = try? message.copied("a line of the log") else { return }
        Unmanaged<HostLog>.fromOpaque(host).takeUnretainedValue().write(Int(severity), line)
      }, ability: { _, _ in nil }))
}

private func readOptions(
  _ provider: tabella_provider, _ id: String
) throws(TableError) -> [OptionDeclaration] {
  let table = withCString(TABELLA_OPTIONS_ID) { provider.ability?(provider.provider, $0) }
  guard let table else { return [] }
  var count: Int64 = 0
  guard let declared = table.load(as: tabella_options.self).declared else {
    throw TableError(
      .misbehaved, "provider \(id) broke the contract: tabella.options/1 has no declared")
  }
  let list = declared(provider.provider, &count)
  guard (0...10_000).contains(count), count == 0 || list != nil else {
    throw TableError(.misbehaved, "provider \(id) broke the contract: it has \(count) options")
  }
  var options: [OptionDeclaration] = []
  for raw in UnsafeBufferPointer(start: list, count: Int(count)) {
    guard let name = try raw.name.text("an option's name"), !name.isEmpty,
      let kind = OptionDeclaration.Kind(rawValue: raw.type)
    else {
      throw TableError(
        .misbehaved, "provider \(id) broke the contract: an option has no name or type")
    }
    options.append(
      OptionDeclaration(
        name, kind, default: try raw.default_value.text("an option's default"),
        choices: try raw.choices.text("an option's choices")?.split(separator: "|").map(String.init)
          ?? [],
        summary: try raw.summary.text("an option's summary") ?? ""))
  }
  return options
}
