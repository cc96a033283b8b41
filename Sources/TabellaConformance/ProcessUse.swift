import TabellaSystem

@_exported import struct TabellaSystem.ResourceUse

/// The resources that this process holds, and the bytes that it has read and written since its start.
struct ProcessUse {
  var resources: ResourceUse
  var bytes: Int

  /// The current use; nil if the kernel does not report it.
  static func now() -> ProcessUse? {
    guard let bytes = TransferredBytes() else { return nil }
    return ProcessUse(resources: .ofThisProcess(), bytes: Int(bytes.read + bytes.written))
  }
}
