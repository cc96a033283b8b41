import Testing

@testable import TabellaTestSupport

/// The headers compile alone, with pedantic warnings, in every supported language.
@Suite struct HeaderTests {
  // An optimising gcc warned about the helpers in the shipped header.
  @Test(arguments: levels) func clangDrawsNoWarnings(_ level: String) throws {
    try expectNoWarnings("clang", level)
  }
  @Test(.needs("gcc"), arguments: levels) func gccDrawsNoWarnings(_ level: String) throws {
    try expectNoWarnings("gcc", level)
  }

  static let levels = sample(1, of: ["-O2", "-O0", "-O3", "-Os"])

  /// Files that use the headers.
  static let users = sample(
    3,
    of: [
      "Examples/provider-c/ini.c", "Examples/provider-c/lines.c", "Examples/provider-c/memory.c",
      "Examples/provider-c/planets.c", "Tests/TabellaTests/Host/Libraries/batches.c",
      "Tests/TabellaTests/Host/Libraries/typed.c", "Tests/Faults/savers/header.c",
    ])

  private func expectNoWarnings(_ compiler: String, _ level: String) throws {
    let folder = try TemporaryFolder()
    for file in Self.users {
      let result = try run(
        findProgram(compiler),
        [
          "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", level, "-fPIC",
          "-shared",
          "-I\(packageFolder)/Sources/CTabella/include", "-o", "\(folder.path)/o.so",
          "\(packageFolder)/\(file)",
        ])
      #expect(result.status == 0, "\(result.errors)")
    }
  }

  @Test(arguments: headers) func compilesAloneWithClang(_ header: String) throws {
    for standard in Self.standards { try expectCompiles(header, "clang", "c", standard) }
    try expectCompiles(header, "clang++", "c++", "c++17")
  }

  @Test(.needs("gcc", "g++"), arguments: headers)
  func compilesAloneWithGCC(_ header: String) throws {
    for standard in Self.standards { try expectCompiles(header, "gcc", "c", standard) }
    try expectCompiles(header, "g++", "c++", "c++17")
  }

  static let standards = sample(1, of: ["c99", "c11", "c17"])

  static let headers = [
    "tabella.h", "tabella_batch.h", "tabella_edit.h", "tabella_save.h", "tabella_document.h",
    "tabella_embed.h",
  ]

  private func expectCompiles(
    _ header: String, _ compiler: String, _ language: String, _ standard: String
  ) throws {
    let folder = try TemporaryFolder()
    let file = try folder.write("alone.c", "#include \"\(header)\"\n#include \"\(header)\"\n")
    let result = try run(
      findProgram(compiler),
      [
        "-x", language, "-std=\(standard)", "-Wall", "-Wextra", "-Werror",
        "-pedantic-errors", "-fsyntax-only", "-I\(packageFolder)/Sources/CTabella/include",
        "-I\(packageFolder)/Sources/CTabellaEmbed/include", file,
      ])
    #expect(result.status == 0, "\(compiler) \(standard): \(result.errors)")
  }
}
