import TabellaSDK

/// The file as a batch of edits leaves it: the cards in their new order, as pieces of the old file and new bytes.
struct Draft {
  /// A part of the new file.
  private enum Item: Hashable {
    /// The bytes between two cards of the old file.
    case gap(Range<Int>)
    /// A card of the old file, possibly with new cells.
    case card(Int)
    /// The card that an edit inserts.
    case new(edit: Int)
  }

  let pieces: [EditableFile.Piece]
  private let items: [Item]
  private let edits: [EditBatch.Edit]
  private let changes: [ChangeBatch.Change]
  private let source: ContactsSource
  private let before: AddressBook

  /// Plans a batch. Throws ``TableError`` for an edit that is not possible.
  init(_ batch: EditBatch, of source: ContactsSource) throws(TableError) {
    let book = source.book
    (self.source, before, edits) = (source, book, batch.edits)
    changes = try batch.changes { id throws(TableError) in try source.indexPath(forID: id) }
    let plan = try BatchPlan(changes, of: source)
    try Draft.check(batch.edits, changes, source)
    var texts: [Int: [EditableFile.Piece]] = [:]
    var new: [Int: [UInt8]] = [:]
    for (number, edit) in batch.edits.enumerated() {
      switch (edit, changes[number]) {
      case (.set(_, let cells), .reconfigure(let path)):
        guard let card = source.cardNumber(at: path) else { break }
        texts[card] = try Draft.about(path) { () throws(TableError) in
          try CardEditor(
            source.card(card), setting: Draft.fields(cells, source), lineEnd: book.lineEnd
          ).pieces(of: book.entries[card].range)
        }
      case (.insert(let path, let cells), _):
        new[number] = try Draft.about(path) { () throws(TableError) in
          try newCard(
            try Draft.fields(cells, source), version: Draft.version(of: book),
            lineEnd: book.lineEnd)
        }
      default: break
      }
    }
    items = try Draft.order(plan, changes, new, source)
    pieces = Draft.pieces(items, texts, new, book)
  }

  // Rules

  private static func check(
    _ edits: [EditBatch.Edit], _ changes: [ChangeBatch.Change], _ source: ContactsSource
  ) throws(TableError) {
    for (edit, change) in zip(edits, changes) {
      guard !change.isOfSection else {
        throw TableError(.notSupported, "sections follow from the names of the contacts")
      }
      if case .set(_, let cells) = edit { try source.check(setting: cells) }
      switch change {
      case .delete(let path), .reconfigure(let path), .reload(let path), .move(let path, _):
        guard let number = source.cardNumber(at: path) else {
          throw ContactsSource.isPlaceholder(path)
        }
        if case .move(_, let target) = change { try source.checkMove(from: path, to: target) }
        let card = source.card(number)
        if case .set = edit, !card.isEditable {
          throw TableError(
            .readOnly,
            "is a vCard \(card.version), whose cells cannot be set; convert it to vCard 3.0 or 4.0",
            section: path.section, row: path.row)
        }
      case .insert: break
      }
    }
  }

  private static func fields(
    _ cells: [Int: Cell], _ source: ContactsSource
  ) throws(TableError) -> [Field: Cell] {
    try source.check(setting: cells)
    return Dictionary(uniqueKeysWithValues: cells.map { (Field.allCases[$0], $1) })
  }

  /// The version for new cards: that of the last card that has one of the versions that can be written.
  private static func version(of book: AddressBook) -> String {
    let last = book.entries.indices.reversed().lazy.map { book.card($0) }.first { $0.isEditable }
    return last?.version ?? "4.0"
  }

  /// Adds the row to an error.
  private static func about<R>(
    _ path: IndexPath, _ body: () throws(TableError) -> R
  ) throws(TableError) -> R {
    do throws(TableError) { return try body() } catch {
      var error = error
      (error.section, error.row) = (path.section, path.row)
      throw error
    }
  }

  // The new order

  /// The cards of the new file in order.
  ///
  /// An arriving card goes in front of the card that follows it in its section, or after the last one. A new card of
  /// another letter goes after the last card of that letter.
  private static func order(
    _ plan: BatchPlan, _ changes: [ChangeBatch.Change], _ new: [Int: [UInt8]],
    _ source: ContactsSource
  ) throws(TableError) -> [Item] {
    let book = source.book
    var inFront: [Int: [Item]] = [:]
    var after: [Int: [Item]] = [:]
    var atEnd: [Item] = []
    var departed: Set<Int> = []
    func append(_ item: Item, to letter: Letter) {
      let last = book.sections.first { $0.letter == letter }?.cards.last
      if let last { after[last, default: []].append(item) } else { atEnd.append(item) }
    }
    for (section, rows) in plan.rows.sorted(by: { $0.key < $1.key }) {
      let cards = book.sections[section].cards
      departed.formUnion(rows.departed.compactMap { cards.indices.contains($0) ? cards[$0] : nil })
      for arrival in rows.arrivals {
        guard arrival.nextSurvivor <= cards.count else {
          throw TableError(
            .constraint, "the row for a new contact stays the last one of its section",
            section: section, row: arrival.indexAfter)
        }
        var item = Item.new(edit: arrival.change)
        var letter = book.sections[section].letter
        if case .move(let from, _) = changes[arrival.change] {
          guard let number = source.cardNumber(at: from) else { continue }
          item = .card(number)
        } else if let bytes = new[arrival.change] {
          letter = Letter(of: Card(0..<bytes.count, in: bytes).sortName)
        }
        if letter == book.sections[section].letter, arrival.nextSurvivor < cards.count {
          inFront[cards[arrival.nextSurvivor], default: []].append(item)
        } else {
          append(item, to: letter)
        }
      }
    }
    var items: [Item] = []
    var end = 0
    for (number, entry) in book.entries.enumerated() {
      items.append(.gap(end..<entry.range.lowerBound))
      items += inFront[number] ?? []
      if !departed.contains(number) { items.append(.card(number)) }
      items += after[number] ?? []
      end = entry.range.upperBound
    }
    return items + [.gap(end..<book.bytes.count)] + atEnd
  }

