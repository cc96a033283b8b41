// swift-tools-version: 6.2
import PackageDescription

// The Swift package with the SDK. The Makefile names that of an installation.
let sdk = Context.environment["TABELLA_SDK"] ?? "../.."

let package = Package(
  name: "examples",
  products: [
    .library(name: "primes", type: .dynamic, targets: ["Primes"]),
    .library(name: "contacts", type: .dynamic, targets: ["Contacts"]),
  ],
  dependencies: [.package(name: "tabella", path: sdk)],
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
