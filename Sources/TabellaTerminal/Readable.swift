import Tabella

/// Values in a readable form for tables. JSON and CSV contain the exact values.
package enum Readable {
  /// A number of bytes in powers of 1024, rounded: `512`, `4.0K`, `12M`.
  package static func bytes(_ count: Int64) -> String {
    if count.magnitude < 1024 { return "\(count)" }
    var value = Double(count)
    var unit = 0
    let units = Array("KMGTPE")
    while value.magnitude >= 1024, unit < units.count {
      value /= 1024
      unit += 1
    }
    // A value that would be rounded to 1024 belongs to the next unit.
    if value.magnitude >= 1023.5, unit < units.count {
      value /= 1024
      unit += 1
    }
    let suffix = units[unit - 1]
    return value.magnitude < 9.95
      ? "\(decimal(value, 1))\(suffix)" : "\(decimal(value, 0))\(suffix)"
  }

  /// A large number in powers of 1000, with about two digits: `950`, `3.2M`.
  package static func count(_ value: Double) -> String {
    var value = value
    for unit in ["", "k", "M", "G"] {
      if value < 999.5 { return "\(decimal(value, unit.isEmpty || value >= 9.95 ? 0 : 1))\(unit)" }
      value /= 1000
    }
    return "\(decimal(value, 0))T"
  }

  /// A percentage with one digit after the point.
  package static func percent(_ value: Double) -> String { decimal(value, 1) }

  /// A moment on the clock of a zone, to the minute: `2026-11-21 01:57`, in UTC `2026-11-21 01:57Z`. JSON and CSV contain
  /// the same moment with all digits.
  package static func date(_ moment: Timestamp, in zone: Zone) -> String {
    let civil = zone.civil(moment)
    return "\(civil.dateText) \(civil.minuteText)\(zone.isUTC ? "Z" : "")"
  }

  static func decimal(_ value: Double, _ digits: Int) -> String {
    let scale = digits == 1 ? 10.0 : 1.0
    let rounded = (value * scale).rounded() / scale
    guard rounded.isFinite, rounded.magnitude < 1e15 else { return "\(value)" }
    return digits == 0 ? "\(Int64(rounded))" : "\(rounded)"
  }
}
