import Foundation
import Tabella
import TabellaSDK
import Testing

@testable import TabellaProcesses
@testable import TabellaTestSupport

/// The provider with an artificial procfs.
@Suite struct ProcessesTests {
  private let procfs: FakeProcfs

  init() throws { procfs = try FakeProcfs() }

  @Test func columnsAreThoseOfTheManifest() throws {
    try procfs.add(1)
    let manifest = try JSONValue(parsing: shippedManifest("Processes/tabella-processes.json"))
    let declared = try #require(manifest["columns"]?.array)
    let columns = try procfs.open().columns
    #expect(columns.map(\.name) == declared.map { $0["name"]?.string })
    #expect(columns.map(\.type.name) == declared.map { $0["type"]?.string })
    #expect(columns.map(\.unit?.rawValue) == declared.map { $0["unit"]?.string })
  }

  @Test func locationMustBeEmpty() throws {
    let request = OpenRequest(location: Array("/proc".utf8), scheme: "processes")
    let error = #expect(throws: TableError.self) { try ProcessesProvider().open(request) }
    #expect(error?.code == .invalidArgument)
    #expect(
      error?.message
        == "the provider processes cannot open a path; the location is processes: without more text"
    )
  }

  @Test func rootMustBeProcfs() {
    for root in ["\(procfs.root)/no-such-folder", procfs.root, "\(procfs.root)/stat"] {
      let error = #expect(throws: TableError.self) { try ProcessesSource(root: root) }
      #expect(error?.code == .io)
      #expect(error?.message.contains(root) == true)
    }
  }

  @Test func rowsAreThePIDsInNumericOrder() throws {
    for pid in [100, 9, 21, 3] { try procfs.add(pid) }
    for name in ["self", "0", "-1", "+5", "007", "12a", "99999999999999999999", "4294967297", "1 "]
    {
      try procfs.write("\(name)/stat", [])
    }
    let source = try procfs.open()
    #expect(try source.numberOfRows(inSection: 0, knowing: 0) == .exact(4))
    #expect(try source.cells("pid") == [3, 9, 21, 100])
    #expect(source.hasVolatileOrder)
  }

  @Test func cellsComeFromTheFiles() throws {
    try procfs.add(
      42, "sleep", state: "S", parent: 7, nice: -5, start: 250, pages: 3,
      arguments: Array("sleep\u{0}10\u{0}".utf8))
    let row = try procfs.open().row(0)
    #expect(row["pid"] == 42)
    #expect(row["parent"] == 7)
    #expect(row["state"] == "S")
    #expect(row["nice"] == -5)
    #expect(row["memory"] == .integer(3 * pageSize))
    #expect(row["command"] == "sleep")
    #expect(row["arguments"] == "sleep 10")
    #expect(row["user"] == .text(userName()))
    let ticks = 250 / ticksPerSecond
    let start = Timestamp(
      seconds: 1_700_000_000 + ticks,
      nanoseconds: (250 - ticks * ticksPerSecond) * (1_000_000_000 / ticksPerSecond))
    #expect(row["started"] == start.map { .date($0) })
  }

  @Test(arguments: [
    "a)b", "a) S 1 2 (b", "two words", "line\nend", "()", "((", "))", "", " ", "\u{1B}[31mred",
  ])
  func namesMayHoldAnything(name: String) throws {
    try procfs.add(5, name, state: "R", parent: 3)
    let row = try procfs.open().row(0)
    #expect(row["command"] == .text(name))
    #expect(row["state"] == "R")
    #expect(row["parent"] == 3)
  }

  @Test func textThatIsNotUTF8Stays() throws {
    try procfs.add(5, arguments: [0xFE, 0, 0x80, 0])
    try procfs.write("5/stat", StatText(pid: 5, name: [0xFF, 0x29, 0xC3]).bytes)
    let row = try procfs.open().row(0)
    #expect(row["command"] == .text([0xFF, 0x29, 0xC3]))
    #expect(row["arguments"] == .text([0xFE, 0x20, 0x80]))
  }

  @Test(arguments: [
    ("a\0b\0", "a b"), ("a\0\0b\0\0\0", "a  b"), ("\0", ""), ("\0\0\0", ""), ("\0a\0", " a"),
    ("nginx: worker process", "nginx: worker process"), ("title \0\0\0", "title "),
    ("a b\0c\n\0", "a b c\n"),
  ])
  func argumentsAreSetApartBySpaces(file: String, cell: String) throws {
    try procfs.add(5, arguments: Array(file.utf8))
    #expect(try procfs.open().cells("arguments") == [.text(cell)])
  }

  @Test func withoutCommandLineArgumentsAreMissing() throws {
    try procfs.add(2, "kthreadd", parent: 0, pages: 0)
    try procfs.add(3, "zombie", state: "Z", pages: 0)
    let source = try procfs.open()
    #expect(try source.cells("arguments") == [.missing, .missing])
    #expect(try source.cells("memory") == [0, 0])
    #expect(try source.cells("command") == ["kthreadd", "zombie"])
  }

  @Test func argumentsMayBeLong() throws {
    var long = [UInt8](repeating: UInt8(ascii: "x"), count: 2 << 20)
    for index in stride(from: 1000, to: long.count, by: 1001) { long[index] = 0 }
    for pid in 1...5 { try procfs.add(pid, arguments: long + [0, 0]) }
    let source = try procfs.open()
    let batch = try source.rows(RowRequest(first: 0, count: 5, columns: [9]))
    #expect((1..<5).contains(batch.rowCount), "a batch must not grow without bounds")
    let cells = try source.cells("arguments")
    #expect(cells.count == 5)
    let spaced = Cell.text(long.map { $0 == 0 ? 0x20 : $0 })
    #expect(cells.allSatisfy { $0 == spaced })
  }

  @Test func endlessArgumentsAreCut() throws {
    try procfs.add(1)
    // A hole, so that the file needs no space.
    #expect(truncate("\(procfs.root)/1/cmdline", 1 << 40) == 0)
    #expect(try procfs.open().cells("arguments") == [""])
  }

  @Test(arguments: [
    "", "\n", "1", "1 (", "1 (a", "1 )a(", "1 (a)", "1 (a) S", "1 (a) SS 1", "1 (a) S 1 x",
    StatText(pid: 1, start: "99999999999999999999").string, StatText(pid: 1, start: "-1").string,
    StatText(pid: 1, start: "1x").string, StatText(pid: 1, parent: "1-").string,
    StatText(pid: 1, parent: "-").string, String(repeating: "(", count: 100_000),
  ])
  func malformedStatLeavesOnlyThePID(stat: String) throws {
    try procfs.add(1, arguments: [65])
    try procfs.write("1/stat", Array(stat.utf8))
    let source = try procfs.open()
    #expect(try source.row(0).filter { $0.value != .missing } == ["pid": 1])
    #expect(try source.id(0) == "1.gone.3f2a9c10deadbeef")
  }

  /// A truncated line leads to a row with all cells or none.
  @Test func cutStatIsNoTrap() throws {
    let whole = StatText(pid: 1).bytes
    for end in whole.indices {
      try procfs.add(1, arguments: [65])
      try procfs.write("1/stat", Array(whole[..<end]))
      let missing = try procfs.open().row(0).values.filter { $0 == .missing }.count
      #expect(missing == 0 || missing == 9)
    }
  }

  @Test(arguments: ["", "1", "1 x", "1 -4", "1 9223372036854775807"])
  func malformedMemoryIsMissing(statm: String) throws {
    try procfs.add(1)
    try procfs.write("1/statm", Array(statm.utf8))
    let row = try procfs.open().row(0)
    #expect(row["memory"] == .missing)
    #expect(row["command"] == "name")
  }

  @Test func extremeNumbersAreNoTrap() throws {
    let largest = String(Int64.max)
    let stat = StatText(
      pid: 1, parent: String(Int64.min), nice: largest, used: largest, start: largest)
    try procfs.write("1/stat", stat.bytes)
    let row = try procfs.open().row(0)
    #expect(row["cpu"] == 0.0)
    #expect(row["started"] == .missing)
    #expect(row["parent"] == .integer(.min))
    #expect(row["memory"] == .missing)
  }

  @Test func cpuIsTheTimeUsedOfTheLife() throws {
    let now = ticksSinceBoot()
    let life = min(10 * ticksPerSecond, now)
    let half = StatText(pid: 1, used: "\(life / 2)", start: "\(now - life)")
    let unborn = StatText(pid: 2, used: "1000", start: "\(now + 1000 * ticksPerSecond)")
    try procfs.write("1/stat", half.bytes)
    try procfs.write("2/stat", unborn.bytes)
    let source = try procfs.open()
    guard case .real(let cpu) = try source.cells("cpu")[0] else {
      Issue.record("no cpu")
      return
    }
    #expect((25...51).contains(cpu))
    #expect(try source.cells("cpu")[1] == 0.0)
  }

  @Test(arguments: ["", "cpu 1 2\nbtime x\n", "btime", "btime 9223372036854775807\n"])
  func withoutTheBootNoStartIsKnown(stat: String) throws {
    try procfs.add(1, start: 500)
    try procfs.write("stat", Array(stat.utf8))
    #expect(try procfs.open().cells("started") == [.missing])
  }

  @Test func withoutTheBootIDThereAreIDs() throws {
    try procfs.add(1, start: 5)
    try procfs.write("sys/kernel/random/boot_id", Array("3f2a".utf8))
    #expect(try procfs.open().id(0) == "1.5.0000000000000000")
  }

  // Snapshots

  @Test func processThatEndedBeforeItWasReadIsMissing() throws {
    for pid in 1...2 { try procfs.add(pid) }
    let source = try procfs.open()
    try procfs.remove(2)
    #expect(try source.numberOfRows(inSection: 0, knowing: .max) == .exact(2))
    let row = try source.row(1)
    #expect(row.filter { $0.value != .missing } == ["pid": 2])
    let id = try source.id(1)
    #expect(id == "2.gone.3f2a9c10deadbeef")
    // The cells stay the same, even if there is another process now.
    try procfs.add(2)
    #expect(try source.row(1) == row)
    #expect(try source.indexPath(forID: id) == IndexPath(section: 0, row: 1))
  }

  @Test func rowThatWasReadStays() throws {
    try procfs.add(1, "old", nice: 1, pages: 5, arguments: Array("old".utf8))
    let source = try procfs.open()
    let before = try source.row(0)
    try procfs.add(1, "new", nice: 2, start: 900, pages: 6, arguments: Array("new".utf8))
    #expect(try source.row(0) == before)
    try procfs.remove(1)
    #expect(try source.row(0) == before)
    #expect(try source.id(0) == "1.100.3f2a9c10deadbeef")
  }

  @Test func laterFilesAreReadOfTheSameProcessOnly() throws {
    for pid in 1...3 { try procfs.add(pid, "old", arguments: Array("old".utf8)) }
    let source = try procfs.open()
    #expect(try source.cells("command") == ["old", "old", "old"])
    try procfs.add(1, "changed", start: 100, pages: 2, arguments: Array("same process".utf8))
    try procfs.add(2, "reused", start: 101, pages: 2, arguments: Array("another".utf8))
    try procfs.remove(3)
    let arguments: [Cell] = ["same process", .missing, .missing]
    #expect(try source.cells("arguments") == arguments)
    #expect(try source.cells("command") == ["old", "old", "old"])
    try procfs.add(3, "old", start: 100, arguments: Array("old".utf8))
    #expect(try source.cells("arguments") == arguments)
    #expect(try source.cells("memory")[..<2] == [.integer(2 * pageSize), .missing])
  }

  @Test func onlyWhatIsAskedIsRead() throws {
    try procfs.add(1, "old")
    let source = try procfs.open()
    #expect(try source.cells("pid") == [1])
    try procfs.add(1, "new")
    #expect(try source.cells("command") == ["new"])
  }

  // Ids and versions

  @Test func idsLeadBack() throws {
    for pid in [3, 20, 100] { try procfs.add(pid, start: pid * 7) }
    let source = try procfs.open()
    for row in 0..<3 {
      #expect(try source.indexPath(forID: source.id(row)) == IndexPath(section: 0, row: row))
    }
    #expect(try source.id(1) == "20.140.3f2a9c10deadbeef")
  }

  @Test(arguments: [
    "20.141.3f2a9c10deadbeef", "20.140.0f2a9c10deadbeef", "20.gone.3f2a9c10deadbeef",
    "19.140.3f2a9c10deadbeef", "21.140.3f2a9c10deadbeef", "020.140.3f2a9c10deadbeef", "20.140.",
    "20..", "-20.140.3f2a9c10deadbeef",
  ])
  func idsOfOthersAreNotFound(id: String) throws {
    try procfs.add(20, start: 140)
    let source = try procfs.open()
    let error = #expect(throws: TableError.self) { try source.indexPath(forID: id) }
    #expect(error?.code == .notFound)
    #expect(error?.message.hasSuffix(" has ended or never existed") == true)
  }

  @Test(arguments: ["", ".", "..", "20", "20.140", "x.1.2", "1.2.3.4", "99999999999.1.2", "\n\n"])
  func whatIsNoIDIsNotFound(id: String) throws {
    try procfs.add(20, start: 140)
    let source = try procfs.open()
    let error = #expect(throws: TableError.self) { try source.indexPath(forID: id) }
    #expect(error?.code == .notFound)
    #expect(error?.message.contains("\n") == false)
  }

  @Test func versionIsThatOfTheProcesses() throws {
    try procfs.add(1, start: 5)
    try procfs.add(2, start: 6)
    let version = try procfs.open().version()
    try procfs.add(2, "other", nice: 3, start: 6)
    #expect(try procfs.open().version() == version)
    try procfs.add(2, start: 7)
    let reused = try procfs.open().version()
    #expect(reused != version)
    try procfs.add(3)
    #expect(try procfs.open().version() != reused)
  }

  // Details

  private static let status = """
    Name:\tname
    State:\tS (sleeping)
    PPid:\t1
    Uid:\t0\t0\t0\t0
    Gid:\t0\t4294967294\t0\t0
    Groups:\t4294967293 4294967294 
    VmHWM:\t    1704 kB
    VmSize:\t    3060 kB
    VmSwap:\t       0 kB
    Threads:\t1234
    voluntary_ctxt_switches:\t1
    nonvoluntary_ctxt_switches:\t2345

    """

  /// Adds a process with all facts.
  private func addWhole(_ pid: Int, terminal: Int = 34_819) throws {
    try procfs.add(1, "parent)\n", parent: 0)
    try procfs.add(pid, start: 77)
    let stat = StatText(pid: pid, name: Array("a) b".utf8), start: "77").string
    try procfs.write(
      "\(pid)/stat",
      Array(stat.replacingOccurrences(of: " 1 1 0 -1 ", with: " 1 1 \(terminal) -1 ").utf8))
    try procfs.write("\(pid)/status", Array(Self.status.utf8))
    try procfs.write("\(pid)/io", Array("rchar: 1\nread_bytes: 4096\nwrite_bytes: 1\n".utf8))
    try procfs.write("\(pid)/oom_score", Array("666\n".utf8))
    try procfs.write("\(pid)/cgroup", Array("5:cpu,cpuacct:/x\n4:name=a:b:/y\n0::/z:z\n".utf8))
    try procfs.write(
      "\(pid)/limits",
      Array("Limit   Soft Limit   Hard Limit   Units\nMax open files   1024   20000   files\n".utf8)
    )
    for number in 0..<12 { try procfs.write("\(pid)/fd/\(number)", []) }
    for (link, target) in [("exe", "/bin/a (deleted)"), ("cwd", "/home/a\nb"), ("root", "/")] {
      try procfs.link("\(pid)/\(link)", to: target)
    }
  }

  @Test func detailsAreWhatIsTold() throws {
    try addWhole(42)
    let details = try procfs.open().details(1)
    let account = { (number: UInt32) in
      getgrgid(number).map { String(cString: $0.pointee.gr_name) } ?? "\(number)"
    }
    let expected: [(String, Cell)] = [
      ("executable", "/bin/a (deleted)"), ("folder", "/home/a\nb"), ("parent", "1 parent)\n"),
      ("terminal", "pts/3"), ("user", .text(String(cString: getpwuid(0).pointee.pw_name))),
      (
        "group",
        .text("real \(account(0)), effective \(account(.max - 1)), saved \(account(0))")
      ), ("other groups", .text("\(account(.max - 2)), \(account(.max - 1))")),
      ("control group", "cpu,cpuacct:/x"), ("control group", "name=a:b:/y"),
      ("control group", "/z:z"), ("threads", "1,234"), ("open files", "12"),
      ("most open files", "1,024"), ("virtual memory", "3,133,440 bytes"),
      ("largest memory", "1,744,896 bytes"), ("swapped out", "0 bytes"),
      ("read from disk", "4,096 bytes"), ("written to disk", "1 byte"), ("waited", "once"),
      ("interrupted", "2,345 times"), ("out of memory score", "666"),
    ]
    #expect(details.map(\.name) == expected.map(\.0))
    #expect(details.map(\.value) == expected.map(\.1))
  }

  @Test(arguments: [
    (0, nil), (1025, "tty1"), (1088, "ttyS0"), (34_816, "pts/0"), (35_840, "pts/1024"),
    (34_816 | 1 << 20, "pts/256"), (1281, "5:1"), (-1, "4095:1048575"),
  ])
  func terminals(number: Int, name: String?) throws {
    try addWhole(42, terminal: number)
    let details = try procfs.open().details(1)
    #expect(details.first { $0.name == "terminal" }?.value == name.map { .text($0) })
  }

  /// Missing facts are left out: a kernel thread has no executable, and some kernels have no `io`.
  @Test func detailsThatAreNotThereAreLeftOut() throws {
    try procfs.add(2, "kthreadd", parent: 0)
    #expect(try procfs.open().details(0).isEmpty)
  }

  @Test(arguments: [
    "", ":", "\n\n", "Uid:", "Uid:\t1", "Threads:\tx", "VmSize: 9223372036854775807 kB",
    "Threads", "Groups:\t99999999999 -1 x", String(repeating: "a", count: 100_000),
  ])
  func malformedDetailsAreLeftOut(status: String) throws {
    try procfs.add(2, parent: 0)
    for name in ["status", "io", "limits", "cgroup", "oom_score"] {
      try procfs.write("2/\(name)", Array(status.utf8))
    }
    let names = try procfs.open().details(0).map(\.name)
    #expect(names.allSatisfy { ["control group", "out of memory score"].contains($0) }, "\(names)")
  }

  @Test func manyGroupsAreCut() throws {
    try procfs.add(2, parent: 0)
    let groups = (0..<60_000).map { "\($0 + 3_000_000_000)" }.joined(separator: " ")
    try procfs.write("2/status", Array("Groups:\t\(groups)\n".utf8))
    try procfs.write(
      "2/cgroup", Array((0..<1000).map { "\($0):c\($0):/\n" }.joined().utf8))
    let details = try procfs.open().details(0)
    #expect(details.first?.value.string?.hasSuffix(", 3000000031, … 59,968 more") == true)
    #expect(details.count == 33)
  }

  @Test func otherRootsAreTold() throws {
    try addWhole(42)
    try procfs.link("42/root", to: "/jail")
    #expect(try procfs.open().details(1).first { $0.name == "root" }?.value == "/jail")
  }

  @Test func processThatEndedHasNoDetails() throws {
    for pid in 1...3 { try procfs.add(pid, start: 100) }
    let source = try procfs.open()
    // The second one is never read.
    for row in [0, 2] { _ = try source.row(row) }
    try procfs.remove(1)
    try procfs.remove(2)
    try procfs.add(3, "later", start: 101)
    for (row, pid) in [(0, 1), (2, 3)] {
      let error = #expect(throws: TableError.self) { try source.details(row) }
      #expect(error?.code == .conflict && error?.message == "the process \(pid) has ended")
    }
    let path = IndexPath(section: 0, row: 1)
    #expect(try source.supplementaryElement(ofKind: "details", at: path) == nil)
  }

  @Test func detailsAreOfRowsOnly() throws {
    try procfs.add(1)
    let source = try procfs.open()
    #expect(source.supplementaryKinds() == ["details"])
    #expect(try source.supplementaryElement(ofKind: "details", at: .section(0)) == nil)
    let row = IndexPath(section: 0, row: 0)
    #expect(try source.supplementaryElement(ofKind: "environment", at: row) == nil)
    for path in [IndexPath(section: 0, row: 1), IndexPath(section: 1, row: 0)] {
      let error = #expect(throws: TableError.self) {
        try source.supplementaryElement(ofKind: "details", at: path)
      }
      #expect(error?.code == .notFound)
    }
  }

  @Test func lawsHold() throws {
    for pid in 1...150 where pid % 7 != 0 {
      try procfs.add(pid, "p\(pid)", arguments: Array("p\0\(pid)\0".utf8))
    }
    for pid in [14, 21, 28] { try procfs.write("\(pid)/stat", Array("broken".utf8)) }
    let root = procfs.root
    expectConformance { () throws(TableError) in try ProcessesSource(root: root) }
  }
}

