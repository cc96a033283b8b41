import Foundation
import Testing

@testable import TabellaTestSupport

/// Programs in C that are linked to libtabella.
@Suite struct EmbedProgramTests {
  let folder: TemporaryFolder
  let table: String

  init() throws {
    folder = try TemporaryFolder()
    table = try folder.write("t.csv", "n,m\n" + (0..<2000).map { "\($0),x\n" }.joined())
    // As in an installation, but the libraries beside it are those of the build folder.
    for name in ["libtabella.so", "libtabella.so.0"] {
      try FileManager.default.createSymbolicLink(
        atPath: folder.path + "/" + name, withDestinationPath: EmbedLibrary.path)
    }
  }

  /// Compiles a program and links it to the library.
  private func program(_ source: String) throws -> String {
    let program = folder.path + "/program"
    let result = try run(
      findProgram("clang"),
      [
        "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1", source,
        "-I\(packageFolder)/Sources/CTabella/include",
        "-I\(packageFolder)/Sources/CTabellaEmbed/include", "-L\(folder.path)", "-ltabella",
        "-lpthread", "-Wl,-rpath,\(folder.path)", "-o", program,
      ])
    guard result.status == 0 else { throw MissingTool("a compiled \(source): \(result.errors)") }
    return program
  }

  /// Forks after and before the first use, threads, cancellations, and memory.
  @Test(arguments: ["after", "before", "threads", "cancels", "leaks"])
  func lifetimesAreKept(_ what: String) throws {
    let program = try program(packageFolder + "/Tests/TabellaTests/Embedding/Programs/lifetimes.c")
    let result = try run(
      program, [what, table], environment: ["SWIFT_BACKTRACE": "enable=no"])
    #expect(result.status == 0, "\(what): \(result.status) \(result.errors)")
  }

  /// The library finds providers relative to itself: in `tabella/providers` beside it, and the worker in
  /// `../libexec/tabella`. The program that loads it can be anywhere.
  @Test func theLibraryFindsItsParts() throws {
    let prefix = folder.path + "/prefix"
    for name in ["lib/tabella/providers", "libexec/tabella"] {
      try FileManager.default.createDirectory(
        atPath: "\(prefix)/\(name)", withIntermediateDirectories: true)
    }
    func install(_ file: String, _ place: String) throws {
      try copyPrograms(file, to: "\(prefix)/\(place)")
    }
    try install("libtabella-embed.so", "lib/libtabella.so.0.1.0")
    try install("tabella-worker", "libexec/tabella/tabella-worker")
    for name in ["csv", "directory", "processes", "text"] {
      try install("libtabella-\(name).so", "lib/tabella/providers/libtabella-\(name).so")
    }
    for name in ["libtabella.so.0", "libtabella.so"] {
      try FileManager.default.createSymbolicLink(
        atPath: "\(prefix)/lib/\(name)", withDestinationPath: "libtabella.so.0.1.0")
    }
    let source = try folder.write(
      "find.c",
      """
      #include <stdio.h>
      #include <string.h>
      #include "tabella_embed.h"
      int main(int count, char **words) {
        tabella_embed_settings settings = {0};
        tabella_embed_request request = {0};
        tabella_embed_host *host = NULL;
        tabella_embed_table *table = NULL;
        tabella_error error = {0};
        settings.isolation = count > 2 ? TABELLA_EMBED_ISOLATION_ALWAYS : 0;
        request.location.bytes = words[1];
        request.location.length = (int64_t)strlen(words[1]);
        int code = tabella_embed_host_create(&settings, &host, &error);
        if (!code) code = tabella_embed_open(host, &request, &table, &error);
        if (code) printf("%.*s\\n", (int)error.message.length, error.message.bytes);
        if (error.release) error.release(&error);
        tabella_embed_table_release(table);
        tabella_embed_host_release(host);
        return code;
      }
      """)
    let program = try program(source)
    func find(_ arguments: String...) throws -> ProgramResult {
      try run(
        program, arguments,
        environment: ["LD_LIBRARY_PATH": "\(prefix)/lib", "HOME": folder.path])
    }
    #expect(try find(table).text == "")
    #expect(try find(table, "always").text == "")
    // The installation can move.
    let moved = folder.path + "/moved"
    #expect(rename(prefix, moved) == 0)
    let there = try run(
      program, [table, "always"], environment: ["LD_LIBRARY_PATH": "\(moved)/lib"])
    #expect(there.text == "")
    // A folder that a group shares is as good as the library in it.
    for name in ["", "/lib", "/lib/libtabella.so.0.1.0", "/lib/tabella", "/lib/tabella/providers"] {
      #expect(chmod(moved + name, 0o775) == 0)
    }
    let shared = try run(program, [table], environment: ["LD_LIBRARY_PATH": "\(moved)/lib"])
    #expect(shared.text == "")
    #expect(chmod(moved + "/lib/libtabella.so.0.1.0", 0o755) == 0)
    #expect(chmod(moved + "/lib/tabella/providers/libtabella-csv.so", 0o777) == 0)
    let foreign = try run(program, [table], environment: ["LD_LIBRARY_PATH": "\(moved)/lib"])
    #expect(foreign.text.contains("is not trusted (mode)"), "\(foreign.text)")
    for name in ["csv", "text"] { unlink("\(moved)/lib/tabella/providers/libtabella-\(name).so") }
    let missing = try run(
      program, [table], environment: ["LD_LIBRARY_PATH": "\(moved)/lib", "HOME": folder.path])
    #expect(
      missing.text.contains("the library of the shipped provider csv is not in ")
        && missing.text.contains("/moved/lib/tabella/providers"),
      "\(missing.text)")
  }
}
