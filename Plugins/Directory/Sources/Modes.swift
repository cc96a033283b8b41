import Glibc
import Tabella

/// The permission bits of a mode.
let permissionBits: UInt32 = 0o7777

/// The permissions in a text such as `rwxr-xr-x` (see ``permissions(_:)``) or in octal; nil if the text is neither.
func parsePermissions(_ text: [UInt8]) -> UInt32? {
  if (3...4).contains(text.count), text.allSatisfy({ 0x30...0x37 ~= $0 }) {
    return text.reduce(0) { $0 * 8 + UInt32($1 - 0x30) }
  }
  guard text.count == 9 else { return nil }
  var mode: UInt32 = 0
  for (index, letter) in text.enumerated() {
    let bit = UInt32(1) << UInt32(8 - index)
    switch letter {
    case UInt8(ascii: "-"): break
    case UInt8(ascii: "s"), UInt8(ascii: "t"), UInt8(ascii: "S"), UInt8(ascii: "T"):
      mode |= [2: S_ISUID, 5: S_ISGID, 8: S_ISVTX][index] ?? 0
      if letter >= UInt8(ascii: "a") { mode |= bit }
    default: mode |= bit
    }
  }
  // Formatting the result again finds letters in wrong positions.
  let shown = permissions(mode)
  return text.indices.allSatisfy { shown[$0] == text[$0] } ? mode : nil
}
