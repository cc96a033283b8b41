import Foundation
import Tabella
import TabellaBridge
import Testing

@testable import TabellaHost
@testable import TabellaLoading
@testable import TabellaTestSupport

/// Reading a library before it is loaded.
@Suite struct ELFTests {
  let folder: TemporaryFolder
  let library: String

  init() throws {
    folder = try TemporaryFolder()
    // With separate segments for code and tables.
    library = try compileLibrary(
      packageFolder + "/Examples/provider-c/planets.c", into: folder, name: "good.so",
      flags: [
        "-fuse-ld=bfd", "-nostartfiles", "-Wl,-z,separate-code", "-Wl,-z,now",
        "-Wl,--build-id=sha1",
      ])
  }

  /// The reason why a file is refused; nil if it is accepted.
  func refusal(_ path: String) -> TableError? {
    do throws(TableError) {
      try checkLibrary(at: path, pins: .none)
      return nil
    } catch { return error }
  }

  func refusal(_ bytes: [UInt8]) throws -> TableError? {
    refusal(try folder.write("changed.so", bytes))
  }

  /// Damages a good library and expects a refusal.
  func expectRefusal(
    _ reason: String, sourceLocation: SourceLocation = #_sourceLocation,
    _ damage: (inout ELFPatch) throws -> Void
  ) throws {
    var patch = try ELFPatch(library)
    try damage(&patch)
    let error = try refusal(patch.bytes)
    #expect(error?.code == .noProvider, sourceLocation: sourceLocation)
    let message = error?.message ?? "nothing was refused"
    #expect(message.contains(reason), "\(message)", sourceLocation: sourceLocation)
    #expect(message.contains("changed.so") && !message.contains("\n"))
  }

  @Test func aGoodOnePasses() throws {
    #expect(refusal(library) == nil)
    #expect(try loadLibrary(at: library, pins: .none).id == "planets")
  }

  /// Real libraries are read correctly: those of this process, and of the Swift runtime.
  @Test func realLibrariesAreRead() throws {
    let maps = try String(contentsOfFile: "/proc/self/maps", encoding: .utf8)
    var paths = Set(
      maps.split(separator: "\n").compactMap { line -> String? in
        guard let slash = line.firstIndex(of: "/"), line.contains(".so") else { return nil }
        return String(line[slash...])
      })
    let shipped = try checkLibrary(at: buildFolder + "/libtabella-csv.so", pins: .none)
    let runtime = try #require(
      shipped.searched.first { access($0 + "/libswiftCore.so", R_OK) == 0 })
    for name in try FileManager.default.contentsOfDirectory(atPath: runtime) {
      if name.hasSuffix(".so") { paths.insert("\(runtime)/\(name)") }
    }
    var count = 0
    for path in paths where FileManager.default.fileExists(atPath: path) {
      let descriptor = open(path, O_RDONLY)
      defer { close(descriptor) }
      var status = stat()
      #expect(fstat(descriptor, &status) == 0)
      let file = ELFFile(descriptor, size: Int(status.st_size))
      let segments = try ELFSegments(ELFHeader(file), of: file)
      let dynamic = try ELFDynamic(segments)
      let symbols = try ELFSymbols(segments, dynamic)
      #expect(!symbols.exportsFunction("tabella_provider_entry") || path.contains("tabella"))
      if path.contains("/libc.so") { #expect(symbols.exportsFunction("dlopen")) }
      count += 1
    }
    #expect(count > 8)
  }

  // Other files than libraries

