import Glibc
import Tabella
import TabellaSystem

/// The candidates at the cursor.
struct Candidates {
  struct Item: Hashable {
    /// The whole word without quotes.
    let value: String
    let meaning: String
  }

  /// The maximum number of candidates.
  static let limit = 300

  private(set) var items: [Item] = []
  /// The number of characters at the start of the word after which the shell should complete file names; nil if it
  /// should not.
  var files: Int?
  /// Whether a candidate may be incomplete, so that the shell adds no space.
  var isOpen = false
  private var values: Set<String> = []

  /// Adds a candidate if it begins with the typed text and is printable.
  mutating func offer(_ value: String, _ meaning: String = "", for typed: String) {
    guard items.count < Candidates.limit, value.hasPrefix(typed), !value.isEmpty,
      !value.unicodeScalars.contains(where: \.isUnsafeToPrint), values.insert(value).inserted
    else { return }
    items.append(Item(value: value, meaning: meaning))
  }

  /// The input of the shell scripts. The first line begins with a colon and contains flags: whether file names fit, and
  /// whether the word may continue. Each further line is a candidate, `VALUE<TAB>MEANING`.
  var text: String {
    var flags = ":"
    if let files { flags += " files=\(files)" }
    if isOpen { flags += " nospace" }
    let lines = items.map { item in
      item.meaning.isEmpty ? item.value : "\(item.value)\t\(item.meaning)"
    }
    return ([flags] + lines).map { $0 + "\n" }.joined()
  }

  /// The input of bash's script: the same first line, then one insertion per line.
  func text(for line: BashLine) -> String {
    var bash = self
    var insertions = items.compactMap { line.insertion($0.value) }
    if files != nil, items.isEmpty {
      bash.isOpen = false
    } else if files != nil {
      // bash completes file names only if there are no other candidates.
      let typed = line.words.last?.text ?? ""
      insertions += namesOfFiles(typed).compactMap { line.insertion($0) }
      bash.files = nil
    }
    bash.items = insertions.map { Item(value: $0, meaning: "") }
    return bash.text
  }
}

/// The names in the working directory that begin with `typed`. Folders end with a slash.
private func namesOfFiles(_ typed: String) -> [String] {
  guard var entries = FolderEntries(of: Array(".".utf8), includesDots: true) else { return [] }
  var names: [String] = []
  while names.count < 10_000, let bytes = entries.next() {
    let name = String(decoding: bytes, as: UTF8.self)
    guard name.hasPrefix(typed), typed.hasPrefix(".") || !name.hasPrefix("."),
      name.utf8.elementsEqual(bytes), !name.unicodeScalars.contains(where: \.isUnsafeToPrint)
    else { continue }
    names.append(stat(at: name)?.kind == S_IFDIR ? name + "/" : name)
  }
  return names.sorted()
}
