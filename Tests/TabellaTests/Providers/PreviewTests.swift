import Foundation
import Tabella
import TabellaFiles
import TabellaSDK
import TabellaText
import Testing

@testable import TabellaDirectory
@testable import TabellaTestSupport

/// The previews of files with any content.
@Suite struct PreviewTests {
  /// The preview of a file with these bytes, from the part that the source reads.
  private static func preview(_ bytes: [UInt8]) throws -> StyledText {
    try Preview.ofFile(
      Array(bytes.prefix(Preview.longestText.bytes + 1)), size: bytes.count)
  }

  private static func string(_ text: StyledText) -> String {
    String(decoding: text.bytes, as: UTF8.self)
  }

  /// The text without its last line, and the amount in that line.
  private static func split(_ text: StyledText) -> (text: [UInt8], mark: String) {
    guard let mark = text.spans.last, mark.style == .dim, mark.bytes.upperBound == text.bytes.count
    else { return (text.bytes, "") }
    return (
      Array(text.bytes[..<max(0, mark.bytes.lowerBound - 1)]),
      String(decoding: text.bytes[mark.bytes], as: UTF8.self)
    )
  }

  @Test(arguments: [
    ("one", "one"), ("one\n", "one"), ("one\ntwo", "one\ntwo"), ("one\r\ntwo\r\n", "one\ntwo"),
    ("\n", ""), ("\n\n", "\n"), ("a\rb\n", "a\rb"), ("a\r", "a\r"), ("a\r\r\n", "a\r"),
    ("\u{FEFF}one\n", "one"), ("\u{1B}[31m\n", "\u{1B}[31m"), ("é\n", "é"),
  ])
  func textIsItsLines(file: String, text: String) throws {
    #expect(try Self.preview(Array(file.utf8)) == StyledText(text))
  }

  @Test func emptyFilesSaySo() throws {
    #expect(try Self.preview([]) == StyledText("empty", spans: [.init(0..<5, .dim)]))
  }

