import TabellaSDK

/// The contacts of a file. This file has what every source has: columns, counts and rows. Each file of the folder
/// `Abilities` adds one ability.
final class ContactsSource: ProviderSource {
  let columns = Field.allCases.map { Column("\($0)", rank: $0.rank) }
  let file: EditableFile
  let hasPlaceholders: Bool
  private(set) var book: AddressBook
  /// The cards that are on display, or will be.
  var kept = KeptCards()
  /// The warnings that nobody has read yet.
  var warnings: [Diagnostic] = []

  init(_ file: EditableFile, hasPlaceholders: Bool) throws(TableError) {
    self.file = file
    self.hasPlaceholders = hasPlaceholders
    book = try AddressBook(file.bytes)
    noteWarnings()
  }

  /// Shows new content of the file.
  func show(_ book: AddressBook) {
    self.book = book
    kept.removeAll()
    noteWarnings()
  }

  func version() -> Version? { file.version }

  func numberOfRows(inSection section: Int, knowing minimum: Int) throws(TableError) -> Count {
    .exact(try cards(ofSection: section).count + (hasPlaceholders ? 1 : 0))
  }

  func rows(_ request: RowRequest) throws(TableError) -> Batch {
    try check(request)
    let count = try numberOfRows(inSection: request.section, knowing: 0).value
    guard request.first <= count else {
      throw .noRow(request.first, inSection: request.section, of: count)
    }
    let rows = request.first..<request.first + min(request.count, count - request.first)
    let paths = rows.map { IndexPath(section: request.section, row: $0) }
    return try batch(of: paths, columns: request.columns, includesIDs: request.includesIDs)
  }

  /// A batch of these rows, which must exist.
  func batch(
    of paths: [IndexPath], columns: [Int], includesIDs: Bool
  ) throws(TableError) -> Batch {
    let builder = BatchBuilder(columns.map { self.columns[$0].type }, ids: includesIDs)
    for path in paths {
      let card = cardNumber(at: path).map { self.card($0) }
      for (cells, column) in zip(builder.columns, columns) {
        cells.append(card?.cell(Field.allCases[column]) ?? .missing)
      }
      builder.ids?.append(id(at: path))
    }
    return builder.finish(rowCount: paths.count)
  }

  // Cards and rows

  /// The numbers of the cards of a section.
  func cards(ofSection section: Int) throws(TableError) -> [Int] {
    guard book.sections.indices.contains(section) else { throw .noSection(section) }
    return book.sections[section].cards
  }

  /// The number of the card in a row; nil for a placeholder, and for a row that does not exist.
  func cardNumber(at path: IndexPath) -> Int? { book.number(at: path) }

  /// Throws ``TableError`` with `.notFound` unless a row exists.
  func check(_ path: IndexPath) throws(TableError) {
    let count = try numberOfRows(inSection: path.section, knowing: 0).value
    guard 0..<count ~= path.row else {
      throw .noRow(path.row, inSection: path.section, of: count)
    }
  }

  /// The card with a number: a kept one, or else one that is read now.
  func card(_ number: Int) -> Card { kept[number] ?? book.card(number) }
}

extension Field {
  /// The columns that a narrow terminal keeps longest.
  var rank: Int? {
    switch self {
    case .name: 0
    case .phone: 1
    case .email: 2
    case .birthday: 3
    case .organisation: 4
    case .title, .categories, .note: 5
    case .family, .given: 6
    }
  }
}
