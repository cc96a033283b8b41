import Foundation
import Tabella
import TabellaBridge
import Testing

@testable import TabellaHost
@testable import TabellaTestSupport

/// The header says which functions of a table a provider must set, and hosts refuse a table without one of them.
@Suite struct MemberTests {
  static let library = packageFolder + "/Tests/TabellaTests/Host/Libraries/members.c"

  /// A function in a table of the header.
  struct Member: Hashable, CustomStringConvertible {
    let table: String
    let function: String
    let isOptional: Bool

    var description: String { "\(table).\(function)" }

    /// Whether a source has this table. The others belong to a provider or a host.
    var isOfSource: Bool {
      !["tabella_provider", "tabella_options", "tabella_host"].contains(table)
    }
  }

  /// The functions that the header marks as required or optional.
  static let members: [Member] = {
    let path = packageFolder + "/Sources/CTabella/include/tabella.h"
    guard let header = try? String(contentsOfFile: path, encoding: .utf8) else { return [] }
    return header.matches(of: /typedef struct (\w+) \{\n((?s).*?)\n\} \w+;/).flatMap { table in
      table.2.matches(of: /\(\*TABELLA_(REQUIRED|OPTIONAL) (\w+)\)/).map {
        Member(
          table: String(table.1), function: String($0.2), isOptional: $0.1 == "OPTIONAL")
      }
    }
  }()

  /// Each optional function has a comment that says what its absence means, and no other function has one.
  @Test func commentsAndMarksAgree() throws {
    #expect(Self.members.count > 35)
    let header = try String(
      contentsOfFile: packageFolder + "/Sources/CTabella/include/tabella.h", encoding: .utf8)
    let body = try #require(header.range(of: "typedef struct tabella_source_table {"))
    var comment = ""
    var isInComment = false
    var documented: [String] = []
    for line in header[body.lowerBound...].split(separator: "\n") {
      if line.contains("/*"), !isInComment { comment = "" }
      if line.contains("/*") || isInComment { comment += line }
      isInComment = (line.contains("/*") || isInComment) && !line.contains("*/")
      guard let mark = line.firstMatch(of: /\(\*TABELLA_(REQUIRED|OPTIONAL) (\w+)\)/) else {
        continue
      }
      #expect(comment.contains("Optional: without it, ") == (mark.1 == "OPTIONAL"), "\(line)")
      documented.append(String(mark.2))
      comment = ""
    }
    #expect(documented == Self.members.map(\.function))
    // A table has no function without a mark. A release frees a struct, and is no member of a table.
    for line in header[body.lowerBound...].split(separator: "\n")
    where line.contains("(*TABELLA_NULLABLE") {
      #expect(line.contains("release)") || line.contains("typedef"), "\(line)")
    }
  }

  /// The library for these tests has every function of the header.
  @Test func theLibraryIsComplete() throws {
    let folder = try TemporaryFolder()
    let library = try loadLibrary(
      at: compileLibrary(Self.library, into: folder, name: "members.so"))
    let source = try library.open(OpenRequest(location: []))
    let rows = try readAll(source).map { "\($0[0])" }
    #expect(rows == Self.members.filter(\.isOfSource).map(\.description))
  }

  /// In this process and in a worker, a source without a required function is refused, and the error names it. A source
  /// without optional functions works.
  @Test(arguments: [TabellaHost.Host.Isolation.never, .automatic])
  func requiredFunctionsAreRequired(_ isolation: TabellaHost.Host.Isolation) throws {
    let folder = try TemporaryFolder()
    _ = try compileLibrary(Self.library, into: folder, name: "members.so")
    try folder.write(
      "members.tabella.json",
      """
      {"id": "members", "version": "1", "contract": "\(contractVersionName)",
       "library": "members.so", "schemes": ["members"]}
      """)
    let host = Host(searchPath: SearchPath([folder.path]))
    host.isolation = isolation
    for member in Self.members where member.isOfSource {
      let refusal: TableError?
      do throws(TableError) {
        _ = try host.open(Location("members:\(member)")).source
        refusal = nil
      } catch { refusal = error }
      if member.isOptional {
        #expect(refusal == nil, "\(member): \(refusal as Any)")
      } else {
        #expect(refusal?.code == .misbehaved, "\(member)")
        #expect(refusal?.message.contains("has no \(member.function)") == true, "\(member)")
      }
    }
    let least = try host.open("members:optional").source
    #expect(try readAll(least).count == Self.members.count { $0.isOfSource })
    // Without `ability`, a source has no abilities at all.
    #expect(least.editing == nil && least.identity == nil)
    let withoutQuestions = try host.open("members:tabella_editing.editable_columns").source
    #expect(try withoutQuestions.editing?.editableColumns() == nil)
  }

  /// The same for the functions of a provider.
  @Test func requiredFunctionsOfProvidersAreRequired() throws {
    for member in Self.members where ["tabella_provider", "tabella_options"].contains(member.table)
    {
      let folder = try TemporaryFolder()
      let library = try compileLibrary(
        Self.library, into: folder, name: "members.so", flags: ["-DMISSING=\"\(member)\""])
      let refusal: TableError?
      do throws(TableError) {
        _ = try loadLibrary(at: library).open(OpenRequest(location: []))
        refusal = nil
      } catch { refusal = error }
      if member.isOptional {
        #expect(refusal == nil, "\(member): \(refusal as Any)")
      } else {
        #expect(refusal?.code == .misbehaved, "\(member)")
        #expect(refusal?.message.contains("has no \(member.function)") == true, "\(member)")
      }
    }
  }
}