  @Test func otherKindsOfFiles() throws {
    let cases: [(Int, Int, Int, String)] = [
      (4, 1, 1, "32-bit"), (4, 1, 7, "class is 7"), (5, 1, 2, "big-endian"),
      (6, 1, 0, "version"), (7, 1, 9, "OSABI 9"), (16, 2, 1, "object file"),
      (16, 2, 2, "it is a program"), (16, 2, 4, "core dump"), (16, 2, 77, "type is 77"),
      (18, 2, 243, "RISC-V, machine 243"), (18, 2, 999, "for machine 999"),
      (20, 4, 2, "version"), (54, 2, 32, "32 bytes each"), (56, 2, 0, "0 program headers"),
      (56, 2, 0xFFFF, "65535 program headers"), (32, 8, 1 << 40, "ends beyond the file"),
      (32, 8, -1, "is damaged"),
    ]
    for (offset, size, value, reason) in cases {
      try expectRefusal(reason) { $0.set(offset, size, value) }
    }
    try expectRefusal("not a shared library") { patch in patch.set(16, 2, 0) }
    #expect(try refusal([0x7F, 0x45, 0x4C])?.message.contains("not an ELF file") == true)
    #expect(try refusal([0x7F, 0x45, 0x4C, 0x46])?.message.contains("truncated") == true)
  }

  /// Each of the two supported machines refuses libraries of the other.
  @Test func anotherMachineNamesBoth() throws {
    let other = ELFHeader.machine == 62 ? 183 : 62
    try expectRefusal("AArch64, machine 183") { $0.set(18, 2, other) }
    try expectRefusal("x86-64, machine 62") { $0.set(18, 2, other) }
  }

  @Test func aFileThatIsTooLarge() throws {
    let path = try folder.write("large.so", try ELFPatch(library).bytes)
    #expect(truncate(path, 1 << 30 + 1) == 0)
    #expect(refusal(path)?.message.contains("larger than 1 GiB") == true)
  }

  // The dynamic section