/// The provider with the machine's procfs.
@Suite struct LiveProcessesTests {
  @Test func showsThisProcess() throws {
    let row = try ProcessesSource().row(forPID: getpid())
    let name = try Array(Data(contentsOf: URL(fileURLWithPath: "/proc/self/comm"))).dropLast()
    #expect(row["parent"] == .integer(Int64(getppid())))
    #expect(row["user"] == .text(userName()))
    #expect(row["command"] == .text(Array(name)))
    #expect(row["arguments"] == .text(CommandLine.arguments.joined(separator: " ")))
    guard case .date(let started) = row["started"], case .integer(let memory) = row["memory"] else {
      Issue.record("no start or no memory")
      return
    }
    let age = Date().timeIntervalSince1970 - Double(started.nanoseconds) / 1e9
    #expect((-2...86400).contains(age))
    #expect(memory > 1 << 20)
  }

  @Test func tellsTheDetailsOfThisProcess() throws {
    let source = try ProcessesSource()
    let number = try #require(try source.cells("pid").firstIndex(of: .integer(Int64(getpid()))))
    let details = Dictionary(
      try source.details(number).map { ($0.name, $0.value) },
      uniquingKeysWith: { first, _ in first })
    let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    #expect(details["executable"] == .text(program))
    #expect(details["folder"] == .text(FileManager.default.currentDirectoryPath))
    #expect(details["user"] == .text(userName()))
    #expect(details["parent"]?.string?.hasPrefix("\(getppid()) ") == true)
    for name in ["threads", "open files", "most open files", "virtual memory", "waited"] {
      #expect(details[name]?.string?.isEmpty == false, "\(name)")
    }
  }

