import Glibc
import Tabella
import TabellaFiles

/// Facts about a process from `/proc/PID` that no column shows.
///
/// A fact that does not exist is left out. An unreadable fact is missing. The environment is never read, because it
/// contains secrets. Links are read but not followed, so that no file server can block.
struct Details {
  /// The maximum number of groups and of control groups to list.
  private static let mostGroups = 32
  /// The maximum number of open files to count.
  private static let mostFiles = 100_000

  private(set) var facts: [(name: String, value: Cell)] = []

  /// Reads the facts. `parent` is nil if the process has no parent.
  init(
    of folder: borrowing ProcessFolder, parent: (pid: Int64, name: [UInt8])?
  ) throws(TableError) {
    add("executable", try folder.target(of: "exe"))
    add("folder", try folder.target(of: "cwd"))
    let root = try folder.target(of: "root")
    if root != .read([UInt8(ascii: "/")]) { add("root", root) }
    if let parent { add("parent", .read(Array("\(parent.pid) ".utf8) + parent.name)) }
    add("terminal", try folder.read("stat") { terminalName($0) })
    let status = try folder.read("status") { DetailFields($0) }
    addAccounts(status)
    try addGroups(folder)
    add("threads", status) { $0.number("Threads").map(\.grouped) }
    try addFiles(folder)
    add("virtual memory", status) { $0.size("VmSize") }
    add("largest memory", status) { $0.size("VmHWM") }
    add("swapped out", status) { $0.size("VmSwap") }
    let io = try folder.read("io") { DetailFields($0) }
    add("read from disk", io) { $0.number("read_bytes").map(bytesText) }
    add("written to disk", io) { $0.number("write_bytes").map(bytesText) }
    add("waited", status) { $0.number("voluntary_ctxt_switches").map(timesText) }
    add("interrupted", status) { $0.number("nonvoluntary_ctxt_switches").map(timesText) }
    add(
      "out of memory score",
      try folder.read("oom_score") { line in
        var words = Words(line)
        return words.next().map { Array($0) }
      })
  }

  private mutating func add(_ name: String, _ value: ReadResult<[UInt8]>) {
    switch value {
    case .absent: break
    case .denied: facts.append((name, .missing))
    case .read(let bytes): facts.append((name, .text(bytes)))
    }
  }

  private mutating func add(
    _ name: String, _ fields: ReadResult<DetailFields>, _ value: (DetailFields) -> String?
  ) {
    add(name, fields.map { value($0).map { Array($0.utf8) } })
  }

  // Accounts

  private mutating func addAccounts(_ status: ReadResult<DetailFields>) {
    var users = AccountNames(.user)
    var groups = AccountNames(.group)
    add("user", status.map { accounts($0.numbers("Uid")) { users[$0] } })
    add("group", status.map { accounts($0.numbers("Gid")) { groups[$0] } })
    add(
      "other groups",
      status.map { status in
        let numbers = status.numbers("Groups")
        if numbers.isEmpty { return nil }
        var names = numbers.prefix(Details.mostGroups).map { groups[$0] }
        let more = numbers.count - names.count
        if more > 0 { names.append(Array("… \(more.grouped) more".utf8)) }
        return Array(names.joined(separator: Array(", ".utf8)))
      })
  }

  /// The account name; three names if the real, effective and saved accounts differ.
  private func accounts(_ numbers: [UInt32], _ name: (UInt32) -> [UInt8]) -> [UInt8]? {
    guard numbers.count >= 3 else { return nil }
    if Set(numbers[..<3]).count == 1 { return name(numbers[0]) }
    let parts = zip(["real", "effective", "saved"], numbers).map { kind, number in
      Array("\(kind) ".utf8) + name(number)
    }
    return Array(parts.joined(separator: Array(", ".utf8)))
  }

  /// Adds the control groups: for version 2 only the path, for version 1 the controllers and the path.
  private mutating func addGroups(_ folder: borrowing ProcessFolder) throws(TableError) {
    let lines = try folder.read("cgroup") { file in
      file.split(separator: 10).prefix(Details.mostGroups).map { Array($0) }
    }
    guard case .read(let lines) = lines else { return add("control group", lines.map { _ in nil }) }
    for line in lines {
      let isSecond = line.starts(with: "0::".utf8)
      let text = line.drop { $0 != UInt8(ascii: ":") }.dropFirst(isSecond ? 2 : 1)
      if !text.isEmpty { add("control group", .read(Array(text))) }
    }
  }

