/// Where rows lead: a directory's row to the file that it names.
///
/// The corresponding C table is `tabella_accessories`.
public protocol TableAccessories: AnyObject {
  /// Returns the location (bytes, no NUL) that a row leads to; nil if it leads nowhere.
  func location(forRowAt path: IndexPath) throws(TableError) -> [UInt8]?
}
