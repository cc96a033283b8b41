import CTabella
import Tabella

/// Calls an entry as hosts of other contract versions would; returns what is wrong, or nil.
///
/// Of such a host's struct only the first two fields are known, and they are all there is: an entry that
/// reads or writes behind them ends the process. For checks, in a process that may be lost.
public func complaintAboutOtherVersions(_ entry: ProviderEntry) -> String? {
  let own = TABELLA_CONTRACT_VERSION
  for version in [0, own + 1, own + 0x10000, 0x7FFF_0000, UInt32.max] where version != own {
    guard let memory = GuardedMemory(8) else { return nil }
    memory.start.storeBytes(of: version, as: UInt32.self)
    memory.start.storeBytes(of: UInt32.max, toByteOffset: 4, as: UInt32.self)
    let code = entry(memory.start.assumingMemoryBound(to: tabella_entry.self))
    let contract = memory.start.load(fromByteOffset: 4, as: UInt32.self)
    let host = "asked by a host of contract \(contractName(version))"
    guard contract == own else {
      return "\(host), it says that it was built for contract \(contractName(contract)), not "
        + "\(contractVersionName)"
    }
    guard code == TABELLA_NOT_SUPPORTED else {
      return "\(host), it answers \(name(of: code)), not not-supported"
    }
  }
  return nil
}

/// What a code is called.
func name(of code: Int32) -> String {
  code == TABELLA_OK ? "ok" : TableError.Code(rawValue: code).name
}
