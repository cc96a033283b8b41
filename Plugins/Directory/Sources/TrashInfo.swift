import Glibc

/// The file beside what is in the trash, which says where it was and when it was put there.
enum TrashInfo {
  static let suffix = Array(".trashinfo".utf8)
  /// Longer than any that is written: a path, each byte as three.
  static let longest = 1 << 14

  /// A path as the specification writes it.
  static func text(path: [UInt8], date: time_t) -> [UInt8] {
    Array("[Trash Info]\nPath=".utf8) + Percent.escaped(path, keeping: UInt8(ascii: "/"))
      + Array("\nDeletionDate=".utf8) + local(date) + [10]
  }

  /// `2004-08-31T22:32:08`, as clocks here show it.
  private static func local(_ date: time_t) -> [UInt8] {
    var (date, parts) = (date, tm())
    tzset()
    localtime_r(&date, &parts)
    var text = [CChar](repeating: 0, count: 32)
    let count = strftime(&text, text.count, "%Y-%m-%dT%H:%M:%S", &parts)
    return text[..<count].map { UInt8(bitPattern: $0) }
  }
}
