// swift-tools-version: 6.2
import PackageDescription

// The layers, bottom up; each target imports only what stands above it here, but for
// ShippedManifests, which is data. docs/architecture.md says what each is for.

/// Tests build a module as a whole, as a release does: the compiler then expands each macro once instead of once per
/// batch of files. A build of the tests takes a third less time.
let wholeModule = [
  "-wmo", "-num-threads", "2", "-disable-batch-mode", "-no-emit-module-separately-wmo",
  "-suppress-remarks",
]
let strict: [SwiftSetting] = [
  .treatAllWarnings(as: .error), .unsafeFlags(wholeModule, .when(configuration: .debug)),
]
/// A program's modules: without the libraries for concurrency and regular expressions, which would be
/// linked though nothing uses them, and take a millisecond of every start.
let lean: [SwiftSetting] =
  strict + [
    .unsafeFlags([
      "-Xfrontend", "-disable-implicit-concurrency-module-import",
      "-Xfrontend", "-disable-implicit-string-processing-module-import",
    ])
  ]
/// The modules that read, shape, pass on and check data are optimized for tests too, which then take a third of the
/// time.
/// For a debugger, which wants to see every variable, TABELLA_UNOPTIMIZED=1 builds as SwiftPM would.
let optimization: [SwiftSetting] =
  Context.environment["TABELLA_UNOPTIMIZED"] == nil
  ? [.unsafeFlags(["-O"], .when(configuration: .debug))] : []
let optimized = lean + optimization

/// Like public symbols of Swift, those of C can be exported, but no other library can replace them. An installation
/// exports some of them from a library that its programs share (Sources/Packaging/link).
let strictC: [CSetting] = [
  .treatAllWarnings(as: .error), .unsafeFlags(["-fvisibility=protected"]),
]

/// Links a library of which only the symbols of a map are visible, and which is never unmapped. The path of the map is
/// absolute, because another package can build the library, too.
func linking(map: String, _ more: [String] = []) -> [LinkerSetting] {
  let flags = ["--version-script=\(Context.packageDirectory)/\(map)", "-z", "nodelete"] + more
  return [.unsafeFlags(["-use-ld=lld"] + flags.flatMap { ["-Xlinker", $0] })]
}
let providerLinking = linking(map: "Plugins/provider.map")

/// A shipped provider: its logic, which tests import, and the entry alone, which makes the library
/// (two entries could not be linked into one test process).
struct Plugin {
  let name: String
  let library: String

  var logic: Target {
    .target(
      name: "Tabella\(name)",
      dependencies: [
        "CTabellaScan", "CTabellaSystem", "Tabella", "TabellaSDK", "TabellaSystem", "TabellaFiles",
      ],
      path: "Plugins/\(name)/Sources", swiftSettings: optimized)
  }

  var entry: Target {
    .target(
      name: "\(name)Entry",
      dependencies: ["CTabella", "TabellaSDK", .byName(name: "Tabella\(name)")],
      path: "Plugins/\(name)/Entry", swiftSettings: optimized,
      linkerSettings: providerLinking)
  }

  var product: Product {
    .library(name: library, type: .dynamic, targets: ["\(name)Entry"])
  }
}

