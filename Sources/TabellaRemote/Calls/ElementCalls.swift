import Tabella

// Elements beside rows, where rows lead, diagnostics.

extension Calls {
  static let supplementaryKinds = Call<[String]>(
    .supplementaryKinds, answered: { $0.shortened { $0 } },
    make: { source throws(TableError) in try ability(source.supplementary).supplementaryKinds() })

  package static let supplementaryElement = Call<SupplementaryElement?, String, IndexPath>(
    .supplementaryElement, as: .element, asked: { "\($0) \($1)" }, answered: \.traced,
    make: { source, kind, path throws(TableError) in
      try ability(source.supplementary).supplementaryElement(ofKind: kind, at: path)
    })

  static let location = Call<WireBytes?, IndexPath>(
    .location, asked: { "\($0)" }, answered: { $0.map { "\($0.bytes.count) bytes" } ?? "none" },
    make: { source, path throws(TableError) in
      try ability(source.accessories).location(forRowAt: path).map { WireBytes($0) }
    })

  static let nextDiagnostic = Call<Diagnostic?>(
    .nextDiagnostic,
    answered: { $0.map { "a \($0.severity) of \($0.message.utf8.count) bytes" } ?? "none" },
    make: { source throws(TableError) in try ability(source.diagnostics).nextDiagnostic() })
}

extension ForwardingSource {
  package func supplementaryKinds() throws(TableError) -> [String] {
    try call(Calls.supplementaryKinds)
  }

  package func supplementaryElement(
    ofKind kind: String, at path: IndexPath
  ) throws(TableError) -> SupplementaryElement? {
    try call(Calls.supplementaryElement, kind, path)
  }

  package func location(forRowAt path: IndexPath) throws(TableError) -> [UInt8]? {
    try call(Calls.location, path)?.bytes
  }

  package func nextDiagnostic() -> Diagnostic? { (try? call(Calls.nextDiagnostic)) ?? nil }
}
