/// A column of the table, and the property that has its value.
enum Field: Int, CaseIterable {
  case name, family, given, phone, email, organisation, title, birthday, categories, note

  /// The name of the property.
  var property: String {
    switch self {
    case .name: "FN"
    case .family, .given: "N"
    case .phone: "TEL"
    case .email: "EMAIL"
    case .organisation: "ORG"
    case .title: "TITLE"
    case .birthday: "BDAY"
    case .categories: "CATEGORIES"
    case .note: "NOTE"
    }
  }

  /// The form of the value in the file and in the cell.
  enum Form {
    /// One text.
    case text
    /// A component of one line, which has this number.
    case component(Int)
    /// The components of one line. The cell shows them with `; ` between them.
    case components
    /// One line for each value. The cell shows them with `, ` between them.
    case lines
    /// Values with commas between them, in one or more lines. The cell shows them with `, ` between them.
    case list
    /// A date, which can lack a year.
    case date
  }

  var form: Form {
    switch self {
    case .name, .title, .note: .text
    case .family: .component(0)
    case .given: .component(1)
    case .organisation: .components
    case .phone, .email: .lines
    case .categories: .list
    case .birthday: .date
    }
  }

  /// The text between the values of a cell; nil if a cell has one value.
  var separator: String? {
    switch form {
    case .components: "; "
    case .lines, .list: ", "
    case .text, .component, .date: nil
    }
  }
}
