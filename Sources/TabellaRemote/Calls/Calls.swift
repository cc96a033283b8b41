import Tabella

/// The calls of a source, described in extensions. ``Operation/call`` lists them.
package enum Calls {
  /// An ability that a call needs.
  package static func ability<A>(_ ability: A?) throws(TableError) -> A {
    guard let ability else { throw TableError(.notSupported, "the source has no such ability") }
    return ability
  }
}
