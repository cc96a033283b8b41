import Foundation
import Testing

@testable import TabellaTestSupport

/// Columns on request as a user meets them: there if an option names them, and otherwise not.
@Suite struct RequestedColumnTests {
  let folder = try! TemporaryFolder()

  private func text(_ arguments: String...) throws -> String {
    let result = try run("\(buildFolder)/tabella", arguments, environment: ["LC_ALL": "C.UTF-8"])
    #expect(result.status == 0 && result.errors.isEmpty, "\(arguments): \(result.errors)")
    return result.text
  }

  private func makeFiles() throws -> String {
    let tree = folder.path + "/tree"
    for path in [tree, tree + "/big", tree + "/small"] { #expect(mkdir(path, 0o755) == 0) }
    try folder.write("tree/big/a", [UInt8](repeating: 1, count: 70_000))
    try folder.write("tree/small/b", "12")
    try folder.write("tree/c.TXT", "123")
    return tree
  }

  /// The total of a folder from its own size, which depends on the file system.
  private func total(_ path: String, _ content: Int) -> Int {
    var status = stat()
    #expect(lstat(path, &status) == 0)
    return Int(status.st_size) + content
  }

  @Test(arguments: ["--in-process", "--isolate"])
  func optionsNameThem(_ place: String) throws {
    let tree = try makeFiles()
    let (big, small) = (total(tree + "/big", 70_000), total(tree + "/small", 2))
    #expect(
      try text("export", tree, place, "--columns", "name,total,extension")
        == "name,total,extension\nbig,\(big),\nc.TXT,3,txt\nsmall,\(small),\n")
    #expect(
      try text("export", tree, place, "--columns", "name", "--sort", "total:desc")
        == "name\nbig\nsmall\nc.TXT\n")
    #expect(
      try text("export", tree, place, "--columns", "name", "--filter", "total > 60K")
        == "name\nbig\n")
    #expect(try text("count", tree, place, "--section-by", "extension").contains("txt\t1\n"))
  }

  @Test(arguments: ["--in-process", "--isolate"])
  func otherwiseTheyAreLeftOut(_ place: String) throws {
    let tree = try makeFiles()
    let usual = "name,kind,size,modified,mode,owner,group,links,target"
    #expect(try text("export", tree, place).hasPrefix(usual + "\n"))
    let json =
      try JSONSerialization.jsonObject(
        with: Data(text("show", tree, place, "--json").utf8)) as? [String: Any]
    let columns = json?["columns"] as? [[String: Any]]
    #expect(columns?.compactMap { $0["name"] as? String }.joined(separator: ",") == usual)
    #expect(!(try text("describe", tree, "0", place).contains("total")))
    #expect(try text("describe", tree, place).contains("total  integer  bytes  on request\n"))
    // A search reads no total, so it finds none.
    #expect(
      try text("count", tree, place, "--search", "\(total(tree + "/big", 70_000))") == "0\n")
  }

  /// A joined column is on request if it is so in all tables that have it.
  @Test func joinedTables() throws {
    let tree = try makeFiles()
    let other = try folder.write("other.csv", "name,total\nx,7\n")
    #expect(
      try text("export", tree, other, "--no-header", "--filter", "name = x", "--columns", "total")
        == "7\n")
    #expect(try text("export", tree, other, "-n", "1").contains(",total\n"))
    #expect(!(try text("export", tree, tree, "-n", "1").contains("total")))
  }
}
