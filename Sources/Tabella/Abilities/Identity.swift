/// Ids of rows that outlive index paths.
///
/// An id is 1 to ``RowID/maximumLength`` printable ASCII characters, unique among the rows of a
/// version and never given to another row later, but for one that has the same content in every byte,
/// where an id is made of that. A source with this ability gives ids with the rows
/// that ask for them. The corresponding C table is `tabella_identity`.
public protocol TableIdentity: AnyObject {
  /// Returns where the row with this id is now; throws `.notFound` if it is gone.
  func indexPath(forID id: String) throws(TableError) -> IndexPath
}