  /// Unreadable facts are missing, but not left out: another user asks about the parent.
  @Test func whatMayNotBeReadIsMissing() async throws {
    await #expect(processExitsWith: .success) {
      let isRoot = geteuid() == 0
      if isRoot { #expect(setuid(65534) == 0) }
      let source = try ProcessesSource()
      let parent = try #require(try source.cells("pid").firstIndex(of: .integer(Int64(getppid()))))
      let details = try source.details(parent)
      guard isRoot else { return }
      for name in ["executable", "folder", "open files", "read from disk"] {
        #expect(details.first { $0.name == name }?.value == .missing, "\(name)")
      }
      #expect(details.first { $0.name == "threads" }?.value.string != nil)
    }
  }

  @Test func endedChildrenAreAConflict() throws {
    let child = try spawn("/bin/sleep", "100")
    let source = try ProcessesSource()
    let number = try #require(try source.cells("pid").firstIndex(of: .integer(Int64(child))))
    _ = try source.row(number)
    #expect(try !source.details(number).isEmpty)
    kill(child, SIGKILL)
    reap(child)
    let error = #expect(throws: TableError.self) { try source.details(number) }
    #expect(error?.code == .conflict && error?.message == "the process \(child) has ended")
  }

  @Test func cpuIsAlwaysANumber() throws {
    for cell in try ProcessesSource().cells("cpu") {
      guard case .real(let cpu) = cell else { continue }
      #expect(cpu.isFinite && cpu >= 0)
    }
  }

