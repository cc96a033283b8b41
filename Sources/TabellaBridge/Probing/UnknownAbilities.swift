import CTabella
import Tabella

extension ImportedProvider {
  /// Asks a provider, and a source that a request opens, for abilities that do not exist. Returns a description of
  /// a wrong answer, or nil.
  ///
  /// The memory after each id is inaccessible. If code treats an id as a NUL-terminated string, the process ends.
  package func complaintAboutAbilities(
    opening request: OpenRequest?
  ) throws(TableError) -> String? {
    if let complaint = complaint(
      about: "the provider", [TABELLA_OPTIONS_ID],
      ask: raw.ability.map {
        ability in { ability(self.raw.provider, $0) }
      })
    {
      return complaint
    }
    guard let request else { return nil }
    let foreign = try ForeignSource(try openRaw(request), provider: id)
    return complaint(
      about: "the source", CrossingAbility.all.map(\.id),
      ask: foreign.table.ability.map { ability in { ability(foreign.source, $0) } })
  }

  private func complaint(
    about who: String, _ known: [String], ask: ((tabella_string) -> UnsafeRawPointer?)?
  ) -> String? {
    guard let ask else { return nil }
    func answer(_ bytes: [UInt8]) -> UnsafeRawPointer? {
      guard let memory = GuardedMemory(bytes) else { return nil }
      defer { withExtendedLifetime(memory) {} }
      return ask(
        tabella_string(
          bytes: memory.start.assumingMemoryBound(to: CChar.self), length: Int64(bytes.count)))
    }
    for id in known {
      let bytes = Array(id.utf8)
      guard answer(bytes) == answer(bytes) else {
        return "\(who) returns another function table for \(id) at each call"
      }
      let others: [[UInt8]] = [
        bytes + Array("x".utf8), bytes + Array(" ".utf8), bytes + [0], bytes.dropLast(),
        Array(bytes.dropLast()) + Array("2".utf8), Array(id.uppercased().utf8),
        Array("x".utf8) + bytes,
      ]
      for other in others where answer(other) != nil {
        return "\(who) has an ability \(String(decoding: other, as: UTF8.self).debugDescription)"
      }
    }
    for other in [[], Array("tabella.nothing/1".utf8), Array(repeating: 0x61, count: 65_536)]
    where answer(other) != nil {
      return
        "\(who) has an ability \(String(decoding: other.prefix(40), as: UTF8.self).debugDescription)"
    }
    guard ask(tabella_string()) == nil else { return "\(who) has an ability without an id" }
    return nil
  }
}