  /// Tags by their numbers in elf.h.
  @Test func theDynamicSection() throws {
    func entry(_ patch: ELFPatch, _ tag: Int) throws -> Int { try #require(patch.dynamic(tag)) }
    let needed = 1
    let strings = 5
    let stringSize = 10
    let symbolSize = 11
    let gnuHash = 0x6FFF_FEF5
    try expectRefusal("no string table") { $0.set(try entry($0, strings), 8, 0x1234_5678) }
    try expectRefusal("string table is outside all segments") {
      $0.set(try entry($0, stringSize) + 8, 8, 1 << 40)
    }
    try expectRefusal("string table has no end") {
      let at = try entry($0, stringSize) + 8
      $0.set(at, 8, $0.number(at, 8) - 2)
    }
    try expectRefusal("beyond the string table") {
      $0.set(try entry($0, needed) + 8, 8, 1 << 20)
    }
    try expectRefusal("0 dynamic sections") { $0.set($0.headers(2)[0], 4, 0x6000_0000) }
    try expectRefusal("2 dynamic sections") { $0.set($0.headers(0x6474_E550)[0], 4, 2) }
    try expectRefusal("dynamic section is outside all segments") {
      $0.set($0.headers(2)[0] + 16, 8, 1 << 40)
    }
    try expectRefusal("no table of symbols") { $0.set(try entry($0, symbolSize) + 8, 8, 23) }
    try expectRefusal("no hash table") { $0.set(try entry($0, gnuHash), 8, 0x1234_5678) }
    try expectRefusal("hash table is outside all segments") {
      $0.set(try entry($0, gnuHash) + 8, 8, 1 << 40)
    }
    try expectRefusal(" twice") { $0.set(try entry($0, symbolSize), 8, strings) }
    try expectRefusal("dynamic section has no end") {
      let end = try entry($0, 0)
      for at in stride(
        from: end, to: $0.number($0.headers(2)[0] + 8, 8) + $0.number($0.headers(2)[0] + 32, 8),
        by: 16)
      {
        $0.set(at, 8, 0x1234_5678)
      }
    }
  }

  @Test func tables() throws {
    func table(_ patch: ELFPatch, _ tag: Int) throws -> Int { try #require(patch.table(tag)) }
    let gnuHash = 0x6FFF_FEF5
    try expectRefusal("0 buckets") { $0.set(try table($0, gnuHash), 4, 0) }
    try expectRefusal("filter of 3") { $0.set(try table($0, gnuHash) + 8, 4, 3) }
    try expectRefusal("hash table") { $0.set(try table($0, gnuHash), 4, 1 << 30) }
  }

  /// The entry point must be an exported function.
  @Test func theEntryIsAFunction() throws {
    let patch = try ELFPatch(library)
    let symbols = try #require(patch.table(6))
    let strings = try #require(patch.table(5))
    let name = Array("tabella_provider_entry\0".utf8)
    let symbol = try #require(
      (1..<100).map { symbols + $0 * 24 }.first {
        Array(patch.bytes[(strings + patch.number($0, 4))...].prefix(name.count)) == name
      })
    // Hidden, local, a variable, defined elsewhere, and with a name outside of the file.
    for (offset, size, value) in [
      (5, 1, 2), (4, 1, 0x02), (4, 1, 0x11), (6, 2, 0), (0, 4, 1 << 30),
    ] {
      try expectRefusal("exports no function") { $0.set(symbol + offset, size, value) }
    }
  }

  /// A name or search path relative to the current directory would accept anybody's library.
  @Test func nothingComesFromTheCurrentDirectory() throws {
    let planets = packageFolder + "/Examples/provider-c/planets.c"
    for (number, path) in ["lib", ".", "$LIB/x", "$ORIGINAL", "/usr/lib:", "lib:/usr/lib"]
      .enumerated()
    {
      let library = try compileLibrary(
        planets, into: folder, name: "path\(number).so", flags: ["-Wl,-rpath,\(path)"])
      let error = refusal(library)
      #expect(error?.message.contains("current directory") == true, "\(path)")
    }
    let inner = try folder.write("inner.c", "int inner(void);\nint inner(void) { return 1; }\n")
    _ = try compileLibrary(inner, into: folder, name: "inner.so")
    let outer = try run(
      findProgram("clang"),
      [
        "-fPIC", "-shared", "-o", "outer.so", "-I\(packageFolder)/Sources/CTabella/include",
        planets,
        "-Wl,--no-as-needed", "./inner.so",
      ], directory: folder.path)
    #expect(outer.status == 0, "\(outer.errors)")
    let error = refusal(folder.path + "/outer.so")
    #expect(error?.message.contains("library that it needs is \"./inner.so\"") == true)
  }

  // Random damage

  /// A library that is truncated or has flipped bits is refused or accepted, and the reader always ends.
  @Test func damagedLibrariesAreReadSafely() throws {
    let whole = try ELFPatch(library)
    var generator = SeededGenerator(seed: 3)
    var (passed, refused) = (0, 0)
    for round in 0..<1000 {
      var bytes = whole.bytes
      if round % 4 == 0 {
        bytes.removeLast(Int.random(in: 1...bytes.count, using: &generator))
      } else {
        for _ in 0..<Int.random(in: 1...4, using: &generator) {
          let place = Int.random(in: 0..<min(bytes.count, 4096), using: &generator)
          bytes[place] ^= UInt8(1) << UInt8.random(in: 0..<8, using: &generator)
        }
      }
      guard let error = try refusal(bytes) else {
        passed += 1
        continue
      }
      #expect(error.code == .noProvider && !error.message.contains("\n"), "\(error)")
      refused += 1
    }
    #expect(refused > 100 && passed > 100, "\(refused) \(passed)")
  }

  /// A library that ends before its tables is reported as truncated.
  @Test func aLibraryThatIsCutIsTruncated() throws {
    let bytes = try ELFPatch(library).bytes
    for count in [1, 63, 64, 100, 500] {
      let error = try refusal(Array(bytes.prefix(count)))
      #expect(error?.message.contains(count < 4 ? "not an ELF" : "truncated") == true, "\(count)")
    }
  }
}
