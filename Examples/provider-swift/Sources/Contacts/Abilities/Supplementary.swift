import Glibc
import TabellaSDK

// Elements beside the cells. UIKit's viewForSupplementaryElement(ofKind:at:).

extension ContactsSource: TableSupplementary {
  func supplementaryKinds() -> [String] {
    ["header", "footer", "badge", "preview", SupplementaryKind.line]
  }

  func supplementaryElement(
    ofKind kind: String, at path: IndexPath
  ) throws(TableError) -> SupplementaryElement? {
    if path.isSection {
      switch kind {
      case "header": return try header(ofSection: path.section)
      case "footer": return try footer(ofSection: path.section)
      default: return nil
      }
    }
    guard let number = cardNumber(at: path) else { return nil }
    switch kind {
    case "badge": return badge(card(number))
    case "preview": return preview(card(number))
    case SupplementaryKind.line: return .text(StyledText("\(book.lineNumber(of: number))"))
    default: return nil
    }
  }

  /// The letter in bold, with the first and the last name of the section: `L  Lovelace … Lyell`.
  private func header(ofSection section: Int) throws(TableError) -> SupplementaryElement? {
    let cards = try cards(ofSection: section)
    guard let first = cards.first, let last = cards.last else { return nil }
    let (start, end) = (card(first).sortName, card(last).sortName)
    let names = first == last ? start : "\(start) … \(end)"
    let title = book.sections[section].letter.title
    let span = StyledText.Span(0..<title.utf8.count, .strong)
    return .text(StyledText("\(title)  \(names)", spans: [span]))
  }

  /// The number of contacts, and how many of them have a phone number.
  private func footer(ofSection section: Int) throws(TableError) -> SupplementaryElement? {
    let reachable = try cards(ofSection: section).count { card($0).cell(.phone) != .missing }
    let text = "\(try title(.footer, ofSection: section) ?? ""), \(reachable) with a phone number"
    return .text(StyledText(text, spans: [.init(0..<text.utf8.count, .dim)]))
  }

  /// A birthday within a week, or else the number of phone numbers if there are several.
  private func badge(_ card: Card) -> SupplementaryElement? {
    let birthday = card.values(of: .birthday).first.flatMap { Birthday($0) }
    if let days = birthday?.daysLeft(from: today()), days <= 7 {
      let text = days == 0 ? "birthday today" : "birthday in \(days) d"
      return .text(StyledText(text, spans: [.init(0..<text.utf8.count, .strong)]))
    }
    let phones = card.values(of: .phone).count
    guard phones > 1 else { return nil }
    let text = "\(phones) phones"
    return .text(StyledText(text, spans: [.init(0..<text.utf8.count, .dim)]))
  }

  /// The whole card as a small table. A picture is shown by its size.
  private func preview(_ card: Card) -> SupplementaryElement? {
    let columns = [Column("property"), Column("type"), Column("value")]
    let rows = card.lines.map { line -> [Cell] in
      let types = line.values(of: "TYPE").joined(separator: ", ").lowercased()
      let value =
        line.isBinary ? Array("\(line.value.count) bytes of data".utf8) : line.text
      return [.text(line.name), types.isEmpty ? .missing : .text(types), .text(value)]
    }
    return .table(InMemorySource(columns, rows: rows))
  }
}

/// The date on the clock of this machine.
private func today() -> (year: Int, month: Int, day: Int) {
  var (now, date) = (time(nil), tm())
  localtime_r(&now, &date)
  return (Int(date.tm_year) + 1900, Int(date.tm_mon) + 1, Int(date.tm_mday))
}