  // Files

  private mutating func addFiles(_ folder: borrowing ProcessFolder) throws(TableError) {
    let count = try folder.count(of: "fd", upTo: Details.mostFiles)
    add(
      "open files",
      count.map { count in
        Array((count < Details.mostFiles ? "" : "at least ").utf8) + Array(count.grouped.utf8)
      })
    add(
      "most open files",
      try folder.read("limits") { file in
        for line in file.split(separator: 10) where line.starts(with: "Max open files ".utf8) {
          var words = Words(UnsafeRawBufferPointer(rebasing: line.dropFirst(15)))
          guard let limit = words.next() else { return nil }
          return decimal(limit).map { Array($0.grouped.utf8) } ?? Array(limit)
        }
        return nil
      })
  }
}

/// The result of a read.
enum ReadResult<Value> {
  /// The file does not exist or is malformed.
  case absent
  /// The file must not be read.
  case denied
  case read(Value)

  func map<Other>(_ body: (Value) -> Other?) -> ReadResult<Other> {
    switch self {
    case .absent: .absent
    case .denied: .denied
    case .read(let value): body(value).map { .read($0) } ?? .absent
    }
  }
}

extension ReadResult: Equatable where Value: Equatable {}

/// The fields of a file with lines such as `Name: value`.
struct DetailFields {
  private var values: [String: [UInt8]] = [:]

  init(_ file: UnsafeRawBufferPointer) {
    for line in file.split(separator: 10) {
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { continue }
      let name = String(decoding: line[..<colon], as: UTF8.self)
      values[name] = line[(colon + 1)...].map { $0 == 9 ? 0x20 : $0 }
    }
  }

  /// The words of a value that are account numbers.
  func numbers(_ name: String) -> [UInt32] {
    (values[name] ?? []).split(separator: 0x20).compactMap {
      decimal($0).flatMap(UInt32.init(exactly:))
    }
  }

  func number(_ name: String) -> Int64? {
    (values[name] ?? []).split(separator: 0x20).first.flatMap { decimal($0) }
  }

  func hexadecimal(_ name: String) -> UInt64? {
    (values[name] ?? []).split(separator: 0x20).first.flatMap {
      UInt64(String(decoding: $0, as: UTF8.self), radix: 16)
    }
  }

  /// The text for a size. The kernel counts in KiB, and the text in bytes.
  func size(_ name: String) -> String? {
    guard let (bytes, isTooLarge) = number(name)?.multipliedReportingOverflow(by: 1024),
      !isTooLarge
    else { return nil }
    return bytesText(bytes)
  }
}

private func bytesText(_ count: Int64) -> String {
  count == 1 ? "1 byte" : "\(count.grouped) bytes"
}

private func timesText(_ count: Int64) -> String { count == 1 ? "once" : "\(count.grouped) times" }

/// The name of the terminal from a line of `stat`; nil if there is none.
private func terminalName(_ line: UnsafeRawBufferPointer) -> [UInt8]? {
  guard let close = line.lastIndex(of: UInt8(ascii: ")")) else { return nil }
  var words = Words(UnsafeRawBufferPointer(rebasing: line[(close + 1)...]))
  // The numbering of proc(5), in which the state is field 3.
  for _ in 3..<7 { _ = words.next() }
  guard
    let device = words.next().flatMap({ decimal($0) }).flatMap({ UInt32(truncatingIfNeeded: $0) }),
    device != 0
  else { return nil }
  let major = device >> 8 & 0xFFF
  let minor = device & 0xFF | device >> 12 & 0xFFF00
  let name =
    switch (major, minor) {
    case (4, 0..<64): "tty\(minor)"
    case (4, _): "ttyS\(minor - 64)"
    case (136...143, _): "pts/\((major - 136) << 8 + minor)"
    default: "\(major):\(minor)"
    }
  return Array(name.utf8)
}
