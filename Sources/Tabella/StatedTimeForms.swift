// Dates that are not in the form of RFC 3339, but have one meaning: `4.6.2025`, `[20/Nov/2026:09:12:31 +0000]`.

extension StatedTime {
  /// Reads a date, or a date and time, in any known form; nil for any other text.
  ///
  /// The forms are RFC 3339, day, month and year with points (`04.06.2025 12:30`), and that of the logs of web servers
  /// (`20/Nov/2026:09:12:31 +0000`, also in brackets). With slashes between numbers, nobody knows which one is the day.
  init?(anyForm text: UnsafeRawBufferPointer) {
    guard text.count <= StatedTime.longest else { return nil }
    if let time = StatedTime(text) {
      self = time
      return
    }
    guard let (time, end) = StatedTime.otherForm(startOf: text), end == text.count else {
      return nil
    }
    self = time
  }

  /// Reads a month, `2026-02`, as its first day; nil for any other text. Groups by months have such titles.
  init?(month text: UnsafeRawBufferPointer) {
    var reader = DateFormReader(text: text)
    guard text.count == 7, let time = reader.month() else { return nil }
    self = time
  }

  /// Reads a date in one of the other forms at the start of a text that can continue; nil if there is none.
  init?(otherFormAtStartOf text: UnsafeRawBufferPointer) {
    guard let (time, _) = StatedTime.otherForm(startOf: text) else { return nil }
    self = time
  }

  /// The maximum number of bytes of a date: `2024-02-29T12:00:00.123456789+01:00`.
  private static let longest = 35

  private static func otherForm(startOf text: UnsafeRawBufferPointer) -> (StatedTime, end: Int)? {
    guard text.count >= 8 else { return nil }
    var reader = DateFormReader(text: text)
    if text[1] == UInt8(ascii: ".") || text[2] == UInt8(ascii: ".") { return reader.pointed() }
    let slash = UInt8(ascii: "/")
    return text[2] == slash || text[3] == slash ? reader.log() : nil
  }
}

private struct DateFormReader {
  let text: UnsafeRawBufferPointer
  private var at = 0

  init(text: UnsafeRawBufferPointer) { self.text = text }

  /// `4.6.2025`, and a time after a blank: `12:30` or `12:30:59`.
  mutating func pointed() -> (StatedTime, end: Int)? {
    guard let day = digits(1...2), take("."), let month = digits(1...2), take("."),
      let year = digits(4...4), let date = StatedTime(year: year, month, day)
    else { return nil }
    // `10.1.2024.5` is no date.
    if at < text.count, text[at] == UInt8(ascii: ".") || 48...57 ~= text[at] {
      guard text[at] == UInt8(ascii: "."), at + 1 == text.count || text[at + 1] == 32 else {
        return nil
      }
    }
    let end = at
    guard take(" "), let time = time(), at == text.count || !(48...57 ~= text[at]) else {
      return (date, end)
    }
    return (date.adding(time.second, time.extent), at)
  }

  /// `20/Nov/2026:09:12:31`, and a zone after a blank: `+0100`. Both can be in brackets.
  mutating func log() -> (StatedTime, end: Int)? {
    let hasBracket = take("[")
    guard let day = digits(2...2), take("/"), let month = namedMonth(), take("/"),
      let year = digits(4...4), let date = StatedTime(year: year, month, day), take(":"),
      let time = time(), time.extent == .second
    else { return nil }
    let end = at
    var result = date.adding(time.second, .second)
    if take(" "), let zone = zone() { result = result.with(offset: zone) } else { at = end }
    if hasBracket { _ = take("]") }
    return (result, at)
  }

  /// `2026-02`, at its first day.
  mutating func month() -> StatedTime? {
    guard let year = digits(4...4), take("-"), let month = digits(2...2) else { return nil }
    return StatedTime(year: year, month, 1)
  }

  private mutating func time() -> (second: Int64, extent: StatedTime.Extent)? {
    guard let hour = digits(2...2), hour < 24, take(":"), let minute = digits(2...2), minute < 60
    else { return nil }
    let minutes = hour * 3600 + minute * 60
    let end = at
    guard take(":"), let second = digits(2...2), second < 60 else {
      at = end
      return (minutes, .minute)
    }
    return (minutes + second, .second)
  }

  private mutating func zone() -> Int64? {
    let isEast = take("+")
    guard isEast || take("-"), let hours = digits(2...2), let minutes = digits(2...2), hours < 24,
      minutes < 60
    else { return nil }
    return (isEast ? 1 : -1) * (hours * 3600 + minutes * 60)
  }

  private static let months = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
  ].map { Array($0.utf8) }

  private mutating func namedMonth() -> Int64? {
    guard at + 3 <= text.count else { return nil }
    let name = text[at..<at + 3].map { NaturalOrder.folded($0) }
    guard let number = DateFormReader.months.firstIndex(of: name) else { return nil }
    at += 3
    return Int64(number) + 1
  }

  /// Reads as many digits as there are, up to the upper bound; nil if there are too few.
  private mutating func digits(_ count: ClosedRange<Int>) -> Int64? {
    let start = at
    var value: Int64 = 0
    while at < text.count, at - start < count.upperBound, 48...57 ~= text[at] {
      value = value * 10 + Int64(text[at] - 48)
      at += 1
    }
    return at - start >= count.lowerBound ? value : nil
  }

  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard at < text.count, text[at] == UInt8(truncatingIfNeeded: character.value) else {
      return false
    }
    at += 1
    return true
  }
}
