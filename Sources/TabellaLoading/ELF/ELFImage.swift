import Tabella

/// An ELF file, read as data: nothing in it runs.
///
/// `dlopen` runs a library's constructors. So it must be known before whether the file is a provider for this
/// machine at all, and from where it loads other libraries. Whether the file is whole is not asked: a damaged
/// library ends the worker that loads it, and no more. Layouts: System V ABI, "Object Files" and "Dynamic
/// Linking". docs/trust.md lists the checks.
struct ELFImage {
  /// No library is larger.
  static let mostBytes = 1 << 30

  let dynamic: ELFDynamic

  /// Checks that an open file is a shared library for this machine that exports `symbol` as a function.
  ///
  /// Throws ``TableError`` with `.noProvider` that says which check failed.
  init(_ descriptor: Int32, size: Int, exporting symbol: String) throws(TableError) {
    guard size <= ELFImage.mostBytes else { throw TableError(.noProvider, "is larger than 1 GiB") }
    let file = ELFFile(descriptor, size: size)
    let segments = try ELFSegments(ELFHeader(file), of: file)
    dynamic = try ELFDynamic(segments)
    guard try ELFSymbols(segments, dynamic).exportsFunction(symbol) else {
      throw TableError(.noProvider, "exports no function \(symbol), so it is no provider")
    }
  }
}
