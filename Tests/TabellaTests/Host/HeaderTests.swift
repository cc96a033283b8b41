import Testing

/// The contract's headers compile alone, with pedantic warnings, in every supported language.
@Suite struct HeaderTests {
  struct Dialect: Sendable, CustomStringConvertible {
    var compilers: [String]
    var language: String
    var standard: String

    var description: String { "\(compilers[0]) \(standard)" }
  }

  static let dialects = [
    Dialect(compilers: ["gcc"], language: "c", standard: "c11"),
    Dialect(compilers: ["gcc"], language: "c", standard: "c17"),
    Dialect(compilers: ["g++"], language: "c++", standard: "c++17"),
    Dialect(compilers: ["clang"], language: "c", standard: "c11"),
    Dialect(compilers: ["clang"], language: "c", standard: "c17"),
    Dialect(compilers: ["clang++"], language: "c++", standard: "c++17"),
  ]

  /// The helpers caused warnings in optimising builds of gcc, inside the shipped header.
  @Test(arguments: ["gcc", "clang"], ["-O0", "-O2", "-O3", "-Os"])
  func helpersDrawNoWarnings(_ name: String, level: String) throws {
    guard let compiler = findProgram(name) else { throw MissingTool(name) }
    let folder = try TemporaryFolder()
    for file in [
      "Examples/provider-c/planets.c", "Tests/TabellaTests/Host/Libraries/batches.c",
    ] {
      let result = try run(
        compiler,
        [
          "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", level, "-fPIC", "-shared",
          "-I\(packageFolder)/Sources/CTabella/include", "-o", "\(folder.path)/o.so",
          "\(packageFolder)/\(file)",
        ])
      #expect(result.status == 0, "\(result.errors)")
    }
  }

  @Test(arguments: dialects, ["tabella.h", "tabella_batch.h"])
  func compilesAlone(_ dialect: Dialect, header: String) throws {
    guard let compiler = findProgram(dialect.compilers[0]) else {
      throw MissingTool(dialect.compilers[0])
    }
    let folder = try TemporaryFolder()
    let file = try folder.write("alone.c", "#include \"\(header)\"\n#include \"\(header)\"\n")
    let result = try run(
      compiler,
      [
        "-x", dialect.language, "-std=\(dialect.standard)", "-Wall", "-Wextra", "-Werror",
        "-pedantic-errors", "-fsyntax-only", "-I\(packageFolder)/Sources/CTabella/include", file,
      ])
    #expect(result.status == 0, "\(result.errors)")
  }
}
