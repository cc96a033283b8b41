import CTabella
import Tabella

/// Calls an entry as hosts of other contract versions would. Returns a description of the fault, or nil.
///
/// Only the first two fields of such a host's struct are known, and nothing follows them in memory. An entry that
/// accesses more ends the process. Use it only for checks, in a process that may end.
package func complaintAboutOtherVersions(_ entry: ProviderEntry) -> String? {
  let own = TABELLA_CONTRACT_VERSION
  for version in [0, own + 1, own + 0x10000, 0x7FFF_0000, UInt32.max] where version != own {
    guard let memory = GuardedMemory(8) else { return nil }
    memory.start.storeBytes(of: version, as: UInt32.self)
    memory.start.storeBytes(of: UInt32.max, toByteOffset: 4, as: UInt32.self)
    let code = entry(memory.start.assumingMemoryBound(to: tabella_entry.self))
    let contract = memory.start.load(fromByteOffset: 4, as: UInt32.self)
    let host = "asked by a host of contract \(contractName(version))"
    guard contract == own else {
      return "\(host), it reports that it was built for contract \(contractName(contract)), not "
        + "\(contractVersionName)"
    }
    guard code == TABELLA_NOT_SUPPORTED else {
      return "\(host), it returns \(name(of: code)), not not-supported"
    }
  }
  return nil
}

/// The name of a code.
func name(of code: Int32) -> String {
  code == TABELLA_OK ? "ok" : TableError.Code(rawValue: code).name
}
