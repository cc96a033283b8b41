extension BinaryInteger {
  /// The number with a comma between groups of three digits: `12,345`.
  public var grouped: String {
    let digits = Array(String(magnitude))
    let text = digits.indices.map { index in
      let isThird = index > 0 && (digits.count - index).isMultiple(of: 3)
      return (isThird ? "," : "") + String(digits[index])
    }
    return (self < 0 ? "-" : "") + text.joined()
  }
}