  @Test func zombieHasNoArguments() throws {
    let child = try spawn("/bin/true")
    defer { reap(child) }
    // Waits for the end of the child, and leaves it a zombie.
    var status = siginfo_t()
    while waitid(P_PID, id_t(child), &status, WEXITED | WNOWAIT) < 0, errno == EINTR {}
    let row = try ProcessesSource().row(forPID: child)
    #expect(row["state"] == "Z")
    #expect(row["arguments"] == .missing)
    #expect(row["memory"] == 0)
    #expect(row["parent"] == .integer(Int64(getpid())))
    #expect(row["command"] == "true")
    #expect(row["user"] == .text(userName()))
  }

  @Test func childThatEndsBeforeItIsReadIsMissing() throws {
    let child = try spawn("/bin/sleep", "100")
    let source = try ProcessesSource()
    kill(child, SIGKILL)
    reap(child)
    let row = try source.row(forPID: child)
    #expect(row.filter { $0.value != .missing } == ["pid": .integer(Int64(child))])
  }

  @Test func childThatEndsLaterKeepsWhatWasRead() throws {
    let child = try spawn("/bin/sleep", "100")
    let source = try ProcessesSource()
    let number = try #require(try source.cells("pid").firstIndex(of: .integer(Int64(child))))
    let id = try source.id(number)
    kill(child, SIGKILL)
    reap(child)
    let row = try source.row(number)
    #expect(row["parent"] == .integer(Int64(getpid())))
    #expect(row["memory"] == .missing)
    #expect(row["arguments"] == .missing)
    #expect(try source.indexPath(forID: id).row == number)
    let later = try ProcessesSource()
    let error = #expect(throws: TableError.self) { try later.indexPath(forID: id) }
    #expect(error?.message == "the process \(id) has ended or never existed")
  }
}

