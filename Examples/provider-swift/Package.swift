// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "primes",
  products: [.library(name: "primes", type: .dynamic, targets: ["Primes"])],
  dependencies: [.package(name: "tabella", path: "../..")],
  targets: [
    .target(
      name: "Primes", dependencies: [.product(name: "TabellaSDK", package: "tabella")])
  ],
  swiftLanguageModes: [.v6]
)
