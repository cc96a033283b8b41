import Foundation
import TabellaBridge
import Testing

@testable import TabellaTestSupport

/// `tabella export --format arrow-stream` contains the same data as `--format jsonl`, in Arrow's form.
@Suite struct ArrowStreamTests {
  let folder: TemporaryFolder
  let providers: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    providers = try TemporaryFolder()
    try FileManager.default.createDirectory(
      atPath: providers.path + "/tabella/providers", withIntermediateDirectories: true)
  }

  /// The providers in C that locations may name, with their source files and versions.
  private static let sources = [
    "layouts": ("Tests/TabellaTests/Host/Libraries/layouts.c", "1"),
    "batches": ("Tests/TabellaTests/Host/Libraries/batches.c", "1"),
    "planets": ("Examples/provider-c/planets.c", "1.0"),
  ]

  /// Compiles the provider of a location if it is one of those in C.
  private func install(for location: String) throws {
    guard let id = location.split(separator: ":").first.map(String.init),
      let (source, version) = Self.sources[id]
    else { return }
    let manifest = "tabella/providers/\(id).tabella.json"
    if FileManager.default.fileExists(atPath: "\(providers.path)/\(manifest)") { return }
    _ = try compileLibrary(
      "\(packageFolder)/\(source)", into: providers, name: "tabella/providers/\(id).so")
    try providers.write(
      manifest,
      "{\"id\":\"\(id)\",\"version\":\"\(version)\",\"contract\":\"\(contractVersionName)\",\"library\":\"\(id).so\",\"schemes\":[\"\(id)\"]}"
    )
  }

  func export(_ format: String, _ arguments: [String]) throws -> ProgramResult {
    try install(for: arguments[0])
    return try run(
      buildFolder + "/tabella", ["export"] + arguments + ["--format", format],
      environment: ["LC_ALL": "C.UTF-8", "TZ": "UTC", "XDG_DATA_HOME": providers.path])
  }

  /// Checks that the stream has the same cells as the lines of JSON, and returns it.
  @discardableResult
  func compare(_ arguments: String...) throws -> ArrowStream { try compare(arguments) }

  @discardableResult
  func compare(_ arguments: [String]) throws -> ArrowStream {
    let result = try export("arrow-stream", arguments)
    try #require(result.status == 0 && result.errors.isEmpty, "\(result.errors)")
    let stream = try ArrowStream(result.output)
    let lines = try export("jsonl", arguments).output.split(separator: 10)
    #expect(stream.rows.count == lines.count)
    for (row, line) in zip(stream.rows, lines) {
      let object = try #require(try JSONSerialization.jsonObject(with: line) as? NSDictionary)
      let cells = NSDictionary(objects: row, forKeys: stream.fields.map { $0.name as NSString })
      guard cells == object else {
        Issue.record("\(arguments): \(cells) is not \(object)")
        break
      }
    }
    return stream
  }

  // Cells

  /// Every type with missing cells, from batches that begin at any offset of their memory.
  @Test(arguments: [
    ["layouts:"], ["layouts:", "--rows", "3..71"], ["layouts:", "--sort", "integer"],
    ["layouts:", "--filter", "full boolean = true"], ["layouts:", "--section-by", "boolean"],
    ["layouts:", "--columns", "full boolean,text"], ["batches:"], ["batches:", "-n", "7"],
    ["planets:"], ["planets:", "--section-by", "moons"], ["planets:", "--columns", "mass,rings"],
  ])
  func everyTypeArrives(_ arguments: [String]) throws {
    #expect(try !compare(arguments).rows.isEmpty)
  }

  @Test func filesArrive() throws {
    let path = try folder.write(
      "tricky.csv",
      "name,n,real,yes,day\n\"quo\"\"te, comma\",1,0.5,true,2024-02-29T12:00:00Z\n,,,,\n"
        + "\"two\nlines\",-9,1e300,false,1969-12-31T23:59:59.5Z\nñandú 🦤,7,-0.25,true,\nshort\n")
    try compare(path)
    let stream = try compare(path, "-o", "types=infer")
    #expect(stream.fields.map(\.type) == [.text, .integer, .real, .boolean, .date])
  }

  /// More rows than three batches have; with `TABELLA_ALL_ROADS`, more than seven.
  private static let manyRows = takesAllRoads ? 90_000 : 50_000

  /// The export has more rows than one batch, so later batches begin inside the memory of the source.
  @Test func manyBatchesArrive() throws {
    var text = "id,word,maybe\n"
    for row in 0..<Self.manyRows {
      text += "\(row),\(String(repeating: "é", count: row % 50)),\(row % 3 == 0 ? "" : "x")\n"
    }
    let path = try folder.write("many.csv", text)
    #expect(try compare(path).batches.count > 3)
    try compare(path, "-o", "types=infer", "--rows", "1001..")
  }

  /// The number of threads makes no difference.
  @Test func threadsWriteTheSame() throws {
    let lines = (0..<60_000).map {
      "\($0),\($0 % 7 == 0 ? "" : "\($0).5"),2024-01-0\($0 % 9 + 1),w\($0)\n"
    }
    let path = try folder.write("threads.csv", "id,real,day,word\n" + lines.joined())
    for format in ["arrow-stream", "csv", "jsonl"] {
      let outputs = try ["1", "2", "4"].map { threads in
        try run(
          buildFolder + "/tabella", ["export", path, "-o", "types=infer", "--format", format],
          environment: ["LC_ALL": "C.UTF-8", "TZ": "UTC", "TABELLA_THREADS": threads])
      }
      #expect(outputs.allSatisfy { $0.status == 0 && $0.output == outputs[0].output }, "\(format)")
    }
    #expect(try compare(path, "-o", "types=infer").rows.count == 60_000)
  }

  @Test func foldersArrive() throws {
    try folder.write("a", "1")
    try folder.write("b ü", "22")
    let stream = try compare(folder.path)
    #expect(stream.rows.count == 2)
    #expect(stream.fields.contains { $0.metadata == ["unit": "bytes"] })
  }

  // The schema

  @Test func columnsHaveNamesTypesAndUnits() throws {
    let stream = try compare("batches:")
    #expect(
      stream.fields.map(\.type) == [
        .text, .integer, .real, .boolean, .date, .binary, .text, .text,
      ])
    #expect(
      stream.fields.map(\.metadata) == [
        [:], ["unit": "bytes"], ["unit": "percent"], [:], [:], [:], [:], [:],
      ])
    let path = try folder.write("twice.csv", "a,a,,\"b\"\"\né\"\n1,2,3,4\n")
    #expect(try compare(path).fields.map(\.name).prefix(2) == ["a", "a 2"])
  }

  @Test func nothingIsAStreamToo() throws {
    let header = try compare(try folder.write("header.csv", "a,b\n"))
    #expect(header.fields.map(\.name) == ["a", "b"] && header.batches.isEmpty)
    let empty = try compare(try folder.write("empty.csv", ""))
    #expect(empty.fields.isEmpty && empty.batches.isEmpty)
    #expect(try compare("planets:", "-n", "0").fields.count == 5)
    #expect(try compare("planets:", "--filter", "moons > 1000").batches.isEmpty)
  }

  @Test func wideTablesArrive() throws {
    let names = (0..<3000).map { "column number \($0)" }.joined(separator: ",")
    let path = try folder.write(
      "wide.csv", "\(names)\n\(names)\n\(String(repeating: ",", count: 2999))\n")
    #expect(try compare(path).fields.count == 3000)
  }

  // Ends

  /// Arrow requires UTF-8: the rows in front of other text form a complete stream.
  @Test func textThatIsNotUTF8EndsTheStream() throws {
    let path = try folder.write(
      "latin.csv", Array("a,b\nx,y\n1,2\n\n3,".utf8) + [0xFF, 10, 52, 10])
    let result = try export("arrow-stream", [path])
    #expect(result.status == 1)
    #expect(
      result.errors
        == "tabella: \(path): row 3, counted from 0, has text in column \"b\" that is not UTF-8, which Arrow does not allow: only the rows before it are written; use --format csv or --format jsonl for any bytes, or read the file with -o encoding, as in -o encoding=latin1\n"
    )
    let stream = try ArrowStream(result.output)
    #expect(stream.rows.map { $0[0] } == ["x", "1", ""] as [NSString])

    // A cell that is not UTF-8, although its bytes and those of its neighbours together are.
    let split = try folder.write("split.csv", Array("a,b\nx,y\n".utf8) + [0xC3, 44, 0xA9, 10])
    for columns in ["a", "b", "a,b", "b,a"] {
      let result = try export("arrow-stream", [split, "--columns", columns])
      #expect(result.status == 1 && result.errors.contains("column \"\(columns.prefix(1))\""))
      #expect(try ArrowStream(result.output).rows.count == 1)
    }
    let whole = try folder.write("whole.csv", Array("a\nx\n".utf8) + [0xC3, 10, 0xA9, 10])
    #expect(try ArrowStream(export("arrow-stream", [whole]).output).rows.count == 1)
  }

  /// The error counts rows over all batches. Without the broken rows or columns, the export succeeds.
  @Test func theRowIsCountedInTheOutput() throws {
    let result = try export("arrow-stream", ["layouts:broken"])
    #expect(result.status == 1 && result.errors.contains("row 60, counted from 0"))
    #expect(result.errors.contains("column \"full\""))
    #expect(try ArrowStream(result.output).rows.count == 60)
    let later = try export("arrow-stream", ["layouts:broken", "--rows", "50.."])
    #expect(later.errors.contains("row 10, counted from 0"))
    #expect(try ArrowStream(later.output).rows.count == 10)
    #expect(try compare("layouts:broken", "--columns", "text,real").rows.count == 100)
    #expect(try compare("layouts:broken", "--rows", "61..").rows.count == 39)
  }

  @Test func aFailureOfTheSourceEndsTheStream() throws {
    let result = try export("arrow-stream", ["layouts:failing"])
    #expect(result.status == 1 && result.errors.contains("the disk is gone"))
    #expect(try ArrowStream(result.output).rows.count == 60)
  }

  @Test func aTerminalIsRefused() throws {
    let terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY)
    defer { close(terminal) }
    var (isLocked, number): (Int32, Int32) = (0, 0)
    // TIOCSPTLCK and TIOCGPTN, which Swift does not import.
    try #require(ioctl(terminal, 0x4004_5431, &isLocked) == 0)
    try #require(ioctl(terminal, 0x8004_5430, &number) == 0)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: buildFolder + "/tabella")
    process.arguments = ["export", try folder.write("a.csv", "a\n1\n"), "--format", "arrow-stream"]
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle(
      fileDescriptor: open("/dev/pts/\(number)", O_RDWR | O_NOCTTY), closeOnDealloc: true)
    let errors = Pipe()
    process.standardError = errors
    try process.start()
    let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitForEnd()
    #expect(process.terminationStatus == 2)
    #expect(text.contains("is binary, and the output is a terminal; redirect it"))
  }

  @Test func showHasNoArrowStream() throws {
    let result = try run(buildFolder + "/tabella", ["show", "x", "--format", "arrow-stream"])
    #expect(result.status == 2)
  }
}
