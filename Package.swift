// swift-tools-version: 6.2
import PackageDescription

// The Swift SDK. An installation contains it as a package of its own, with these lines as its manifest. So they have no
// settings that only Tabella's developers need. Sources/Packaging/stage copies them, up to the line "end of the SDK".

/// Links a library of which only the symbols of a map are visible, and which is never unmapped. The path of the map is
/// absolute, because another package can build the library, too.
func linking(map: String, _ more: [String] = []) -> [LinkerSetting] {
  let flags = ["--version-script=\(Context.packageDirectory)/\(map)", "-z", "nodelete"] + more
  return [.unsafeFlags(["-use-ld=lld"] + flags.flatMap { ["-Xlinker", $0] })]
}

/// The entry of a provider in Swift has another symbol, so that a function without `@c @implementation` does not link.
let entryAlias =
  "--defsym=tabella_provider_entry=tabella_provider_entry_needs_at_c_at_implementation"

/// The target TabellaLinking has no code. Its linker settings apply to each library that depends on it. A release does
/// not name the folder of the toolchain, because a host brings the runtime. Tests, which are built for debugging, need
/// that folder.
let sdkTargets: [Target] = [
  .target(name: "CTabella"),
  .target(name: "CTabellaScan"),
  .target(name: "CTabellaSystem"),
  .target(name: "TabellaThreads", dependencies: ["CTabellaSystem"]),
  .target(name: "Tabella", dependencies: ["TabellaThreads"]),
  .target(name: "TabellaSystem", dependencies: ["CTabellaSystem", "Tabella", "TabellaThreads"]),
  .target(name: "TabellaBridge", dependencies: ["CTabella", "Tabella"]),
  .target(
    name: "TabellaFiles",
    dependencies: [
      "CTabellaScan", "CTabellaSystem", "Tabella", "TabellaSystem", "TabellaThreads",
    ]),
  .target(
    name: "TabellaSDK", dependencies: ["CTabella", "Tabella", "TabellaBridge", "TabellaFiles"]),
  .target(
    name: "TabellaLinking", exclude: ["provider.map"],
    linkerSettings: linking(map: "Sources/TabellaLinking/provider.map", [entryAlias]) + [
      .unsafeFlags(["-no-toolchain-stdlib-rpath"], .when(configuration: .release))
    ]),
]
let sdkProducts: [Product] = [
  .library(name: "Tabella", targets: ["Tabella"]),
  // For a target that contains the entry, and so becomes a library.
  .library(name: "TabellaSDK", targets: ["TabellaSDK", "TabellaLinking"]),
  // For a target without the entry, which a program can link, too.
  .library(name: "TabellaSDKModules", targets: ["TabellaSDK"]),
]
// end of the SDK

// The layers, bottom up; each target imports only what stands above it here, but for
// ShippedManifests, which is data. docs/architecture.md says what each is for.

/// Tests build a module as a whole, as a release does: the compiler then expands each macro once instead of once per
/// batch of files. A build of the tests takes a third less time.
let wholeModule = [
  "-wmo", "-num-threads", "2", "-disable-batch-mode", "-no-emit-module-separately-wmo",
  "-suppress-remarks",
]

/// A module of tests takes a fifth more time to compile with file and line, and two fifths more with every variable. So
/// the modules of the product have only file and line, which a backtrace needs, and those of the tests have none: a
/// failed expectation contains its line.
enum DebugInformation: String {
  case lines = "-gline-tables-only"
  case none = "-gnone"
}

/// For a debugger, which wants to see every variable, TABELLA_UNOPTIMIZED=1 builds as SwiftPM would.
let forDebugger = Context.environment["TABELLA_UNOPTIMIZED"] != nil

/// In a release, each function has a section of its own, so that the linker can choose the order of functions
/// (Sources/Packaging/link), and leave out those that nothing calls.
func strictSettings(_ information: DebugInformation) -> [SwiftSetting] {
  let flags = forDebugger ? [] : ["-Xfrontend", information.rawValue]
  return [
    .treatAllWarnings(as: .error),
    .unsafeFlags(wholeModule + flags, .when(configuration: .debug)),
    .unsafeFlags(["-Xfrontend", "-function-sections"], .when(configuration: .release)),
  ]
}
let strict = strictSettings(.lines)
let strictTests = strictSettings(.none)

