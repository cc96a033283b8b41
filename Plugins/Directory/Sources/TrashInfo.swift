import Glibc

/// The content of a `.trashinfo` file: the former path of an entry and the time of its deletion.
enum TrashInfo {
  static let suffix = Array(".trashinfo".utf8)
  /// The maximum size in bytes that is read. It exceeds the longest path with three bytes for each byte.
  static let longest = 1 << 14

  /// The content in the format of the specification.
  static func text(path: [UInt8], date: time_t) -> [UInt8] {
    Array("[Trash Info]\nPath=".utf8) + Percent.escaped(path, keeping: UInt8(ascii: "/"))
      + Array("\nDeletionDate=".utf8) + local(date) + [10]
  }

  /// The local time, such as `2004-08-31T22:32:08`.
  private static func local(_ date: time_t) -> [UInt8] {
    var (date, parts) = (date, tm())
    tzset()
    localtime_r(&date, &parts)
    var text = [CChar](repeating: 0, count: 32)
    let count = strftime(&text, text.count, "%Y-%m-%dT%H:%M:%S", &parts)
    return text[..<count].map { UInt8(bitPattern: $0) }
  }
}
