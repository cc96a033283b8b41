/// The sizes of all data. They all depend on the number of rows of `plain`.
struct Sizes {
  let plain: Int

  var quoted: Int { plain * 42 / 100 }
  var text: Int { plain }
  /// The number of rows of the table that a provider in C and a CSV file both contain.
  var cells: Int { plain / 4 }
  /// The number of files in the folder.
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
