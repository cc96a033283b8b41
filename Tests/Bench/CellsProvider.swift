import Foundation

/// The compiled provider `Crossing/cells.c` with its manifest. Its cells cost nothing to create.
struct CellsProvider {
  let cache: Cache

  static let sources = Floors.sources.appendingPathComponent("Crossing")

  /// The folder for the search path.
  var folder: URL { URL(fileURLWithPath: cache.path("crossing")) }

  static func compiler() throws -> String {
    guard let compiler = Tools.find("clang") ?? Tools.find("gcc") else {
      throw BenchError("clang or gcc is needed to compile the provider of cells")
    }
    return compiler
  }

  func build() throws {
    try FileManager.default.createDirectory(
      at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    let header = Floors.sources.appendingPathComponent("../../Sources/CTabella/include")
    let words = [
      try Self.compiler(), "-O2", "-shared", "-fPIC", "-I", header.standardized.path,
      Self.sources.appendingPathComponent("cells.c").path, "-o",
      folder.appendingPathComponent("cells.so").path,
    ]
    guard output(words, showsErrors: true) != nil else {
      throw BenchError("failed: \(words.joined(separator: " "))")
    }
    let manifest = """
      {"id":"cells","version":"1","contract":"0.9","library":"cells.so","schemes":["cells"]}
      """
    try Data(manifest.utf8).write(to: folder.appendingPathComponent("cells.tabella.json"))
  }

  /// Writes the cells of `rows` rows into a CSV file unless it exists.
  func write(rows: Int, to path: String) throws {
    guard !FileManager.default.fileExists(atPath: path) else { return }
    let lines = (0..<4096).map { row in
      (0..<8).map { "\(row * 8 + $0)" }.joined(separator: ",") + "\n"
    }
    let round = Data(lines.joined().utf8)
    let partial = path + ".part"
    try Data("a,b,c,d,e,f,g,h\n".utf8).write(to: URL(fileURLWithPath: partial))
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: partial))
    try file.seekToEnd()
    for _ in 0..<rows / lines.count { try file.write(contentsOf: round) }
    try file.write(contentsOf: Data(lines.prefix(rows % lines.count).joined().utf8))
    try file.close()
    guard rename(partial, path) == 0 else { throw BenchError("cannot write \(path)") }
  }
}
