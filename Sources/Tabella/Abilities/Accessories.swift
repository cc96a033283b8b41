/// The ability to name the location that a row leads to, for example the file of a directory's row.
///
/// The corresponding C table is `tabella_accessories`.
public protocol TableAccessories: AnyObject {
  /// Returns the location that a row leads to, as bytes without NUL; nil if the row leads nowhere.
  func location(forRowAt path: IndexPath) throws(TableError) -> [UInt8]?
}

// The checks of an untrusted source's answers.

extension CheckedSource {
  package func location(forRowAt path: IndexPath) throws(TableError) -> [UInt8]? {
    try call("accessories.location") { base throws(TableError) in
      let location = try offered(base.accessories).location(forRowAt: path)
      guard location?.contains(0) != true else {
        throw TableError(.misbehaved, "a location contains a NUL")
      }
      return location
    }
  }
}
