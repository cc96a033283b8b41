import CTabella
import Tabella

/// Fills in the entry for a host, with a provider written in Swift.
///
/// The strings and options live until the process ends, as the contract requires.
package func exportProvider(
  to entry: UnsafeMutablePointer<tabella_entry>, id: String, version: String,
  options: [OptionDeclaration],
  open: @escaping (OpenRequest) throws(TableError) -> any TableDataSource
) -> Int32 {
  entry.pointee.provider_contract = TABELLA_CONTRACT_VERSION
  guard ContractVersion(entry.pointee.contract_version).isAccepted else {
    return TABELLA_NOT_SUPPORTED
  }
  let box = ProviderBox(options: options, open: open)
  entry.pointee.provider = tabella_provider(
    provider: Unmanaged.passRetained(box).toOpaque(),
    id: box.arena.string(id.utf8), version: box.arena.string(version.utf8),
    ability: { provider, id in
      guard provider != nil, id.holds(TABELLA_OPTIONS_ID) else { return nil }
      return UnsafeRawPointer(optionsTable)
    },
    open: { provider, request, out, error in
      guard let provider else { return TABELLA_INVALID_ARGUMENT }
      let box = Unmanaged<ProviderBox>.fromOpaque(provider).takeUnretainedValue()
      do throws(TableError) {
        out.pointee = exportSource(try box.open(try importRequest(request.pointee)))
        return TABELLA_OK
      } catch let failure {
        return report(failure, to: error)
      }
    })
  return TABELLA_OK
}

private final class ProviderBox {
  let arena = ExportedMemory()
  let options: UnsafePointer<tabella_option>
  let optionCount: Int
  let open: (OpenRequest) throws(TableError) -> any TableDataSource

  init(
    options: [OptionDeclaration],
    open: @escaping (OpenRequest) throws(TableError) -> any TableDataSource
  ) {
    self.open = open
    let arena = arena
    self.options = arena.array(
      options.map { option in
        tabella_option(
          name: arena.string(option.name.utf8), type: option.kind.rawValue, reserved: 0,
          default_value: arena.string(option.defaultValue),
          choices: option.choices.isEmpty
            ? tabella_string() : arena.string(option.choices.joined(separator: "|").utf8),
          summary: arena.string(option.summary.utf8))
      })
    optionCount = options.count
  }
}

nonisolated(unsafe) private let optionsTable = immortal(
  tabella_options(declared: { provider, count in
    guard let provider else { return nil }
    let box = Unmanaged<ProviderBox>.fromOpaque(provider).takeUnretainedValue()
    count.pointee = Int64(box.optionCount)
    return box.options
  }))

private func importRequest(_ raw: tabella_open_request) throws(TableError) -> OpenRequest {
  guard let location = try raw.location.copied("the location"), !location.contains(0) else {
    throw TableError(.invalidArgument, "a location is missing or contains a NUL")
  }
  guard (0...10_000).contains(raw.option_count), raw.option_count == 0 || raw.options != nil else {
    throw TableError(.invalidArgument, "\(raw.option_count) options were given")
  }
  var options: [String: String] = [:]
  for option in UnsafeBufferPointer(start: raw.options, count: Int(raw.option_count)) {
    guard let name = try option.name.text("an option's name") else { continue }
    options[name] = try option.value.text("an option's value") ?? ""
  }
  return OpenRequest(
    location: location, scheme: try raw.scheme.text("the scheme"), options: options)
}
