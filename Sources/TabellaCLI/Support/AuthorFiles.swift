import Glibc
import ProviderTemplates
import TabellaBridge
import TabellaHost

/// The files for authors of providers that belong to this program: those of its installation, or those of the sources
/// that it was built from.
struct AuthorFiles {
  /// The folder of `tabella.h`.
  let include: String
  /// The folder of the Swift package with the SDK; nil if there is none.
  let sdk: String?
  /// The guide for authors.
  let guide: String

  init() {
    let own = (Installation.program.folder ?? "/usr/local/bin").split(separator: "/")
    /// The folder `count` levels above the program.
    func above(_ count: Int) -> String { own.dropLast(count).map { "/\($0)" }.joined() }
    func existing(_ paths: String...) -> String? { paths.first { access($0, F_OK) == 0 } }
    // A build folder is .build/TRIPLE/release.
    let (prefix, sources) = (above(1), above(3))
    let header = existing(
      "\(prefix)/include/tabella/tabella.h", "\(sources)/Sources/CTabella/include/tabella.h")
    include =
      header.map { String($0.dropLast("/tabella.h".count)) } ?? "\(prefix)/include/tabella"
    let kit = existing(
      "\(prefix)/share/tabella/swift/Sources/TabellaSDK", "\(sources)/Sources/TabellaSDK")
    sdk = kit.map { String($0.dropLast("/Sources/TabellaSDK".count)) }
    guide =
      existing(
        "\(prefix)/share/doc/tabella/docs/writing-a-provider.md",
        "\(sources)/docs/writing-a-provider.md") ?? "writing-a-provider.md"
  }

  func facts(name: String) -> TemplateFacts {
    TemplateFacts(
      name: name, contract: contractVersionName, include: include, sdk: sdk ?? "",
      documentation: guide)
  }
}