/// A program's modules: without the libraries for concurrency and regular expressions, which would be
/// linked though nothing uses them, and take a millisecond of every start.
let lean: [SwiftSetting] =
  strict + [
    .unsafeFlags([
      "-Xfrontend", "-disable-implicit-concurrency-module-import",
      "-Xfrontend", "-disable-implicit-string-processing-module-import",
    ])
  ]
/// The modules in which the tests spend their time are optimized in debug builds, too: the tests then take a third of
/// the time. The other modules are not, because an optimized module takes four times as long to compile. With `-Osize`
/// instead of `-O`, a module compiles in four fifths of the time, and the tests take as long. To decide, record a run
/// with `perf record` and sort its samples by the module in the names of the symbols.
let optimization: [SwiftSetting] =
  forDebugger ? [] : [.unsafeFlags(["-Osize"], .when(configuration: .debug))]
let optimized = lean + optimization

/// Like public symbols of Swift, those of C can be exported, but no other library can replace them. An installation
/// exports some of them from a library that its programs share (Sources/Packaging/link).
let strictC: [CSetting] = [
  .treatAllWarnings(as: .error), .unsafeFlags(["-fvisibility=protected"]),
]

/// A shipped provider: its logic, which tests import, and the entry alone, which makes the library
/// (two entries could not be linked into one test process).
struct Plugin {
  let name: String
  let library: String
  /// The settings of the logic: `optimized` or `lean`.
  let settings: [SwiftSetting]

  var logic: Target {
    .target(
      name: "Tabella\(name)",
      dependencies: [
        "CTabellaScan", "CTabellaSystem", "Tabella", "TabellaFiles", "TabellaSDK", "TabellaSystem",
        "TabellaThreads",
      ],
      path: "Plugins/\(name)/Sources", swiftSettings: settings)
  }

  var entry: Target {
    .target(
      name: "\(name)Entry",
      dependencies: [
        "CTabella", "TabellaLinking", "TabellaSDK", .byName(name: "Tabella\(name)"),
      ],
      path: "Plugins/\(name)/Entry", swiftSettings: lean)
  }

  var product: Product {
    .library(name: library, type: .dynamic, targets: ["\(name)Entry"])
  }
}

let plugins = [
  Plugin(name: "CSV", library: "tabella-csv", settings: optimized),
  Plugin(name: "Directory", library: "tabella-directory", settings: lean),
  Plugin(name: "Processes", library: "tabella-processes", settings: lean),
  Plugin(name: "Text", library: "tabella-text", settings: optimized),
]

/// The fuzzer: only Tests/Fuzz/run builds it, with sanitizers and with libFuzzer.
let fuzzing: [Target] =
  Context.environment["TABELLA_FUZZ"] == nil
  ? []
  : [
    .systemLibrary(name: "LibFuzzer", path: "Tests/Fuzz/LibFuzzer"),
    .executableTarget(
      name: "tabella-fuzz",
      dependencies: [
        "CTabella", "CTabellaSystem", "LibFuzzer", "Tabella", "TabellaBridge",
        "TabellaConfinement", "TabellaHost", "TabellaLoading", "TabellaRemote", "TabellaSystem",
      ],
      path: "Tests/Fuzz/Fuzzer", swiftSettings: strict),
  ]

