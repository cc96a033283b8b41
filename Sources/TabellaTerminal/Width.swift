/// The number of columns that text takes in a terminal.
public func displayWidth(of text: String) -> Int {
  text.reduce(0) { $0 + displayWidth(of: $1) }
}

/// The number of columns that a grapheme takes: 0, 1 or 2.
func displayWidth(of character: Character) -> Int {
  let scalars = character.unicodeScalars
  guard let first = scalars.first else { return 0 }
  if first.value < 0x7F { return scalars.contains { $0.value == 0xFE0F } ? 2 : 1 }
  if isWide(first) || scalars.contains(where: { $0.value == 0xFE0F }) { return 2 }
  // A flag is two regional indicators.
  if 0x1F1E6...0x1F1FF ~= first.value { return scalars.count > 1 ? 2 : 1 }
  return scalars.allSatisfy(isZeroWidth) ? 0 : 1
}

private func isZeroWidth(_ scalar: Unicode.Scalar) -> Bool {
  switch scalar.properties.generalCategory {
  case .nonspacingMark, .enclosingMark, .format: scalar.value != 0xAD
  default: 0x1160...0x11FF ~= scalar.value
  }
}

/// Whether a terminal gives the scalar two columns: East Asian Width W and F (Unicode Standard
/// Annex 11), by block, and what is shown as an emoji by itself.
private func isWide(_ scalar: Unicode.Scalar) -> Bool {
  switch scalar.value {
  case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF,
    0xA000...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19,
    0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x16FE0...0x18CFF, 0x1AFF0...0x1B2FF,
    0x1F200...0x1F265, 0x20000...0x2FFFD, 0x30000...0x3FFFD:
    true
  default:
    scalar.value >= 0x231A && scalar.properties.isEmojiPresentation
      && !(0x1F1E6...0x1F1FF ~= scalar.value)
  }
}
