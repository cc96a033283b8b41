import CTabella
import Tabella

/// Calls an entry as hosts of other contract versions would. Returns a description of the fault, or nil.
///
/// Of a host outside the family only the first two fields are known, and nothing follows them in memory. An entry that
/// accesses more ends the process. Use it only for checks, in a process that may end.
package func complaintAboutOtherVersions(_ entry: ProviderEntry) -> String? {
  let own = meet(entry, TABELLA_CONTRACT_VERSION).contract
  for version in [0, TABELLA_CONTRACT_OLDEST - 1, TABELLA_CONTRACT_END, 0x7FFF_0000, UInt32.max] {
    guard let memory = GuardedMemory(8) else { return nil }
    memory.start.storeBytes(of: version, as: UInt32.self)
    memory.start.storeBytes(of: UInt32.max, toByteOffset: 4, as: UInt32.self)
    let code = entry(memory.start.assumingMemoryBound(to: tabella_entry.self))
    let contract = memory.start.load(fromByteOffset: 4, as: UInt32.self)
    if let complaint = complaint(version, contract, own) { return complaint }
    guard code == TABELLA_NOT_SUPPORTED else {
      return "\(asked(version)), it returns \(name(of: code)), not not-supported"
    }
  }
  for version in [
    TABELLA_CONTRACT_OLDEST, TABELLA_CONTRACT_VERSION + 1, 0x1_0000, TABELLA_CONTRACT_END - 1,
  ] where version != TABELLA_CONTRACT_VERSION {
    let (code, contract) = meet(entry, version)
    if let complaint = complaint(version, contract, own) { return complaint }
    guard code == TABELLA_OK else {
      return "\(asked(version)), it returns \(name(of: code)), although it works with such a host"
    }
  }
  return nil
}

/// Calls an entry as a host of a version of the family.
private func meet(_ entry: ProviderEntry, _ version: UInt32) -> (code: Int32, contract: UInt32) {
  var meeting = tabella_entry()
  meeting.contract_version = version
  meeting.host = minimalHost
  let code = entry(&meeting)
  meeting.error.release?(&meeting.error)
  return (code, meeting.provider_contract)
}

private func complaint(_ version: UInt32, _ contract: UInt32, _ own: UInt32) -> String? {
  guard contract != own else { return nil }
  return "\(asked(version)), it reports that it was built for contract "
    + "\(ContractVersion(contract)), not \(ContractVersion(own))"
}

private func asked(_ version: UInt32) -> String {
  "asked by a host of contract \(ContractVersion(version))"
}

/// The name of a code.
func name(of code: Int32) -> String {
  code == TABELLA_OK ? "ok" : TableError.Code(rawValue: code).name
}