  /// The pieces of the new file. A card begins on a line of its own.
  private static func pieces(
    _ items: [Item], _ texts: [Int: [EditableFile.Piece]], _ new: [Int: [UInt8]],
    _ book: AddressBook
  ) -> [EditableFile.Piece] {
    var pieces: [EditableFile.Piece] = []
    var lastByte = Byte.lineFeed
    func append(_ piece: EditableFile.Piece) {
      pieces.append(piece)
      switch piece {
      case .old(let range): if !range.isEmpty { lastByte = book.bytes[range.upperBound - 1] }
      case .new(let bytes): lastByte = bytes.last ?? lastByte
      }
    }
    for item in items {
      if case .gap(let range) = item {
        append(.old(range))
        // A byte order mark is no line.
        if range == 0..<3, book.bytes.starts(with: AddressBook.mark) { lastByte = Byte.lineFeed }
        continue
      }
      if lastByte != Byte.lineFeed { append(.new(book.lineEnd)) }
      switch item {
      case .gap: break
      case .card(let number):
        for piece in texts[number] ?? [.old(book.entries[number].range)] { append(piece) }
      case .new(let edit): append(.new(new[edit] ?? []))
      }
    }
    return pieces
  }

  // The result

  /// The number of each card of the new file, by its item.
  private var numbersAfter: [Item: Int] {
    var numbers: [Item: Int] = [:]
    for item in items {
      if case .gap = item { continue }
      numbers[item] = numbers.count
    }
    return numbers
  }

  /// The item of an edit that leaves a card; nil for a deletion.
  private func item(of edit: Int) -> Item? {
    switch changes[edit] {
    case .insert: .new(edit: edit)
    case .move(let path, _), .reconfigure(let path): before.number(at: path).map { .card($0) }
    case .delete, .reload: nil
    }
  }

  /// Throws ``TableError`` with `.constraint` unless the new file reads as the edits require.
  func check(_ after: AddressBook) throws(TableError) {
    let numbers = numbersAfter
    guard after.fault == nil, after.entries.count == numbers.count else {
      throw TableError(.constraint, "would not be read back as \(numbers.count) contacts")
    }
    for (edit, operation) in edits.enumerated() {
      let cells: [Int: Cell]
      switch operation {
      case .set(_, let new), .insert(_, let new): cells = new
      case .delete, .move: continue
      }
      guard let number = item(of: edit).flatMap({ numbers[$0] }) else { continue }
      let card = after.card(number)
      for (column, cell) in cells where card.cell(Field.allCases[column]) != cell {
        throw TableError(
          .constraint, "\(Field.allCases[column]) would be read back with another value",
          column: column)
      }
    }
  }

  /// The id of the row of each edit in the new file; nil for a deletion.
  func idsAfter(in after: AddressBook) -> [String?] {
    let numbers = numbersAfter
    return edits.indices.map { edit in
      item(of: edit).flatMap { numbers[$0] }.map { after.entries[$0].id }
    }
  }

  /// The changes of the rows; nil if they are not those of the edits, because a contact has another letter now.
  func changes(to after: AddressBook) -> [ChangeBatch.Change]? {
    guard before.sections.map(\.letter) == after.sections.map(\.letter) else { return nil }
    let set = Set(
      edits.indices.filter { changes[$0].isReconfiguration }.compactMap { item(of: $0) })
    var renamed: Set<Int> = []
    for (item, number) in numbersAfter {
      let now = after.entries[number]
      switch item {
      case .gap: break
      case .card(let card):
        guard before.entries[card].letter == now.letter else { return nil }
        if before.entries[card].id == now.id { continue }
        guard set.contains(item) else { return nil }
        renamed.insert(card)
      case .new(let edit):
        guard case .insert(let path) = changes[edit],
          before.sections[path.section].letter == now.letter
        else { return nil }
      }
    }
    // A row with another id is another row, and a batch cannot move and reload a row.
    let moved = changes.compactMap { change -> Int? in
      if case .move(let path, _) = change { before.number(at: path) } else { nil }
    }
    guard renamed.isDisjoint(with: moved) else { return nil }
    return changes.map { change in
      guard case .reconfigure(let path) = change, let card = before.number(at: path),
        renamed.contains(card)
      else { return change }
      return .reload(path)
    }
  }
}

extension ChangeBatch.Change {
  fileprivate var isReconfiguration: Bool { if case .reconfigure = self { true } else { false } }
}
