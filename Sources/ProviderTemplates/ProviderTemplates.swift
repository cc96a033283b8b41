/// The languages in which `tabella new-provider` writes a provider.
public enum ProviderLanguage: String, CaseIterable, Sendable {
  case swift, c, rust

  /// The name for people.
  public var title: String {
    switch self {
    case .swift: "Swift"
    case .c: "C"
    case .rust: "Rust"
    }
  }

  /// The path of the file to start with.
  public var source: String {
    switch self {
    case .swift: "Sources/Provider.swift"
    case .c: "provider.c"
    case .rust: "rows.rs"
    }
  }
}

/// A file of a new provider.
public struct TemplateFile: Sendable {
  /// The path in the folder of the provider. It contains at most one slash.
  public let path: String
  /// The content.
  public let text: String
  /// Whether the file is a program.
  public let isExecutable: Bool
}

/// The facts that a new provider contains.
public struct TemplateFacts: Sendable {
  /// The id, which is also the scheme and the suffix of files. It must be valid in a manifest.
  public var name: String
  /// The version of the contract.
  public var contract: String
  /// The folder of `tabella.h`.
  public var include: String
  /// The folder of the Swift package that contains the SDK.
  public var sdk: String
  /// The documentation: an address or a path.
  public var documentation: String

  /// Creates the facts.
  public init(name: String, contract: String, include: String, sdk: String, documentation: String) {
    self.name = name
    self.contract = contract
    self.include = include
    self.sdk = sdk
    self.documentation = documentation
  }

  /// The name of the Swift module: `PlanetsProvider` for `planets`.
  var module: String {
    name.split { ["-", "+", "."].contains($0) }.map { $0.prefix(1).uppercased() + $0.dropFirst() }
      .joined() + "Provider"
  }
}

extension ProviderLanguage {
  /// All files of a new provider.
  public func files(_ facts: TemplateFacts) -> [TemplateFile] {
    let values = [
      "NAME": facts.name, "CONTRACT": facts.contract, "INCLUDE": facts.include, "SDK": facts.sdk,
      "DOCS": facts.documentation, "MODULE": facts.module, "LANGUAGE": title, "SOURCE": source,
      "MORE": helpers,
    ]
    return (own + ProviderLanguage.common).map { path, bytes in
      TemplateFile(
        path: filled(path, values), text: filled(String(decoding: bytes, as: UTF8.self), values),
        isExecutable: path == "test")
    }
  }

  private var own: [(String, [UInt8])] {
    switch self {
    case .swift:
      [
        (source, PackageResources.provider_txt), ("Package.swift", PackageResources.package_txt),
        ("Makefile", PackageResources.swift_mk),
      ]
    case .c: [(source, PackageResources.provider_c), ("Makefile", PackageResources.c_mk)]
    case .rust:
      [
        (source, PackageResources.rows_rs), ("provider.rs", PackageResources.provider_rs),
        ("ids.rs", PackageResources.ids_rs), ("tabella.rs", PackageResources.tabella_rs),
        ("Makefile", PackageResources.rust_mk),
      ]
    }
  }

  private static var common: [(String, [UInt8])] {
    [
      ("@NAME@.tabella.json", PackageResources.manifest_json),
      ("example.@NAME@", PackageResources.example_txt), ("test", PackageResources.test_sh),
      ("expected/sample.txt", PackageResources.sample_expected_txt),
      ("expected/file.txt", PackageResources.file_expected_txt),
      ("README.md", PackageResources.README_md), (".gitignore", PackageResources.gitignore_txt),
    ]
  }

  /// The lines of the README's table for further files.
  private var helpers: String {
    switch self {
    case .swift: "| `Package.swift` | the package: one library, which depends on the SDK |\n"
    case .c: ""
    case .rust:
      "| `provider.rs` | a safe layer over the contract |\n"
        + "| `ids.rs` | ids of rows, and versions |\n"
        + "| `tabella.rs` | the declarations of the contract: leave it as it is |\n"
    }
  }
}

/// Replaces each `@KEY@` by its value. Other text with `@` stays.
private func filled(_ text: String, _ values: [String: String]) -> String {
  let parts = text.split(separator: "@", omittingEmptySubsequences: false)
  var result = String(parts[0])
  var index = 1
  while index < parts.count {
    if index + 1 < parts.count, let value = values[String(parts[index])] {
      result += value + parts[index + 1]
      index += 2
    } else {
      result += "@" + parts[index]
      index += 1
    }
  }
  return result
}