let ticksPerSecond = Int64(sysconf(Int32(_SC_CLK_TCK)))
private let pageSize = Int64(sysconf(Int32(_SC_PAGESIZE)))

func ticksSinceBoot() -> Int64 {
  var time = timespec()
  clock_gettime(CLOCK_BOOTTIME, &time)
  return Int64(time.tv_sec) * ticksPerSecond + Int64(time.tv_nsec) * ticksPerSecond / 1_000_000_000
}

func userName() -> String {
  getpwuid(geteuid()).map { String(cString: $0.pointee.pw_name) } ?? String(geteuid())
}

extension ProcessesSource {
  /// The cells of one column.
  func cells(_ name: String) throws -> [Cell] {
    let column = try #require(columns.firstIndex { $0.name == name })
    let count = try exactNumberOfRows(inSection: 0)
    var cells: [Cell] = []
    while cells.count < count {
      let request = RowRequest(first: cells.count, count: count, columns: [column])
      let batch = try rows(request)
      try batch.validate(answering: request, of: columns)
      try #require(batch.rowCount > 0)
      cells += (0..<batch.rowCount).map { batch.columns[0][$0] }
    }
    return cells
  }

  /// The cells of one row, by the names of their columns.
  func row(_ number: Int) throws -> [String: Cell] {
    let batch = try rows(
      RowRequest(first: number, count: 1, columns: Array(columns.indices)))
    return Dictionary(uniqueKeysWithValues: zip(columns.map(\.name), batch.row(0)))
  }

