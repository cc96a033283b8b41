import Tabella
import TabellaFiles

/// One reading of a file as lines.
final class LineText: RecordText {
  let file: any ByteSource
  let decoded: DecodedText
  let reader: RecordReader
  let columns = [Column("line")]
  /// The sections, as far as they were needed.
  var finder: SectionFinder
  private let empty: SectionFinder

  /// Reads the start of a file. `finder` has found nothing yet.
  init(
    _ file: any ByteSource, encoding: String?, _ finder: SectionFinder, _ cancel: CancelFlag
  ) throws(TableError) {
    self.file = file
    decoded = try DecodedText(file, encoding: encoding)
    var rules = RecordRules.lines
    rules.reading = decoded.reading
    reader = RecordReader(
      decoded.bytes,
      RecordIndex(decoded.bytes, from: decoded.start, rules: rules, cancel: cancel), rules: rules)
    (self.finder, empty) = (finder, finder)
  }

  var start: Int { decoded.start }
  var isExtensible: Bool { decoded.isAsStored }

  var foundSections: [RecordSection]? { finder.sectioning == .none ? nil : finder.sections }
  func restart() { finder = empty }
  func take(_ page: RecordPage, _ numbers: Range<Int>) {
    if finder.sectioning != .none { finder.take(page, numbers) }
  }
  func mark() { finder.mark() }
  func rewind() { finder.rewind() }
  func finish() { finder.finish() }
}

extension TextSource {
  /// The number of bytes in which a byte order mark is recognized.
  private static let markSize = 4

  func keepsRules(afterGrowthFrom count: Int) throws(TableError) -> Bool {
    if count >= TextSource.markSize { return true }
    let again = try DecodedText(file, encoding: encoding)
    return again.start == decoded.start && again.isAsStored
  }
}
