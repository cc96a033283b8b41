import Tabella

/// An ELF file, read as data. None of its code runs.
///
/// `dlopen` runs the constructors of a library. Before that, Tabella must know whether the file is a provider for
/// this machine, and from which paths it loads other libraries. The checks do not detect all damage: a damaged
/// library only ends the worker that loads it. For the layouts, see System V ABI, "Object Files" and "Dynamic
/// Linking". docs/trust.md lists the checks.
struct ELFImage {
  /// The maximum size of a library in bytes.
  static let mostBytes = 1 << 30

  let dynamic: ELFDynamic

  /// Checks that an open file is a shared library for this machine that exports `symbol` as a function.
  ///
  /// Throws ``TableError`` with `.noProvider` that names the failed check.
  init(_ descriptor: Int32, size: Int, exporting symbol: String) throws(TableError) {
    guard size <= ELFImage.mostBytes else { throw TableError(.noProvider, "is larger than 1 GiB") }
    let file = ELFFile(descriptor, size: size)
    let segments = try ELFSegments(ELFHeader(file), of: file)
    dynamic = try ELFDynamic(segments)
    guard try ELFSymbols(segments, dynamic).exportsFunction(symbol) else {
      throw TableError(.noProvider, "exports no function \(symbol), so it is not a provider")
    }
  }
}