  func row(forPID pid: pid_t) throws -> [String: Cell] {
    try row(#require(try cells("pid").firstIndex(of: .integer(Int64(pid)))))
  }

  /// The facts in the details of a row.
  func details(_ number: Int) throws -> [(name: String, value: Cell)] {
    let path = IndexPath(section: 0, row: number)
    guard case .table(let table)? = try supplementaryElement(ofKind: "details", at: path) else {
      throw MissingTool("details of row \(number)")
    }
    #expect(table.columns == [Column("name"), Column("value")])
    return try readAll(table).map { ($0[0].string ?? "", $0[1]) }
  }

  func id(_ number: Int) throws -> String {
    let request = RowRequest(first: number, count: 1, columns: [], includesIDs: true)
    return try #require(try rows(request).id(0))
  }
}

/// A line in the form of `/proc/PID/stat`.
struct StatText {
  var pid: Int
  var name = Array("name".utf8)
  var state = "S"
  var parent = "1"
  var nice = "0"
  var used = "0"
  var start = "100"
  var flags = "4194304"

  var bytes: [UInt8] {
    Array("\(pid) (".utf8) + name + Array(") \(numbers)\n".utf8)
  }

  var string: String { String(decoding: bytes, as: UTF8.self) }

  private var numbers: String {
    """
    \(state) \(parent) 1 1 0 -1 \(flags) 99 0 0 0 \(used) 0 0 0 20 \(nice) 1 0 \(start) 3133440 363 \
    18446744073709551615 1 1 1 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0
    """
  }
}

/// A folder with the structure of procfs.
struct FakeProcfs {
  private let folder: TemporaryFolder

