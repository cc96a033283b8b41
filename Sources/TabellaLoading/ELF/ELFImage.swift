import Tabella

/// What an ELF file says about itself, read as data and as the loader will read it: nothing in it runs.
///
/// `dlopen` runs a library's constructors, and believes what its tables say, so whether a file is a
/// provider at all, and whole, must be known before. Layouts: System V ABI, "Object Files" and "Dynamic
/// Linking". docs/trust.md lists the checks.
struct ELFImage {
  /// No library is larger.
  static let mostBytes = 1 << 30

  /// The folders in which the library wants its own libraries to be looked for, as it writes them.
  let searched: [String]
  /// Whether libraries are looked for by the folder that this one is in.
  let usesOrigin: Bool

  /// Checks that an open file is a shared library for this machine that exports `symbol` as a function.
  ///
  /// Throws ``TableError`` with `.noProvider` that says which check failed.
  init(_ descriptor: Int32, size: Int, exporting symbol: String) throws(TableError) {
    guard size <= ELFImage.mostBytes else { throw TableError(.noProvider, "is larger than 1 GiB") }
    let file = ELFFile(descriptor, size: size)
    let segments = try ELFSegments(ELFHeader(file), of: file)
    let dynamic = try ELFDynamic(segments)
    let symbols = try ELFSymbols(segments, dynamic)
    guard let entry = try symbols.exported(symbol), entry.isFunction else {
      throw TableError(.noProvider, "exports no function \(symbol), so it is no provider")
    }
    guard segments.isCode(entry.address) else {
      throw .damaged("its \(symbol) lies in no code")
    }
    try ELFRelocations.check(segments, dynamic, symbols)
    searched = dynamic.searched
    usesOrigin = dynamic.usesOrigin
  }
}
