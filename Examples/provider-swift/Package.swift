// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "examples",
  products: [
    .library(name: "primes", type: .dynamic, targets: ["Primes"]),
    .library(name: "contacts", type: .dynamic, targets: ["Contacts"]),
  ],
  dependencies: [.package(name: "tabella", path: "../..")],
  targets: [
    // The smallest provider
    .target(
      name: "Primes", dependencies: [.product(name: "TabellaSDK", package: "tabella")]),
    // A complete provider
    .target(
      name: "Contacts", dependencies: [.product(name: "TabellaSDK", package: "tabella")]),
  ],
  swiftLanguageModes: [.v6]
)
