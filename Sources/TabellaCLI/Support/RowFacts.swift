import Glibc
import Tabella
import TabellaHost
import TabellaSystem

/// The facts about rows and sections that a format needs besides cells. It requests nothing else from the source.
struct RowFacts {
  private let shown: ShownTable
  private let needs: FormatNeeds
  private let elements: Elements
  private let links: Links?
  private var numbers: SourceNumbers?
  private var permissions: RowPermissions?
  private let indexTitles: [Int: String]
  private let colours: CellColours?
  /// The number of columns that the format shows.
  private let columnCount: Int
  /// The numbers of the columns to request: the shown ones, then those that only colours need.
  let columns: [Int]

  /// Prepares the facts for a format that has begun. Throws the errors of the source.
  init(
    of shown: ShownTable, for format: any Format, _ screen: Screen
  ) throws(TableError) {
    let source = shown.table.source
    let needs = format.needs
    self.shown = shown
    self.needs = needs
    let columns = Array(shown.table.columns.prefix(format.columnLimit ?? .max))
    columnCount = columns.count
    colours =
      needs.contains(.colours) && screen.palette.isColoured
      ? CellColours(shown, shown: columns.count, screen.fileColours) : nil
    self.columns = columns + (colours?.extra ?? [])
    elements = try Elements(needs.contains(.elements) ? source.supplementary : nil)
    links = needs.contains(.links) && screen.hasLinks ? Links(shown.table) : nil
    numbers = needs.contains(.numbers) ? try SourceNumbers(source) : nil
    permissions = needs.contains(.permissions) ? RowPermissions(source) : nil
    indexTitles = needs.contains(.indexTitles) ? try source.firstIndexTitles() : [:]
  }

  /// Whether the format needs ids, and the rows have them.
  var includesIDs: Bool { needs.contains(.ids) && shown.table.source.identity != nil }

  /// Whether the format needs only the cells of rows.
  var areCellsOnly: Bool {
    needs.isDisjoint(with: [.ids, .permissions, .elements, .links, .numbers, .colours])
      && shown.marks == nil && columns.count == columnCount
  }

  /// The facts that are known in front of the rows of a section.
  func section(_ number: Int, _ count: Count) throws(TableError) -> ShownSection {
    ShownSection(
      number: number, count: count,
      header: try shown.table.source.sections?.title(.header, ofSection: number),
      headerElement: try elements.element("header", of: number),
      indexTitle: indexTitles[number], table: try shown.table.table(ofSection: number))
  }

  /// Adds the facts that appear after the rows of a section.
  func complete(_ section: inout ShownSection) throws(TableError) {
    let number = section.number
    section.footer = try shown.table.source.sections?.title(.footer, ofSection: number)
    section.footerElement = try elements.element("footer", of: number)
    section.aggregates = shown.footers?.text(ofSection: number)
  }

  /// Rows of the requested columns, with the facts about them. `place` is the path of the first row in the shown table.
  /// `together` contains the sections that were read together, from this one on.
  mutating func rows(
    _ batch: Batch, at first: IndexPath, shownAt place: IndexPath,
    together: ArraySlice<TableReader.Run> = []
  ) throws(TableError) -> ShownRows {
    var rows = ShownRows(batch: batch, first: place)
    let range = first.row..<first.row + batch.rowCount
    if var permissions {
      self.permissions = nil
      (rows.editable, rows.movable) = try permissions.of(
        (first.section, range), together: together)
      self.permissions = permissions
    }
    if elements.hasBadges {
      rows.badges = try range.map { row throws(TableError) in
        try elements.badge(IndexPath(section: first.section, row: row))
      }
    }
    if let links {
      rows.links = try range.map { row throws(TableError) in
        try links.address(IndexPath(section: first.section, row: row))
      }
    }
    if var numbers {
      rows.numbers = try numbers.numbers(of: range, inSection: first.section)
      self.numbers = numbers
    }
    if let marks = shown.marks {
      rows.marks = range.map { marks[IndexPath(section: first.section, row: $0)] }
    }
    rows.colours = colours
    rows.highlights = needs.contains(.colours) ? shown.highlights : nil
    rows.separate(columnCount)
    return rows
  }

  /// Forgets facts that a new version of the table can change.
  mutating func forget() throws(TableError) {
    if numbers != nil { numbers = try SourceNumbers(shown.table.source) }
  }
}

extension TableDataSource {
  /// The first index title that leads to each section.
  fileprivate func firstIndexTitles() throws(TableError) -> [Int: String] {
    var titles: [Int: String] = [:]
    for entry in try sectionIndexEntries() where titles[entry.path.section] == nil {
      titles[entry.path.section] = entry.title
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
