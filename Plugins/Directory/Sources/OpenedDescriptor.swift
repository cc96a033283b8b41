import TabellaSystem

extension Descriptor {
  /// Takes over the descriptor that a call returned. Throws ``Failure`` for a result of -errno.
  init(opened result: Int32) throws(Failure) {
    guard result >= 0 else { throw Failure(-result) }
    self.init(owning: result)
  }
}