  var root: String { folder.path }

  init() throws {
    folder = try TemporaryFolder()
    try write("stat", Array("cpu  1 2 3\nintr 5 6\nctxt 9\nbtime 1700000000\nbtimes 3\n".utf8))
    try write(
      "sys/kernel/random/boot_id", Array("3f2a9c10-dead-beef-8a33-27eb480ba845\n".utf8))
  }

  func open() throws(TableError) -> ProcessesSource { try ProcessesSource(root: root) }

  /// Adds or changes a process.
  func add(
    _ pid: Int, _ name: String = "name", state: String = "S", parent: Int = 1, nice: Int = 0,
    start: Int = 100, pages: Int = 1, arguments: [UInt8] = []
  ) throws {
    let stat = StatText(
      pid: pid, name: Array(name.utf8), state: state, parent: "\(parent)", nice: "\(nice)",
      start: "\(start)")
    try write("\(pid)/stat", stat.bytes)
    try write("\(pid)/statm", Array("765 \(pages) 200 5 0 100 0\n".utf8))
    try write("\(pid)/cmdline", arguments)
  }

  func link(_ path: String, to target: String) throws {
    unlink("\(root)/\(path)")
    try #require(symlink(target, "\(root)/\(path)") == 0)
  }

  func remove(_ pid: Int) throws { try FileManager.default.removeItem(atPath: "\(root)/\(pid)") }

  func write(_ path: String, _ bytes: [UInt8]) throws {
    let file = URL(fileURLWithPath: "\(root)/\(path)")
    try FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(bytes).write(to: file)
  }
}
