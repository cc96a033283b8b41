import CTabellaSystem
import Foundation
import Tabella
import Testing

@testable import TabellaDirectory

/// A folder with a tree to edit, and a separate home and trash next to it.
final class EditedTree: Sendable {
  let folder: TemporaryFolder
  var root: String { folder.path + "/tree" }
  var trashPath: String { folder.path + "/data/Trash" }

  init(inMemory: Bool = false) {
    folder = try! TemporaryFolder(inMemory: inMemory)
    for name in ["tree", "home"] { #expect(mkdir("\(folder.path)/\(name)", 0o755) == 0) }
  }

  var settings: DirectorySettings {
    DirectorySettings(
      trash: Trash(home: Array("\(folder.path)/home".utf8), data: Array("\(folder.path)/data".utf8))
    )
  }

  func open(
    _ path: String? = nil, _ change: (inout DirectorySettings) -> Void = { _ in }
  ) throws(TableError) -> DirectorySource {
    var settings = settings
    change(&settings)
    return try DirectorySource(path: Array((path ?? root).utf8), settings)
  }

  /// Creates a file in the tree, or a folder if the name ends with a slash.
  func make(_ name: [UInt8], _ content: String = "") {
    let path = Array(root.utf8) + [47] + name
    if name.last == 47 {
      #expect(withPath(path) { mkdir($0, 0o755) } == 0)
      return
    }
    let descriptor = withPath(path) {
      Glibc.open($0, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o644)
    }
    #expect(descriptor >= 0)
    #expect(write(descriptor, content, content.utf8.count) == content.utf8.count)
    close(descriptor)
    let file = withPath(path) { Glibc.open($0, O_RDONLY | O_CLOEXEC) }
    #expect(isClosedForWriting(file))
    close(file)
  }

  /// Waits until no process has a file open for writing. A program that another test starts has copies of all
  /// descriptors until it is executed. Meanwhile, a removal said that another program writes to the file.
  private func isClosedForWriting(_ file: Int32) -> Bool {
    for _ in 0..<30_000 {
      let result = tabella_system_lease(file)
      guard result == -EAGAIN else { return true }
      usleep(1000)
    }
    return false
  }

  func make(_ names: String...) { for name in names { make(Array(name.utf8), name) } }

  /// The row of a name in any section of a source.
  func row(_ source: DirectorySource, _ name: [UInt8]) throws -> RowReference {
    for section in 0..<(try source.numberOfSections(knowing: .max).value) {
      for (row, cells) in try readAll(source, section: section).enumerated()
      where cells[0] == .text(name) {
        return .path(IndexPath(section: section, row: row))
      }
    }
    throw MissingTool("a row named \(String(decoding: name, as: UTF8.self))")
  }

  func row(_ source: DirectorySource, _ name: String) throws -> RowReference {
    try row(source, Array(name.utf8))
  }

  /// Sets cells of entries by their names.
  func set(
    _ source: DirectorySource, _ names: [String: [Int: Cell]]
  ) throws -> EditResult {
    try source.commit(
      EditBatch(
        names.sorted { $0.key < $1.key }.map { .set(try row(source, $0.key), cells: $0.value) }))
  }

  /// Expects that a batch is refused in a run and a dry run, and that nothing is done.
  func expectRefusal(
    _ code: TableError.Code, _ part: String, _ source: DirectorySource,
    _ edits: [EditBatch.Edit], sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let before = snapshot()
    for isDryRun in [true, false] {
      let error = #expect(throws: TableError.self, sourceLocation: sourceLocation) {
        try source.commit(EditBatch(edits, isDryRun: isDryRun))
      }
      #expect(error?.code == code, "\(error?.message ?? "")", sourceLocation: sourceLocation)
      #expect(
        error?.message.contains(part) == true, "\(error?.message ?? "")",
        sourceLocation: sourceLocation)
      #expect(error?.message.contains("\n") == false, sourceLocation: sourceLocation)
    }
    #expect(snapshot() == before, sourceLocation: sourceLocation)
  }

  func snapshot() -> FileTree { FileTree(Array(root.utf8)) }
  func path(_ name: String) -> String { "\(root)/\(name)" }
  func exists(_ name: String) -> Bool {
    var status = stat()
    return lstat(path(name), &status) == 0
  }
}

func withPath<R>(_ path: [UInt8], _ body: (UnsafePointer<CChar>) -> R) -> R {
  (path + [0]).withUnsafeBufferPointer {
    $0.withMemoryRebound(to: CChar.self) { body($0.baseAddress!) }
  }
}

/// The names in a folder, from readdir.
func namesByReaddir(_ path: [UInt8]) -> [[UInt8]] {
  guard let stream = withPath(path, { opendir($0) }) else { return [] }
  defer { closedir(stream) }
  var names: [[UInt8]] = []
  while let entry = readdir(stream) {
    let offset = MemoryLayout<dirent>.offset(of: \.d_name)!
    let name = (UnsafeRawPointer(entry) + offset).assumingMemoryBound(to: CChar.self)
    let bytes = UnsafeRawBufferPointer(start: name, count: strlen(name))
    if !bytes.elementsEqual([46]), !bytes.elementsEqual([46, 46]) { names.append(Array(bytes)) }
  }
  return names
}

/// The content of a tree, from lstat.
struct FileTree: Equatable, CustomStringConvertible {
  struct Entry: Equatable {
    var inode: UInt64
    var mode: UInt32
    var size: Int
    /// Not compared for folders, since every change of their entries sets it.
    var modified: [Int]

    var kind: UInt32 { mode & S_IFMT }

    static func == (left: Entry, right: Entry) -> Bool {
      left.inode == right.inode && left.mode == right.mode
        && (left.kind == S_IFDIR || (left.size == right.size && left.modified == right.modified))
    }
  }

  var entries: [[UInt8]: Entry] = [:]

  init(_ root: [UInt8]) { add(root, below: []) }

  private mutating func add(_ folder: [UInt8], below prefix: [UInt8]) {
    for name in namesByReaddir(folder) {
      var status = stat()
      let path = folder + [47] + name
      guard withPath(path, { lstat($0, &status) }) == 0 else { continue }
      entries[prefix + name] = Entry(
        inode: UInt64(status.st_ino), mode: status.st_mode, size: Int(status.st_size),
        modified: [status.st_mtim.tv_sec, status.st_mtim.tv_nsec])
      if status.st_mode & S_IFMT == S_IFDIR { add(path, below: prefix + name + [47]) }
    }
  }

  var description: String {
    entries.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map {
      "\(String(decoding: $0.key, as: UTF8.self)): \($0.value.inode) \(String($0.value.mode, radix: 8)) \($0.value.modified)"
    }.joined(separator: "\n")
  }

  subscript(path: String) -> Entry? { entries[Array(path.utf8)] }
}
