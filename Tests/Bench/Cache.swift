import Foundation

/// The folder of generated data and compiled floors.
///
/// Files are kept for later runs with the same size and seed. The cache contains files of only one size and seed at a
/// time. The folder of many files is never kept: it is slow to create, but a forgotten folder of that size would be
/// worse.
struct Cache {
  let folder: URL
  let seed: UInt64
  let sizes: Sizes

  /// The version of the generator's output. Increase it when the output changes.
  private static let version = 1

  /// The folder of the data by default.
  static var defaultFolder: URL {
    FileManager.default.temporaryDirectory.appendingPathComponent("tabella-bench")
  }

  /// Creates the folder and removes data of another size or seed.
  func create() throws {
    let files = FileManager.default
    try files.createDirectory(at: data, withIntermediateDirectories: true)
    for name in try files.contentsOfDirectory(atPath: folder.path)
    where name.hasPrefix("data-") && name != data.lastPathComponent {
      try files.removeItem(atPath: path(name))
    }
  }

  /// The path of a file that does not depend on the size.
  func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

  /// The folder of the generated files.
  var data: URL {
    folder.appendingPathComponent("data-\(sizes.plain)-\(seed)-\(Self.version)")
  }

  func path(of kind: DataKind) -> String { data("\(kind).\(kind == .text ? "txt" : "csv")") }

  var smallFile: String { data("three-rows.csv") }
  var kilobyteFile: String { data("kilobyte.csv") }
  var manyFiles: String { data("folder") }
  /// The copy of the plain file that is edited, and the target of moves.
  var editedFile: String { data("edited.csv") }
  var copiedFile: String { data("copied.csv") }
  /// The plain file with a change in every thousandth row.
  var changedFile: String { data("changed.csv") }
  /// The CSV file with the cells of the provider in C.
  var cellsFile: String { data("cells.csv") }

  private func data(_ name: String) -> String { data.appendingPathComponent(name).path }

  // MARK: Files

  /// Creates the file unless it exists, and reads it into memory.
  func prepare(_ kind: DataKind) throws {
    let path = path(of: kind)
    if !FileManager.default.fileExists(atPath: path) {
      try write(kind, rows: sizes.rows(of: kind), to: path)
    }
    try settle(path)
  }

  /// Creates the changed file unless it exists, and reads it into memory.
  func prepareChanged() throws {
    if !FileManager.default.fileExists(atPath: changedFile) {
      try write(.plain, rows: sizes.plain, to: changedFile, changing: 1000)
    }
    try settle(changedFile)
  }

  /// Creates the copy again.
  func prepareCopy() throws {
    removeCopies()
    try FileManager.default.copyItem(atPath: path(of: .plain), toPath: editedFile)
    try settle(editedFile)
  }

  func removeCopies() {
    unlink(editedFile)
    unlink(copiedFile)
  }

  func prepareCells() throws {
    let provider = CellsProvider(cache: self)
    try provider.build()
    try provider.write(rows: sizes.cells, to: cellsFile)
    try settle(cellsFile)
  }

  func prepareSmallFiles() throws {
    try Data("name,born\nAda,1815\nGrace,1906\nBarbara,1939\n".utf8)
      .write(to: URL(fileURLWithPath: smallFile))
    try write(.plain, rows: 9, to: kilobyteFile)
  }

  /// Writes generated rows. With `changing`, the last cell of every row whose number is a multiple of it is longer.
  private func write(
    _ kind: DataKind, rows: Int, to path: String, changing: Int? = nil
  ) throws {
    // The file has another name until it is complete, so that an interrupted run leaves nothing to reuse.
    let partial = path + ".part"
    try Data().write(to: URL(fileURLWithPath: partial))
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: partial))
    var generator = DataGenerator(kind, seed: seed)
    var bytes: [UInt8] = []
    generator.appendHeader(to: &bytes)
    for row in 0..<rows {
      generator.appendRow(to: &bytes)
      if let changing, row % changing == 0 {
        bytes.removeLast()
        bytes += Array(" changed\n".utf8)
      }
      guard bytes.count >= 1 << 20 else { continue }
      try file.write(contentsOf: bytes)
      bytes.removeAll(keepingCapacity: true)
    }
    try file.write(contentsOf: bytes)
    try file.close()
    guard rename(partial, path) == 0 else { throw BenchError("cannot write \(path)") }
  }

  /// Evicts the file from memory and reads it again. Bytes that were read are in larger pages than bytes that were just
  /// written, and every run should find the same state.
  private func settle(_ path: String) throws {
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
    defer { try? file.close() }
    try file.synchronize()
    posix_fadvise(file.fileDescriptor, 0, 0, POSIX_FADV_DONTNEED)
    while let bytes = try file.read(upToCount: 1 << 20), !bytes.isEmpty {}
  }

  // MARK: Folder

  /// Creates the folder of many files. Each file is one hole with its own size, so the order by size is unique. An
  /// existing folder is kept.
  func prepareFolder() throws {
    guard !FileManager.default.fileExists(atPath: manyFiles) else { return }
    try FileManager.default.createDirectory(atPath: manyFiles, withIntermediateDirectories: true)
    // A prime that does not divide the number of files, so that each size occurs once.
    let step = sizes.files % 7919 == 0 ? 7907 : 7919
    for index in 0..<sizes.files {
      let descriptor = open("\(manyFiles)/entry-\(index)", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else { throw BenchError("cannot write into \(manyFiles)") }
      ftruncate(descriptor, off_t(index * step % sizes.files))
      close(descriptor)
    }
  }

  func removeFolder() throws { try remove(manyFiles) }

  /// Removes the cache with all its content.
  func clean() throws { try remove(folder.path) }

  private func remove(_ path: String) throws {
    guard FileManager.default.fileExists(atPath: path) else { return }
    try FileManager.default.removeItem(atPath: path)
  }
}

/// The reason why the benchmark cannot continue.
struct BenchError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
