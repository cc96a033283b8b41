import TabellaSDK

// Sections by letters: A to Z, and # for all other names. UIKit's numberOfSections and titleForHeader.

extension ContactsSource: TableSections {
  func numberOfSections(knowing minimum: Int) -> Count { .exact(book.sections.count) }

  func title(_ place: TitlePlace, ofSection section: Int) throws(TableError) -> String? {
    let count = try cards(ofSection: section).count
    return switch place {
    case .header: book.sections[section].letter.title
    case .footer: count == 1 ? "1 contact" : "\(count) contacts"
    }
  }
}