  @Test func linesAreBounded() throws {
    let lines = (1...64).map { "line \($0)" }
    let whole = lines.joined(separator: "\n")
    #expect(try Self.string(Self.preview(Array(whole.utf8))) == whole)
    #expect(try Self.string(Self.preview(Array((whole + "\r\n").utf8))) == whole)
    #expect(
      try Self.string(Self.preview(Array((whole + "\n\n").utf8))) == whole + "\n… 1 more byte")
    let more = String(repeating: "x", count: 12_345)
    #expect(
      try Self.string(Self.preview(Array((whole + "\n" + more).utf8)))
        == whole + "\n… 12,345 more bytes")
  }

  /// At every position of the limit, no character is cut, and the shown and the omitted bytes add up to the whole file.
  @Test(arguments: ["a", "é", "€", "😀", "é\n", "\r\n", "😀\r\n"])
  func nothingIsCutInTwo(unit: String) throws {
    let limit = Preview.longestText.bytes
    for shift in 0..<8 {
      // Few lines, so that the bytes are the limit.
      let isLine = unit.hasSuffix("\n") || unit.hasSuffix("\r\n")
      let filler = String(repeating: "x", count: isLine ? limit - 20 : 0)
      let start = String(repeating: "-", count: shift) + filler
      let file = Array((start + String(repeating: unit, count: isLine ? 12 : limit + 1)).utf8)
      let (text, mark) = Self.split(try Self.preview(file))
      let shown = try #require(String(validating: text, as: UTF8.self), "\(unit) \(shift)")
      #expect(!shown.hasSuffix("\r"))
      let more = try #require(
        Int(mark.filter(\.isNumber)), "\(mark)")
      let end = file.count - more
      #expect((limit - 4...limit).contains(end), "\(unit) \(shift) \(end)")
      let naive = String(decoding: file[..<end], as: UTF8.self)
        .replacingOccurrences(of: "\r\n", with: "\n")
      #expect(naive == shown || naive == shown + "\n", "\(unit) \(shift)")
    }
  }

  @Test func lineWithoutAWholeCharacterIsLeftOut() throws {
    let line = String(repeating: "x", count: Preview.longestText.bytes - 2)
    #expect(
      try Self.string(Self.preview(Array("\(line)\n😀".utf8))) == "\(line)\n… 4 more bytes")
  }

  /// Invalid bytes appear unchanged, also at the limit.
  @Test func whatIsNoUTF8Stays() throws {
    #expect(try Self.preview([0xFF, 0xFE - 1, 10, 0xC3]).bytes == [0xFF, 0xFD, 10, 0xC3])
    let file = [UInt8](repeating: 0xBF, count: 20_000)
    let (text, mark) = Self.split(try Self.preview(file))
    #expect(text == Array(file[..<Preview.longestText.bytes]))
    #expect(mark == "… 3,616 more bytes")
  }

  @Test(arguments: [String.Encoding.utf16LittleEndian, .utf16BigEndian, .utf32LittleEndian])
  func markedEncodingsAreText(encoding: String.Encoding) throws {
    let short = try #require("\u{FEFF}one\r\ntwo 😀\n".data(using: encoding))
    #expect(try Self.preview(Array(short)) == StyledText("one\ntwo 😀"))
    for shift in 0..<3 {
      let long =
        "\u{FEFF}" + String(repeating: "x", count: shift) + String(repeating: "😀", count: 9999)
      let (text, mark) = Self.split(try Self.preview(Array(#require(long.data(using: encoding)))))
      let shown = try #require(String(validating: text, as: UTF8.self))
      #expect(long.dropFirst().hasPrefix(shown) && shown.utf8.count > 8000)
      #expect(mark == "… more")
    }
  }

  /// A binary file looks like in the text provider.
  @Test(arguments: [1, 15, 16, 17, 255, 256, 257, 5000])
  func binariesAreAsTheTextProviderShowsThem(size: Int) throws {
    var generator = SeededGenerator(seed: UInt64(size))
    let file = [0] + (1..<size).map { _ in UInt8.random(in: 0...255, using: &generator) }
    let folder = try TemporaryFolder()
    let source = try TextProvider().open(OpenRequest(path: folder.write("file", file)))
    let (text, mark) = Self.split(try Self.preview(file))
    let lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
    let rows = try readAll(source).prefix(16)
    #expect(lines.count == rows.count)
    for (line, row) in zip(lines, rows) {
      guard case .integer(let offset) = row[0], let bytes = row[1].string, let ascii = row[2].string
      else {
        Issue.record("\(row)")
        continue
      }
      let start = String(repeating: " ", count: 3 - "\(offset)".count) + "\(offset)"
      let gap = String(repeating: " ", count: 48 - bytes.count)
      #expect(line == "\(start)  \(bytes)\(gap)  \(ascii)")
    }
    let more = ["", "… 1 more byte", "… 4,744 more bytes"][size > 257 ? 2 : size > 256 ? 1 : 0]
    #expect(mark == more)
  }

  @Test func unknownSizesAreNotGuessed() throws {
    let text = [UInt8](repeating: 65, count: Preview.longestText.bytes + 1)
    #expect(Self.split(try Preview.ofFile(text, size: nil)).mark == "… more")
    #expect(Self.split(try Preview.ofFile([0, 1], size: nil)).mark == "… more")
  }

  @Test(arguments: [
    (0, "0"), (999, "999"), (1000, "1,000"), (-1000, "-1,000"), (-999, "-999"),
    (1_234_567, "1,234,567"), (Int.min, "-9,223,372,036,854,775,808"),
  ])
  func numbersAreGrouped(number: Int, text: String) { #expect(number.grouped == text) }
}

/// Previews of entries in a folder, and of vanished ones.
@Suite struct DirectoryPreviewTests {
  let folder = try! TemporaryFolder()

  private func open(_ path: String? = nil, _ options: [String: String] = [:]) throws
    -> any TableDataSource
  { try DirectoryProvider().open(OpenRequest(path: path ?? folder.path, options: options)) }

  private func preview(_ source: any TableDataSource, _ name: String) throws -> StyledText {
    let row = try #require(try readAll(source).firstIndex { $0[0] == .text(name) }, "\(name)")
    guard
      case .text(let text)? = try source.supplementary?.supplementaryElement(
        ofKind: "preview", at: IndexPath(section: 0, row: row))
    else { throw MissingTool("a preview of \(name)") }
    return text
  }

  private func string(_ source: any TableDataSource, _ name: String) throws -> String {
    String(decoding: try preview(source, name).bytes, as: UTF8.self)
  }

  @Test func filesBeginAsTheyAre() throws {
    try folder.write("text", "one\r\ntwo")
    try folder.write("none", "")
    try folder.write("exact", [UInt8](repeating: 65, count: Preview.longestText.bytes))
    try folder.write("more", [UInt8](repeating: 65, count: Preview.longestText.bytes + 1))
    let source = try open()
    #expect(try preview(source, "text") == StyledText("one\ntwo"))
    #expect(try string(source, "none") == "empty")
    #expect(try preview(source, "exact").spans.isEmpty)
    #expect(try string(source, "more").hasSuffix("A\n… 1 more byte"))
    #expect(source.diagnostics?.nextDiagnostic() == nil)
  }

  @Test func onlySomeKindsAndOnlyRows() throws {
    try folder.write("a", "a")
    let source = try #require(try open().supplementary)
    #expect(try source.supplementaryKinds() == ["badge", "preview"])
    #expect(try source.supplementaryElement(ofKind: "preview", at: .section(0)) == nil)
    let path = IndexPath(section: 0, row: 0)
    #expect(try source.supplementaryElement(ofKind: "Preview", at: path) == nil)
  }

  /// A file that is too large to read completely, and one with 100 MB of text.
  @Test func largeFilesAreReadABit() throws {
    let text = String(repeating: "line\n", count: 5000)
    for (name, size) in [("huge", 1 << 40), ("large", 100_000_000)] {
      #expect(truncate(try folder.write(name, text), size) == 0)
    }
    let source = try open()
    let lines = String(text.prefix(64 * 5))
    #expect(try string(source, "huge") == lines + "… 1,099,511,627,456 more bytes")
    #expect(try string(source, "large") == lines + "… 99,999,680 more bytes")
  }

  /// The reported size of a file in /proc says nothing about its content.
  @Test func filesWithoutASizeAreRead() throws {
    let source = try open("/proc")
    #expect(try string(source, "version").hasPrefix("Linux version "))
    #expect(try !string(source, "version").contains("more"))
  }

  /// Files whose opening may block or have side effects are only named.
  @Test func pipesSocketsAndDevicesAreNotOpened() throws {
    #expect(mkfifo(folder.path + "/fifo", 0o644) == 0)
    let socket = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(socket) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    // The path from the current folder may be too long; the path from an open folder is short.
    let descriptor = Glibc.open(folder.path, O_RDONLY | O_DIRECTORY)
    defer { close(descriptor) }
    withUnsafeMutableBytes(of: &address.sun_path) {
      $0.copyBytes(from: "/proc/self/fd/\(descriptor)/socket".utf8)
    }
    let bound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    #expect(bound == 0)
    let source = try open()
    #expect(try string(source, "fifo") == "a FIFO")
    #expect(try string(source, "socket") == "a socket")
    #expect(try string(open("/dev"), "null") == "a character device")
    // A writer that does not block finds no reader, so there was none.
    #expect(Glibc.open(folder.path + "/fifo", O_WRONLY | O_NONBLOCK) == -1 && errno == ENXIO)
  }

  @Test func linksSayWhereTheyLead() throws {
    try folder.write("file", "secret")
    for (target, name) in [
      ("file", "good"), ("gone", "broken"), ("loop", "loop"), ("/", "root"), ("a\nb", "lines"),
    ] {
      #expect(symlink(target, "\(folder.path)/\(name)") == 0)
    }
    let source = try open()
    #expect(try string(source, "good") == "leads to file\na file")
    #expect(try string(source, "root") == "leads to /\na folder")
    #expect(try string(source, "lines") == "leads to a\\nb\nno such target")
    let broken = try preview(source, "broken")
    #expect(
      String(decoding: broken.bytes, as: UTF8.self) == "leads to gone\nno such target")
    #expect(broken.spans == [.init(14..<28, .warning)])
    #expect(try string(source, "loop") == "leads to loop\nthe links are a loop")
  }

  @Test func foldersBeginWithTheirFirstEntries() throws {
    for name in ["empty", "few", "many", "few/b"] {
      #expect(mkdir("\(folder.path)/\(name)", 0o755) == 0)
    }
    for name in ["a", "new\nline", ".hidden"] { try folder.write("few/\(name)", "") }
    for number in 1000..<2040 { try folder.write("many/\(number)", "") }
    let odd = folder.path + "/few/"
    let bytes = odd.utf8.map { CChar(bitPattern: $0) } + [CChar(bitPattern: 0xFF), 0]
    close(Glibc.open(bytes, O_CREAT | O_WRONLY | O_CLOEXEC, 0o644))
    let source = try open()
    #expect(try preview(source, "empty") == StyledText("no entries", spans: [.init(0..<10, .dim)]))
    #expect(
      try preview(source, "few").bytes == Array("a\nb/\nnew\\nline\n".utf8) + [0xFF])
    #expect(
      try string(source, "many")
        == (1000..<1032).map { "\($0)\n" }.joined() + "… 1,008 more entries")
    let hidden = try open(nil, ["hidden": "true"])
    #expect(try string(hidden, "few").hasPrefix(".hidden\na\n"))
  }

  @Test func longListingsAreNotReadToTheEnd() throws {
    for number in 0..<40 { try folder.write("\(number)", "") }
    let descriptor = Glibc.open(folder.path, O_RDONLY | O_DIRECTORY)
    defer { close(descriptor) }
    let listing = Listing(showsHidden: false)
    _ = try listing.add(descriptor, parent: nil, entry: nil, upTo: 1)
    #expect(!listing.isWhole && listing.count == 40)
    #expect(
      String(decoding: Preview.ofFolder(listing).bytes, as: UTF8.self)
        .hasSuffix("\n… at least 8 more entries"))
  }

  /// An entry that replaces a listed file is not shown as that file.
  @Test(arguments: ["file", "folder", "link", "fifo", "nothing"])
  func replacedFilesHaveVanished(by kind: String) throws {
    try folder.write("other", "secret")
    let path = try folder.write("file", "listed")
    #expect(mkdir(folder.path + "/folder", 0o755) == 0)
    let source = try open()
    #expect(try string(source, "file") == "listed")
    #expect(rename(path, folder.path + "/elsewhere") == 0)
    #expect(rmdir(folder.path + "/folder") == 0)
    let folderPath = folder.path + "/folder"
    switch kind {
    case "file":
      #expect(rename(folder.path + "/other", path) == 0)
      #expect(symlink(".", folderPath) == 0)
    case "folder": #expect(mkdir(path, 0o755) == 0)
    case "link": #expect(symlink("other", path) == 0)
    case "fifo": #expect(mkfifo(path, 0o644) == 0 && mkfifo(folderPath, 0o644) == 0)
    default: break
    }
    for name in ["file", "folder"] {
      let text = try preview(source, name)
      #expect(text == StyledText("has vanished", spans: [.init(0..<12, .warning)]))
    }
  }

  /// A file that was shortened, extended or rewritten is the same file, and its preview is current.
  @Test func previewsAreOfTheMoment() throws {
    let path = try folder.write("file", "one")
    let source = try open()
    #expect(try string(source, "file") == "one")
    let file = try #require(FileHandle(forWritingAtPath: path))
    try file.write(contentsOf: Data("changed\n".utf8))
    #expect(try string(source, "file") == "changed")
    try file.truncate(atOffset: 2)
    #expect(try string(source, "file") == "ch")
  }

  /// An unreadable entry leads to a warning, not an error. Root may read everything, so another user looks.
  @Test func unreadableEntriesSayWhy() async throws {
    chmod(try folder.write("file", "secret"), 0)
    #expect(mkdir(folder.path + "/folder", 0) == 0)
    chmod(folder.path, 0o755)
    setenv("TABELLA_TEST_PREVIEWS", folder.path, 1)
    await #expect(processExitsWith: .success) {
      let path = String(cString: getenv("TABELLA_TEST_PREVIEWS"))
      if geteuid() == 0 { #expect(setuid(65534) == 0) }
      let source = try #require(try DirectoryProvider().open(OpenRequest(path: path)).supplementary)
      for row in 0..<2 {
        guard
          case .text(let text)? = try source.supplementaryElement(
            ofKind: "preview", at: IndexPath(section: 0, row: row))
        else {
          Issue.record("there is no preview")
          return
        }
        let reason = "unreadable: Permission denied"
        #expect(text == StyledText(reason, spans: [.init(0..<reason.utf8.count, .warning)]))
      }
    }
    chmod(folder.path + "/folder", 0o755)
  }

  /// The preview of a file deep in a tree belongs to that file.
  @Test func treesHavePreviews() throws {
    for name in ["a", "a/b"] { #expect(mkdir("\(folder.path)/\(name)", 0o755) == 0) }
    try folder.write("a/b/file", "deep")
    try folder.write("a/file", "high")
    for options in [["recursive": "true"], ["recursive": "true", "hidden": "true"]] {
      let source = try open(nil, options)
      #expect(try string(source, "a/b/file") == "deep")
      #expect(try string(source, "a/file") == "high")
      #expect(try string(source, "a") == "b/\nfile")
    }
  }
}
