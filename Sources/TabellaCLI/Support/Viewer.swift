import Glibc
import Tabella
import TabellaHost
import TabellaSystem
import TabellaTerminal

/// Shows rows of a table in a format. It requests the data that the format needs from the source, in the order
/// of UIKit.
struct Viewer {
  private let shown: ShownTable
  private let range: Range<Int>
  private let output: Output
  /// The numbers of rows and sections that were shown.
  private(set) var (rowCount, sectionCount) = (0, 0)

  init(_ shown: ShownTable, _ range: Range<Int>, _ output: Output) {
    self.shown = shown
    self.range = range
    self.output = output
  }

  /// The time without new bytes after which a stream pauses, in milliseconds.
  private static let quietTime: Int32 = 50

  private var source: any TableDataSource { shown.table.source }

  /// Writes the rows. If they end early, returns the failure. Throws only errors of the output
  /// itself.
  mutating func show(in format: inout any Format) throws(Failure) -> Failure? {
    let table = shown.table
    let needs = format.needs
    let columns = Array(table.columns.prefix(format.columnLimit ?? .max))
    let colours =
      needs.contains(.colours) && output.screen.palette.isColoured
      ? CellColours(shown, shown: columns.count, output.screen.fileColours) : nil
    var reader = TableReader(
      source: source, columns: columns + (colours?.extra ?? []),
      includesIDs: needs.contains(.ids) && source.identity != nil, section: table.section,
      start: table.start, perSection: table.perSection, grows: needs.contains(.growingBatches))
    do {
      let elements = try Elements(needs.contains(.elements) ? source.supplementary : nil)
      let links = needs.contains(.links) && output.screen.hasLinks ? Links(table) : nil
      var numbers = needs.contains(.numbers) ? try SourceNumbers(source) : nil
      let indexTitles = needs.contains(.indexTitles) ? try sectionIndexTitles() : [:]
      var current = ShownSection(number: 0, count: .atLeast(0))
      let hidesEmpty = shown.hidesEmptySections && !needs.contains(.emptySections)
      let highlights = needs.contains(.colours) ? shown.highlights : nil
      var (rowCount, sectionCount) = (0, 0)
      defer { (self.rowCount, self.sectionCount) = (rowCount, sectionCount) }
      // A section that may be empty begins with its first row.
      var hasBegun = false
      // The number of sections before this one, and its first shown row: positions count from there.
      var (place, start) = (-1, nil as Int?)
      try reader.walk(
        range,
        section: { number, count in
          (place, start) = (place + 1, nil)
          current = ShownSection(
            number: number, count: count,
            header: try source.sections?.title(.header, ofSection: number),
            headerElement: try elements.element("header", of: number),
            indexTitle: indexTitles[number], table: try table.table(ofSection: number))
          hasBegun = !hidesEmpty
          if hasBegun {
            try format.beginSection(current)
            sectionCount += 1
          }
        },
        rows: { batch, first in
          if !hasBegun {
            try format.beginSection(current)
            sectionCount += 1
          }
          hasBegun = true
          rowCount += batch.rowCount
          let firstShown = start ?? first.row
          start = firstShown
          var rows = try rows(batch, first, needs, elements, links)
          if numbers != nil {
            rows.numbers = try (first.row..<first.row + batch.rowCount).map { row in
              try numbers!.number(of: IndexPath(section: first.section, row: row))
            }
          }
          rows.first = IndexPath(section: place, row: first.row - firstShown)
          rows.colours = colours
          rows.highlights = highlights
          rows.separate(columns.count)
          try format.write(rows)
          try output.flush()
          if let stream = shown.stream, !stream.continues(within: Viewer.quietTime) {
            try format.pause()
            try output.sendNow()
          }
        },
        end: { number, count in
          guard hasBegun else { return }
          current.count = count
          current.footer = try source.sections?.title(.footer, ofSection: number)
          current.footerElement = try elements.element("footer", of: number)
          current.aggregates = shown.footers?.text(ofSection: number)
          try format.endSection(current)
        })
      return nil
    } catch let failure as Failure {
      throw failure
    } catch var error as TableError {
      if error.code == .misbehaved, error.provider == nil {
        error.message = "provider \(table.provider) broke the contract: \(error.message)"
      }
      return .of(error, subject: table.subject)
    } catch {
      return Failure(
        status: .failed, subject: table.subject, code: "internal", message: "\(error)")
    }
  }

  /// The rows of a batch with the other data that the format needs.
  private func rows(
    _ batch: Batch, _ first: IndexPath, _ needs: FormatNeeds, _ elements: Elements, _ links: Links?
  ) throws -> ShownRows {
    var rows = ShownRows(batch: batch, first: first)
    let range = first.row..<first.row + batch.rowCount
    if needs.contains(.permissions) {
      rows.editable = try source.editing?.editability(ofRows: range, inSection: first.section)
      rows.movable = try source.moving?.movability(ofRows: range, inSection: first.section)
    }
    if elements.hasBadges {
      rows.badges = try range.map { try elements.badge(IndexPath(section: first.section, row: $0)) }
    }
    if let links {
      rows.links = try range.map { try links.address(IndexPath(section: first.section, row: $0)) }
    }
    return rows
  }

