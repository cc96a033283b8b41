import CTabella
import Tabella

/// A version of the contract, such as 0.9. docs/contract.md, "Versions of the contract", states the rules.
package struct ContractVersion: Comparable, Sendable, CustomStringConvertible {
  /// The major version in the upper 16 bits, the minor version in the lower ones.
  package let number: UInt32

  /// The version of this build.
  package static let own = ContractVersion(TABELLA_CONTRACT_VERSION)

  /// Creates the version with this number.
  package init(_ number: UInt32) { self.number = number }

  /// Parses a version as manifests contain it: two decimal numbers up to 65535 with a point between them.
  package init?(_ text: String) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    let numbers = parts.compactMap { part in
      part.utf8.allSatisfy { 0x30...0x39 ~= $0 } ? UInt16(part) : nil
    }
    guard parts.count == 2, numbers.count == 2 else { return nil }
    number = UInt32(numbers[0]) << 16 | UInt32(numbers[1])
  }

  package var description: String { "\(number >> 16).\(number & 0xFFFF)" }

  package static func < (one: Self, other: Self) -> Bool { one.number < other.number }

  /// Whether this version works with ``own``.
  package var isAccepted: Bool { TABELLA_CONTRACT_OLDEST..<TABELLA_CONTRACT_END ~= number }

  /// Throws ``TableError`` with `.noProvider` if this version does not work with ``own``.
  ///
  /// `subject` is what was built for this version.
  package func checkAccepted(_ subject: String) throws(TableError) {
    guard !isAccepted else { return }
    throw TableError(
      .noProvider,
      "\(subject) was built for contract \(self), but this host has contract \(Self.own), which "
        + "works with \(ContractVersion(TABELLA_CONTRACT_OLDEST)) to "
        + "\((TABELLA_CONTRACT_END >> 16) - 1).x; "
        + (self < Self.own ? "build the provider again" : "use a newer version of tabella"))
  }
}

/// The contract version of this build in readable form.
package let contractVersionName = ContractVersion.own.description