/// The tests are two modules, which compile at the same time, and the helpers that both use. Each module has some
/// folders of Tests/TabellaTests.
///
/// The dependencies are only those that the files import. The helpers and the tests of sources so compile while the
/// compiler still works on the command line.
///
/// lld links the program of the tests: it lets the testing library call the program's waitid (Support/ExitTestMonitor).
let testTargets: [Target] = {
  let ofSupport: [Target.Dependency] = [
    "CTabellaSystem", "Tabella", "TabellaBridge", "TabellaConfinement", "TabellaConformance",
    "TabellaCSV", "TabellaDirectory", "TabellaFiles", "TabellaHost", "TabellaLoading",
    "TabellaRemote", "TabellaSDK", "TabellaSystem", "TabellaText",
  ]
  let ofSources =
    ofSupport + [
      "CTabella", "CTabellaScan", "TabellaProcesses", "TabellaTerminal", "TabellaTestSupport",
    ]
  let ofPrograms =
    ofSources + [
      "CTabellaEmbed", "ProviderTemplates", "TabellaAsync", "TabellaChecking", "TabellaCLI",
      "TabellaProviders", "tabella-bench", "tabella-confined",
    ]
  let sourceFolders = ["Core", "Editing", "Files", "Providers", "Rows", "System", "Views"]
  let programFolders = ["Bench", "CommandLine", "Embedding", "Host", "Zoo"]
  return [
    .testTarget(
      name: "TabellaTestSupport", dependencies: ofSupport, path: "Tests/TabellaTests/Support",
      swiftSettings: strictTests, linkerSettings: [.unsafeFlags(["-use-ld=lld"])]),
    .testTarget(
      name: "TabellaTests", dependencies: ofSources, path: "Tests/TabellaTests",
      exclude: programFolders + ["Providers/Corpus", "Support"], swiftSettings: strictTests),
    .testTarget(
      name: "TabellaProgramTests", dependencies: ofPrograms, path: "Tests/TabellaTests",
      exclude: sourceFolders + [
        "CommandLine/Golden", "Embedding/Programs", "Host/Libraries", "Host/Programs", "Support",
      ],
      swiftSettings: strictTests),
  ]
}()

for target in sdkTargets {
  if target.name.hasPrefix("CTabella") {
    target.cSettings = strictC
  } else {
    target.swiftSettings = optimized
  }
}