  /// The rows and columns that were shown: `2,000 rows, 8 columns (6 shown)`. Read after ``show(in:)``.
  ///
  /// If options chose the rows, their number is compared with the number of all rows, as far as it is known without
  /// further reading.
  func summary(shownColumns: Int?) throws(TableError) -> SafeText {
    let table = shown.table
    var total: Int?
    if !ChosenRows(table, range: range).isEverything {
      let sections = try source.numberOfSections(knowing: 0)
      var sum = 0
      var isExact = sections.isExact && sections.value <= 1000
      for section in 0..<sections.value where isExact {
        let count = try source.numberOfRows(inSection: section, knowing: 0)
        sum += count.value
        isExact = count.isExact
      }
      if isExact, sum > rowCount { total = sum }
    }
    var text: SafeText = "\(rowCount.grouped)"
    if let total { text.append(" of \(total.grouped)") }
    text.append(total ?? rowCount == 1 ? " row" : " rows")
    if sectionCount > 1 { text.append(", \(sectionCount.grouped) sections") }
    let all = table.hasChosenColumns ? source.columns.count : table.columns.count
    let columns = min(shownColumns ?? table.columns.count, table.columns.count)
    text.append(", \(all.grouped) column\(all == 1 ? "" : "s")")
    if columns != all { text.append(" (\(columns.grouped) shown)") }
    return text
  }

  /// The first index title that leads to each section.
  private func sectionIndexTitles() throws -> [Int: String] {
    guard let index = source.sectionIndex else { return [:] }
    var titles: [Int: String] = [:]
    for (number, title) in try index.sectionIndexTitles().enumerated() {
      let path = try index.indexPath(forIndexTitle: title, at: number)
      if titles[path.section] == nil { titles[path.section] = title }
    }
    return titles
  }
}

/// The supplementary elements that tables for people show.
private struct Elements {
  private let supplementary: (any TableSupplementary)?
  private let kinds: Set<String>

  init(_ supplementary: (any TableSupplementary)?) throws(TableError) {
    self.supplementary = supplementary
    kinds = Set(try supplementary?.supplementaryKinds() ?? [])
  }

  var hasBadges: Bool { kinds.contains("badge") }

  /// The element of a section itself.
  func element(_ kind: String, of section: Int) throws(TableError) -> SupplementaryElement? {
    guard kinds.contains(kind) else { return nil }
    return try supplementary?.supplementaryElement(ofKind: kind, at: .section(section))
  }

  /// A row's badge, if it is text.
  func badge(_ path: IndexPath) throws(TableError) -> StyledText? {
    guard case .text(let text)? = try supplementary?.supplementaryElement(ofKind: "badge", at: path)
    else { return nil }
    return text
  }
}

/// The targets of the first cells of rows, as `file` URLs (RFC 8089).
private final class Links {
  private let accessories: any TableAccessories
  private let host: String
  private let folder: [UInt8]
  /// The folders that the last path with `..` leads to.
  private var resolved: (path: [UInt8], folder: [UInt8]?)?

  /// Nil if rows have no targets, or if the first column is not shown first.
  init?(_ table: ShapedTable) {
    guard let accessories = table.source.accessories, table.columns.first == 0 else { return nil }
    self.accessories = accessories
    var name = [CChar](repeating: 0, count: 256)
    host = gethostname(&name, name.count - 1) == 0 ? Links.encoded(Links.bytes(name)) : ""
    var path = [CChar](repeating: 0, count: 4096)
    folder = getcwd(&path, path.count) != nil ? Links.bytes(path) : []
  }

  private static func bytes(_ text: [CChar]) -> [UInt8] {
    text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
  }

  /// The URL of the file that a row leads to; nil if it does not lead to a path.
  func address(_ path: IndexPath) throws(TableError) -> String? {
    guard let location = try accessories.location(forRowAt: path), !location.isEmpty else {
      return nil
    }
    let slash = UInt8(ascii: "/")
    var path = location
    if location[0] != slash {
      // A location that is not absolute may be `SCHEME:REST`.
      guard !folder.isEmpty, Location(location).isPath else { return nil }
      path = folder + [slash] + location
    }
    return withoutDots(path).map { "file://\(host)\(Links.encoded($0))" }
  }

  /// An absolute path without the components `.` and `..`; nil if the path does not exist.
  ///
  /// `..` after a symbolic link means the folder that contains the target of the link. So the path up to the last `..`
  /// is resolved, and links after it are kept.
  private func withoutDots(_ path: [UInt8]) -> [UInt8]? {
    let slash = UInt8(ascii: "/")
    let dot = UInt8(ascii: ".")
    var components = path.split(separator: slash)[...]
    var start: [UInt8] = []
    if let last = components.lastIndex(where: { $0.elementsEqual([dot, dot]) }) {
      let folder = components[...last].flatMap { [slash] + $0 }
      if resolved?.path != folder { resolved = (folder, realPath(folder)) }
      guard let found = resolved?.folder else { return nil }
      start = found == [slash] ? [] : found
      components = components[(last + 1)...]
    }
    let rest = components.filter { !$0.elementsEqual([dot]) }.flatMap { [slash] + $0 }
    let isFolder = path.last == slash && !rest.isEmpty
    let all = start + rest + (isFolder ? [slash] : [])
    return all.isEmpty ? [slash] : all
  }

  /// Percent-encoded, except for unreserved characters (RFC 3986) and slashes.
  private static func encoded(_ bytes: [UInt8]) -> String {
    var text = ""
    for byte in bytes {
      switch byte {
      case 48...57, 65...90, 97...122, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"), UInt8(ascii: "/"):
        text.unicodeScalars.append(Unicode.Scalar(byte))
      default:
        let digits = String(byte, radix: 16, uppercase: true)
        text += digits.count == 1 ? "%0\(digits)" : "%\(digits)"
      }
    }
    return text
  }
}
