import TabellaSDK

// Notices and advice. UIKit's willDisplay, didEndDisplaying, prefetchRowsAt and cancelPrefetchingForRowsAt.
//
// A card can hold a photo of many kilobytes. So the source keeps only the cards that are on display or will be, and
// reads all others again when they are needed.

extension ContactsSource: TableDisplay, TablePrefetching {
  func willDisplay(rows: Range<Int>, inSection section: Int) { keep(rows, section) }
  func didEndDisplaying(rows: Range<Int>, inSection section: Int) { release(rows, section) }
  func prefetch(rows: Range<Int>, inSection section: Int) { keep(rows, section) }
  func cancelPrefetching(rows: Range<Int>, inSection section: Int) { release(rows, section) }

  private func keep(_ rows: Range<Int>, _ section: Int) {
    for number in numbers(rows, section) { kept.keep(number) { book.card(number) } }
  }

  private func release(_ rows: Range<Int>, _ section: Int) {
    for number in numbers(rows, section) { kept.release(number) }
  }

  private func numbers(_ rows: Range<Int>, _ section: Int) -> ArraySlice<Int> {
    guard book.sections.indices.contains(section) else { return [] }
    let cards = book.sections[section].cards
    return cards[rows.clamped(to: cards.indices)]
  }
}

/// Cards that were read in full. A card stays as long as somebody wants it.
struct KeptCards {
  /// The maximum number of cards. Reading them must not take long.
  private static let limit = 256

  private var cards: [Int: (card: Card, users: Int)] = [:]

  subscript(number: Int) -> Card? { cards[number]?.card }

  /// Keeps a card for one more user. Reads it unless it is there.
  mutating func keep(_ number: Int, _ read: () -> Card) {
    guard cards[number] == nil else {
      cards[number]!.users += 1
      return
    }
    if cards.count < KeptCards.limit { cards[number] = (read(), 1) }
  }

  /// Forgets a card when its last user releases it.
  mutating func release(_ number: Int) {
    guard let users = cards[number]?.users else { return }
    if users == 1 { cards[number] = nil } else { cards[number]!.users -= 1 }
  }

  mutating func removeAll() { cards = [:] }
}
