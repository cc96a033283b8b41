// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "embed",
  dependencies: [.package(name: "tabella", path: "../..")],
  targets: [
    .executableTarget(
      name: "embed",
      dependencies: [
        .product(name: "TabellaAsync", package: "tabella"),
        .product(name: "TabellaProviders", package: "tabella"),
      ],
      path: "Sources/Embed")
  ],
  swiftLanguageModes: [.v6]
)