let package = Package(
  name: "tabella",
  products: [
    .executable(name: "tabella", targets: ["TabellaCLI"]),
    .executable(name: "tabella-worker", targets: ["TabellaWorker"]),
    .library(name: "TabellaHost", targets: ["TabellaHost"]),
    .library(name: "TabellaAsync", targets: ["TabellaAsync"]),
    .library(name: "TabellaProviders", targets: ["TabellaProviders"]),
    .library(name: "TabellaConformance", targets: ["TabellaConformance"]),
    .library(name: "TabellaChecking", targets: ["TabellaChecking"]),
    // Installed as libtabella.so.0: the names `tabella` and `Tabella` are taken.
    .library(name: "tabella-embed", type: .dynamic, targets: ["TabellaEmbedding"]),
    // Installed as tabella_sqlite.so.
    .library(name: "tabella-sqlite", type: .dynamic, targets: ["TabellaSQLite"]),
    // For tests only: not installed.
    .library(name: "ledger", type: .dynamic, targets: ["Ledger"]),
  ] + sdkProducts + plugins.map(\.product),
  targets: sdkTargets + [
    // Ground, without the targets of the SDK
    .target(name: "CTabellaEmbed", dependencies: ["CTabella"], cSettings: strictC),
    .target(name: "CTabellaSQLite", cSettings: strictC),
    // Shared
    .target(
      name: "TabellaLoading",
      dependencies: [
        "CTabellaSystem", "Tabella", "TabellaBridge", "TabellaFiles", "TabellaSystem",
      ],
      swiftSettings: lean),
    .target(
      name: "TabellaConformance",
      dependencies: ["Tabella", "TabellaBridge", "TabellaSystem", "TabellaThreads"],
      swiftSettings: lean),
    .target(
      name: "TabellaTerminal", dependencies: ["Tabella"], exclude: ["Unicode/make-widths"],
      swiftSettings: optimized),
    .target(
      name: "TabellaConfinement",
      dependencies: ["CTabellaSystem", "Tabella", "TabellaFiles", "TabellaSystem"],
      swiftSettings: optimized),
    .target(
      name: "TabellaRemote",
      dependencies: [
        "CTabellaSystem", "Tabella", "TabellaConfinement", "TabellaFiles", "TabellaSystem",
        "TabellaThreads",
      ],
      swiftSettings: lean),
    // Roles: the SDK and the host never see each other.
    .target(
      name: "TabellaHost",
      dependencies: [
        "CTabellaSystem", "Tabella", "TabellaBridge", "TabellaConfinement", "TabellaFiles",
        "TabellaLoading", "TabellaRemote", "TabellaSystem", "TabellaThreads", "ShippedManifests",
      ],
      swiftSettings: lean),
    .target(
      name: "TabellaChecking",
      dependencies: [
        "Tabella", "TabellaBridge", "TabellaConformance", "TabellaFiles", "TabellaHost",
        "TabellaLoading", "TabellaRemote", "TabellaSystem",
      ],
      swiftSettings: lean),
    .target(
      name: "ShippedManifests", path: "Plugins",
      exclude: plugins.flatMap { ["\($0.name)/Sources", "\($0.name)/Entry"] },
      sources: ["ShippedManifests.swift"],
      resources: plugins.map { .embedInCode("\($0.name)/\($0.library).json") },
      swiftSettings: lean),
    .target(
      name: "ProviderTemplates",
      resources: [
        "c/c.mk", "c/provider.c", "common/example.txt", "common/gitignore.txt",
        "common/manifest.json", "common/README.md", "common/sample-expected.txt",
        "common/file-expected.txt", "common/test.sh", "rust/ids.rs", "rust/provider.rs",
        "rust/rows.rs", "rust/rust.mk", "rust/tabella.rs", "swift/package.txt",
        "swift/provider.txt", "swift/swift.mk",
      ].map { .embedInCode($0) },
      swiftSettings: lean),
    // For programs that embed the host
    .target(
      name: "TabellaAsync",
      dependencies: ["Tabella", "TabellaHost", "TabellaSystem", "TabellaThreads"],
      swiftSettings: strict),
    .target(
      name: "TabellaProviders",
      dependencies: ["TabellaHost", "TabellaSDK"]
        + plugins.map { .byName(name: "Tabella\($0.name)") },
      swiftSettings: lean),
    // Faces
    .executableTarget(
      name: "TabellaCLI",
      dependencies: [
        "CTabellaScan", "ProviderTemplates", "CTabellaSystem", "Tabella", "TabellaBridge",
        "TabellaChecking",
        "TabellaConfinement",
        "TabellaFiles", "TabellaHost", "TabellaRemote", "TabellaSystem", "TabellaThreads",
        "TabellaTerminal",
      ],
      swiftSettings: lean),
    .target(
      name: "TabellaEmbedding",
      dependencies: [
        "CTabella", "CTabellaEmbed", "Tabella", "TabellaBridge", "TabellaHost", "TabellaSystem",
        "TabellaThreads",
      ],
      exclude: ["embed.map"], swiftSettings: lean,
      linkerSettings: linking(
        map: "Sources/TabellaEmbedding/embed.map", ["-soname=libtabella.so.0"])),
    .target(
      name: "TabellaSQLite",
      dependencies: ["CTabellaSQLite", "Tabella", "TabellaHost", "TabellaSystem"],
      exclude: ["sqlite.map"], swiftSettings: lean,
      linkerSettings: linking(map: "Sources/TabellaSQLite/sqlite.map")),
    .executableTarget(
      name: "TabellaWorker",
      dependencies: [
        "CTabellaSystem", "Tabella", "TabellaBridge", "TabellaConfinement", "TabellaConformance",
        "TabellaFiles", "TabellaLoading", "TabellaRemote", "TabellaSystem", "TabellaThreads",
      ],
      swiftSettings: lean),
    // Tests
    .target(
      name: "Ledger", dependencies: ["CTabella", "TabellaLinking", "TabellaSDK"],
      path: "Tests/Ledger", swiftSettings: strict),
    .executableTarget(
      name: "tabella-bench", dependencies: ["Tabella", "TabellaHost"], path: "Tests/Bench",
      exclude: ["Crossing", "Floors", "Helpers"],
      swiftSettings: strict),
    .executableTarget(
      name: "tabella-confined",
      dependencies: [
        "CTabellaSystem", "Tabella", "TabellaBridge", "TabellaConfinement", "TabellaFiles",
        "TabellaLoading", "TabellaSystem",
      ],
      path: "Tests/Confined", swiftSettings: strict),
    .executableTarget(
      name: "tabella-rows",
      dependencies: [
        "CTabellaSystem", "TabellaAsync", "TabellaHost", "TabellaProviders", "TabellaSystem",
        "TabellaThreads",
      ],
      path: "Tests/Python/Rows", swiftSettings: strict),
  ] + testTargets + plugins.flatMap { [$0.logic, $0.entry] } + fuzzing,
  swiftLanguageModes: [.v6]
)