let plugins = [
  Plugin(name: "CSV", library: "tabella-csv"),
  Plugin(name: "Directory", library: "tabella-directory"),
  Plugin(name: "Processes", library: "tabella-processes"),
  Plugin(name: "Text", library: "tabella-text"),
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
let testTargets: [Target] = {
  let libraries: [Target.Dependency] =
    [
      "CTabella", "CTabellaEmbed", "CTabellaScan", "CTabellaSystem", "Tabella", "TabellaAsync",
      "TabellaBridge",
      "TabellaChecking", "TabellaConfinement", "TabellaConformance", "TabellaCLI",
      "TabellaFiles", "TabellaHost", "TabellaLoading", "TabellaProviders", "TabellaRemote",
      "TabellaSDK", "TabellaSystem", "TabellaTerminal", "tabella-bench", "tabella-confined",
    ] + plugins.map { .byName(name: "Tabella\($0.name)") }
  let ofSources = ["Bench", "Core", "Editing", "Files", "Providers", "Rows", "System", "Views"]
  let ofPrograms = ["CommandLine", "Embedding", "Host", "Zoo"]
  return [
    .testTarget(
      name: "TabellaTestSupport", dependencies: libraries, path: "Tests/TabellaTests/Support",
      swiftSettings: strict + optimization),
    .testTarget(
      name: "TabellaTests", dependencies: libraries + ["TabellaTestSupport"],
      path: "Tests/TabellaTests", exclude: ofPrograms + ["Providers/Corpus", "Support"],
      swiftSettings: strict),
    .testTarget(
      name: "TabellaProgramTests", dependencies: libraries + ["TabellaTestSupport"],
      path: "Tests/TabellaTests",
      exclude: ofSources + [
        "CommandLine/Golden", "Embedding/Programs", "Host/Libraries", "Support",
      ],
      swiftSettings: strict),
  ]
}()

let package = Package(
  name: "tabella",
  products: [
    .executable(name: "tabella", targets: ["TabellaCLI"]),
    .executable(name: "tabella-worker", targets: ["TabellaWorker"]),
    .library(name: "Tabella", targets: ["Tabella"]),
    .library(name: "TabellaSDK", targets: ["TabellaSDK"]),
    .library(name: "TabellaHost", targets: ["TabellaHost"]),
    .library(name: "TabellaAsync", targets: ["TabellaAsync"]),
    .library(name: "TabellaProviders", targets: ["TabellaProviders"]),
    .library(name: "TabellaConformance", targets: ["TabellaConformance"]),
    .library(name: "TabellaChecking", targets: ["TabellaChecking"]),
    // Installed as libtabella.so.0: the names `tabella` and `Tabella` are taken.
    .library(name: "tabella-embed", type: .dynamic, targets: ["TabellaEmbedding"]),
    // For tests only: not installed.
    .library(name: "ledger", type: .dynamic, targets: ["Ledger"]),
  ] + plugins.map(\.product),
  targets: [
    // Ground
    .target(name: "CTabella", cSettings: strictC),
    .target(name: "CTabellaEmbed", dependencies: ["CTabella"], cSettings: strictC),
    .target(name: "CTabellaScan", cSettings: strictC),
    .target(name: "CTabellaSystem", cSettings: strictC),
    .target(name: "Tabella", swiftSettings: optimized),
    // Shared
    .target(
      name: "TabellaSystem", dependencies: ["CTabellaSystem", "Tabella"], swiftSettings: optimized),
    .target(
      name: "TabellaBridge", dependencies: ["CTabella", "Tabella"], swiftSettings: optimized),
    .target(
      name: "TabellaFiles",
      dependencies: ["CTabellaScan", "CTabellaSystem", "Tabella", "TabellaSystem"],
      swiftSettings: optimized),
    .target(
      name: "TabellaLoading",
      dependencies: [
        "CTabellaSystem", "Tabella", "TabellaBridge", "TabellaFiles", "TabellaSystem",
      ],
      swiftSettings: lean),
    .target(
      name: "TabellaConformance",
      dependencies: ["CTabellaSystem", "Tabella", "TabellaBridge", "TabellaSystem"],
      swiftSettings: optimized),
    .target(
      name: "TabellaTerminal", dependencies: ["Tabella"], exclude: ["Unicode/make-widths"],
      swiftSettings: optimized),
    .target(
      name: "TabellaConfinement",
      dependencies: ["CTabellaSystem", "Tabella", "TabellaFiles", "TabellaSystem"],
      swiftSettings: lean),
    .target(
      name: "TabellaRemote",
      dependencies: [
        "CTabellaSystem", "Tabella", "TabellaConfinement", "TabellaFiles", "TabellaSystem",
      ],
      swiftSettings: optimized),
    // Roles: these two never see each other.
    .target(
      name: "TabellaSDK", dependencies: ["CTabella", "Tabella", "TabellaBridge"],
      swiftSettings: optimized),
    .target(
      name: "TabellaHost",
      dependencies: [
        "CTabellaSystem", "Tabella", "TabellaBridge", "TabellaConfinement", "TabellaFiles",
        "TabellaLoading", "TabellaRemote", "TabellaSystem", "ShippedManifests",
      ],
      swiftSettings: optimized),
    .target(
      name: "TabellaChecking",
      dependencies: [
        "Tabella", "TabellaBridge", "TabellaConformance", "TabellaFiles", "TabellaHost",
        "TabellaLoading", "TabellaRemote", "TabellaSystem",
      ],
      swiftSettings: lean),
    .target(
      name: "ShippedManifests", path: "Plugins",
      exclude: ["provider.map"] + plugins.flatMap { ["\($0.name)/Sources", "\($0.name)/Entry"] },
      sources: ["ShippedManifests.swift"],
      resources: plugins.map { .embedInCode("\($0.name)/\($0.library).json") },
      swiftSettings: lean),
    // For programs that embed the host
    .target(
      name: "TabellaAsync",
      dependencies: ["Tabella", "TabellaHost", "TabellaSystem"], swiftSettings: strict),
    .target(
      name: "TabellaProviders",
      dependencies: ["TabellaHost", "TabellaSDK"]
        + plugins.map { .byName(name: "Tabella\($0.name)") },
      swiftSettings: lean),
    // Faces
    .executableTarget(
      name: "TabellaCLI",
      dependencies: [
        "CTabellaScan", "CTabellaSystem", "Tabella", "TabellaBridge", "TabellaChecking",
        "TabellaConfinement",
        "TabellaFiles", "TabellaHost", "TabellaRemote", "TabellaSystem", "TabellaTerminal",
      ],
      swiftSettings: lean),
    .target(
      name: "TabellaEmbedding",
      dependencies: [
        "CTabella", "CTabellaEmbed", "Tabella", "TabellaBridge", "TabellaHost", "TabellaSystem",
      ],
      exclude: ["embed.map"], swiftSettings: optimized,
      linkerSettings: linking(
        map: "Sources/TabellaEmbedding/embed.map", ["-soname=libtabella.so.0"])),
    .executableTarget(
      name: "TabellaWorker",
      dependencies: [
        "CTabellaSystem", "Tabella", "TabellaBridge", "TabellaConfinement", "TabellaConformance",
        "TabellaFiles", "TabellaLoading", "TabellaRemote", "TabellaSystem",
      ],
      swiftSettings: lean),
    // Tests
    .target(
      name: "Ledger", dependencies: ["CTabella", "TabellaSDK"], path: "Tests/Ledger",
      swiftSettings: strict, linkerSettings: providerLinking),
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
      ],
      path: "Tests/Python/Rows", swiftSettings: strict),
  ] + testTargets + plugins.flatMap { [$0.logic, $0.entry] } + fuzzing,
  swiftLanguageModes: [.v6]
)
