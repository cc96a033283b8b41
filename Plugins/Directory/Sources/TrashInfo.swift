import Glibc

/// The file beside what is in the trash, which says where it was and when it was put there.
enum TrashInfo {
  static let suffix = Array(".trashinfo".utf8)

  /// A path as the specification writes it: bytes that are not plain are `%` and two digits.
  static func text(path: [UInt8], date: time_t) -> [UInt8] {
    Array("[Trash Info]\nPath=".utf8) + escaped(path) + Array("\nDeletionDate=".utf8)
      + local(date) + [10]
  }

  private static let plain = Set(
    Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~/".utf8))
  private static let digits = Array("0123456789ABCDEF".utf8)

  private static func escaped(_ path: [UInt8]) -> [UInt8] {
    path.flatMap { byte in
      plain.contains(byte)
        ? [byte] : [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }
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
