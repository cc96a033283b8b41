/// How much of everything is measured; all of it follows from the rows of `plain`.
struct Sizes {
  let plain: Int

  var quoted: Int { plain * 42 / 100 }
  var text: Int { plain }
  /// Rows of the table that a provider in C and a CSV file both have.
  var cells: Int { plain / 4 }
  /// Files in the folder.
  var files: Int { max(plain / 10, 1) }
  var processes: Int { min(max(plain / 200, 20), 5000) }

  func rows(of kind: DataKind) -> Int {
    switch kind {
    case .plain: plain
    case .quoted: quoted
    case .text: text
    }
  }
}
