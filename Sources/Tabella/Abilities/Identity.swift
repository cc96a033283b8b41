/// The ability to name rows by ids, which stay valid when index paths change.
///
/// An id is 1 to ``RowID/maximumLength`` printable ASCII characters. It is unique among the rows of a version. It
/// never names another row later, with two exceptions. If ids are made from content, an id can name a later row with
/// the same content in every byte. If ids are keys, a row that gets the key of a deleted or renamed row gets its id,
/// also within one batch. A source with this ability returns ids with rows if the request asks for them.
/// The corresponding C table is `tabella_identity`.
public protocol TableIdentity: AnyObject {
  /// Returns the current path of the row with this id. Throws ``TableError`` with `.notFound` if the row is gone.
  func indexPath(forID id: String) throws(TableError) -> IndexPath
}

// The checks of an untrusted source's answers.

extension CheckedSource {
  package func indexPath(forID id: String) throws(TableError) -> IndexPath {
    try call("identity.find") { base throws(TableError) in
      try offered(base.identity).indexPath(forID: id).checked()
    }
  }
}
