import Glibc

/// A time zone: the offset of its clocks from UTC at each moment.
///
/// A zone converts moments to civil time, but not back. Clocks that are set back show one civil time twice, and clocks
/// that are set forward leave civil times out. Code that compares a moment with a civil time, such as `today`, therefore
/// converts the moment. Then each moment belongs to exactly one day, hour or minute: the one that a clock shows.
public struct Zone: Sendable {
  /// The name of the zone: `UTC`, the value of `TZ`, or `local`.
  public let name: String
  /// The offset at a Unix time; nil for UTC.
  private let rule: (@Sendable (_ second: Int64) -> Int)?

  /// Coordinated universal time.
  public static let utc = Zone("UTC", rule: nil)

  /// The zone of this process, as the C library determines it: from the variable `TZ`, otherwise from
  /// `/etc/localtime`. The process reads both once.
  public static let local: Zone = {
    // `localtime_r` need not read TZ itself.
    tzset()
    let name = getenv("TZ").map { String(cString: $0) } ?? ""
    return Zone(name.isEmpty ? "local" : name) { second in
      var time = time_t(second)
      var fields = tm()
      // It fails only if the year exceeds 32 bits.
      return localtime_r(&time, &fields) == nil ? 0 : Int(fields.tm_gmtoff)
    }
  }()

  /// Creates a zone. `offset` returns the seconds east of UTC at a Unix time. It must always return the same offset for
  /// the same time, and change at most once within 2^18 seconds (3 days).
  public init(_ name: String, offset: @escaping @Sendable (_ second: Int64) -> Int) {
    self.init(name, rule: offset)
  }

  private init(_ name: String, rule: (@Sendable (Int64) -> Int)?) {
    self.name = name
    self.rule = rule
  }

  /// Whether the zone is ``utc``. The zone of a process whose clock shows UTC is not.
  public var isUTC: Bool { rule == nil }

  /// The offset at a Unix time, in seconds east of UTC.
  ///
  /// - Complexity: one call of the C library. A ``Converter`` is faster for many moments.
  public func offset(atSecond second: Int64) -> Int { rule?(second) ?? 0 }

  /// The civil time of a moment.
  ///
  /// - Complexity: one call of the C library. A ``Converter`` is faster for many moments.
  public func civil(_ moment: Timestamp) -> CivilTime {
    let second = floorDivide(moment.nanoseconds, 1_000_000_000)
    return CivilTime(
      second: second + Int64(offset(atSecond: second)),
      nanosecond: moment.nanoseconds &- second &* 1_000_000_000)
  }

  /// RFC 3339 in this zone, with 0, 3, 6 or 9 digits of a second: `2024-02-29T13:00:00.500+01:00`, or `Z` in ``utc``.
  ///
  /// An offset that is no whole number of minutes has seconds, too. Such offsets ended in the 20th century.
  public func description(of moment: Timestamp) -> String {
    let exact = moment.description
    if isUTC { return exact }
    let civil = civil(moment)
    let offset = offset(atSecond: floorDivide(moment.nanoseconds, 1_000_000_000))
    func two(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
    let rest = offset.magnitude
    var zone = "\(offset < 0 ? "-" : "+")\(two(Int(rest / 3600))):\(two(Int(rest / 60 % 60)))"
    if rest % 60 != 0 { zone += ":\(two(Int(rest % 60)))" }
    // The fraction of the second is the same in all zones.
    return
      "\(civil.dateText)T\(civil.minuteText):\(two(Int(civil.second)))\(exact.dropFirst(19).dropLast())\(zone)"
  }

  /// Converts many moments to civil time. It remembers offsets of the last periods, in 12 KiB.
  public struct Converter: Sendable {
    /// The zone of the civil times.
    public let zone: Zone
    private var periods: [Period] = []

    /// The offsets of a period of 2^18 seconds that begins at a multiple of this number.
    private struct Period {
      var number = Int64.min
      /// The Unix time at which the offset changes, or the end of the period.
      var change: Int64 = 0
      var before = 0
      var after = 0
    }

    /// Creates a converter. It allocates memory with its first conversion.
    public init(_ zone: Zone) { self.zone = zone }

    /// The civil time of a moment.
    /// - Complexity: O(1); about two calls of the C library per period of 3 days.
    public mutating func civil(_ moment: Timestamp) -> CivilTime {
      let second = floorDivide(moment.nanoseconds, 1_000_000_000)
      return civil(second: second, nanosecond: moment.nanoseconds &- second &* 1_000_000_000)
    }

    /// The civil time of a Unix time. `nanosecond` is from 0 to 999,999,999.
    mutating func civil(second: Int64, nanosecond: Int64) -> CivilTime {
      CivilTime(second: second + Int64(offset(atSecond: second)), nanosecond: nanosecond)
    }

    /// The civil time that a text states, or nil if the text is no date.
    ///
    /// The text is an RFC 3339 date, or a date and time. The time can be incomplete (`2024-05-01 12:30`). A text with a
    /// zone is a moment, which the converter shows in its own zone. A text without a zone is already a civil time and
    /// never shifts.
    public mutating func civil(text: UnsafeRawBufferPointer) -> CivilTime? {
      StatedTime(text).map { civil($0) }
    }

    /// The civil time that a text states.
    mutating func civil(_ stated: StatedTime) -> CivilTime {
      guard let offset = stated.offset else { return stated.civil }
      return civil(second: stated.second - offset, nanosecond: stated.nanosecond)
    }

    /// The offset at a Unix time, in seconds east of UTC.
    public mutating func offset(atSecond second: Int64) -> Int {
      if zone.isUTC { return 0 }
      if periods.isEmpty { periods = [Period](repeating: Period(), count: 512) }
      let number = second >> 18
      let slot = Int(truncatingIfNeeded: number & 511)
      if periods[slot].number != number { periods[slot] = period(number) }
      return second < periods[slot].change ? periods[slot].before : periods[slot].after
    }

    private func period(_ number: Int64) -> Period {
      let seconds = number << 18..<(number + 1) << 18
      let before = zone.offset(atSecond: seconds.lowerBound)
      let after = zone.offset(atSecond: seconds.upperBound - 1)
      var change = seconds.upperBound
      if before != after {
        // The offset at `low` is the first one, and at `change` the second one.
        var low = seconds.lowerBound
        change = seconds.upperBound - 1
        while change - low > 1 {
          let middle = low + (change - low) / 2
          if zone.offset(atSecond: middle) == before { low = middle } else { change = middle }
        }
      }
      return Period(number: number, change: change, before: before, after: after)
    }
  }
}
