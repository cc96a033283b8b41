import Tabella

/// Values as people read them in a table; JSON and CSV have the exact ones.
public enum Readable {
  /// A number of bytes: `512`, `4.0K`, `12M`, in powers of 1024, to the nearest.
  public static func bytes(_ count: Int64) -> String {
    if count.magnitude < 1024 { return "\(count)" }
    var value = Double(count)
    var unit = 0
    let units = Array("KMGTPE")
    while value.magnitude >= 1024, unit < units.count {
      value /= 1024
      unit += 1
    }
    // What would round to 1024 belongs to the next unit.
    if value.magnitude >= 1023.5, unit < units.count {
      value /= 1024
      unit += 1
    }
    let suffix = units[unit - 1]
    return value.magnitude < 9.95
      ? "\(decimal(value, 1))\(suffix)" : "\(decimal(value, 0))\(suffix)"
  }

  /// A large number to two places: `950`, `3.2M`, in powers of 1000.
  public static func count(_ value: Double) -> String {
    var value = value
    for unit in ["", "k", "M", "G"] {
      if value < 999.5 { return "\(decimal(value, unit.isEmpty || value >= 9.95 ? 0 : 1))\(unit)" }
      value /= 1000
    }
    return "\(decimal(value, 0))T"
  }

  /// A percentage with one digit behind the point.
  public static func percent(_ value: Double) -> String { decimal(value, 1) }

  /// A moment in UTC, to the second: `2026-11-21 01:57:33Z`. JSON and CSV say the same, with all digits.
  public static func date(_ moment: Timestamp) -> String {
    let exact = moment.description
    return "\(exact.prefix(10)) \(exact.dropFirst(11).prefix(8))Z"
  }

  static func decimal(_ value: Double, _ digits: Int) -> String {
    let scale = digits == 1 ? 10.0 : 1.0
    let rounded = (value * scale).rounded() / scale
    guard rounded.isFinite, rounded.magnitude < 1e15 else { return "\(value)" }
    return digits == 0 ? "\(Int64(rounded))" : "\(rounded)"
  }
}
