import Tabella

/// The advice for a library that cannot be loaded, by cause.
enum LoadingAdvice {
  static let general =
    "build it as a shared library for this machine that exports tabella_provider_entry"

  /// A part of an error's message, and the advice that fits it. The first one counts.
  private static let causes: [(part: String, advice: String)] = [
    (
      "exports no function",
      "export the entry: in C, define tabella_provider_entry of tabella.h and include that header; in Rust, "
        + "#[no_mangle] pub extern \"C\"; in Swift, @c @implementation"
    ),
    (
      "undefined symbol",
      "link the library that defines the symbol, or define it; `ldd -r LIBRARY` lists all that are missing"
    ),
    (
      "cannot open shared object file",
      "put the missing library beside this one and link with -rpath '$ORIGIN', or install it"
    ),
    ("has no id", "set provider.id in the entry: 1 or more printable ASCII characters"),
    ("has no open", "set provider.open in the entry"),
    (" contract ", "build it again with the headers or the SDK of this version of tabella"),
    ("refused to start", "read the provider's own message in front"),
  ]

  static func advice(for error: TableError) -> String {
    if error.providerEnd == .byItself || error.code == .timeout {
      return "a constructor of the library or its entry ends or hangs: run the check with "
        + "--in-process in a debugger, and do the work in open"
    }
    if error.code == .denied { return "change what the message names; docs/trust.md has the rules" }
    let cause = causes.first { error.message.utf8.position(of: $0.part.utf8) != nil }
    if let cause { return cause.advice }
    return error.code == .notFound || error.message.hasSuffix("No such file or directory")
      ? "build the library first, or correct its path" : general
  }
}
