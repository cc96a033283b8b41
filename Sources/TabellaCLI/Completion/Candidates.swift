import Glibc
import Tabella

/// What fits at the cursor.
struct Candidates {
  struct Item: Hashable {
    /// The whole word, as it is without any quotes.
    let value: String
    let meaning: String
  }

  /// How many of a table's columns or titles are worth offering.
  static let limit = 300

  private(set) var items: [Item] = []
  /// The number of characters at the word's start behind which the shell should offer the names of
  /// files; nil if it should not.
  var files: Int?
  /// Whether a candidate may be only the first part of a word.
  var isOpen = false
  private var values: Set<String> = []

  /// Offers a word, if it goes on from what is typed and a line can hold it.
  mutating func offer(_ value: String, _ meaning: String = "", for typed: String) {
    guard items.count < Candidates.limit, value.hasPrefix(typed), !value.isEmpty,
      !value.unicodeScalars.contains(where: \.isUnsafeToPrint), values.insert(value).inserted
    else { return }
    items.append(Item(value: value, meaning: meaning))
  }

  /// What the shells' scripts read: a line that begins with a colon and says whether names of files
  /// fit too, and whether a word may go on; then a candidate a line, `VALUE<TAB>MEANING`.
  var text: String {
    var flags = ":"
    if let files { flags += " files=\(files)" }
    if isOpen { flags += " nospace" }
    let lines = items.map { item in
      item.meaning.isEmpty ? item.value : "\(item.value)\t\(item.meaning)"
    }
    return ([flags] + lines).map { $0 + "\n" }.joined()
  }

  /// What bash's script reads: the same first line, then what is to be inserted, a line each.
  func text(for line: BashLine) -> String {
    var bash = self
    var insertions = items.compactMap { line.insertion($0.value) }
    if files != nil, items.isEmpty {
      bash.isOpen = false
    } else if files != nil {
      // bash offers files itself only if there is nothing else.
      let typed = line.words.last?.text ?? ""
      insertions += namesOfFiles(typed).compactMap { line.insertion($0) }
      bash.files = nil
    }
    bash.items = insertions.map { Item(value: $0, meaning: "") }
    return bash.text
  }
}

/// The names in the working directory that go on from `typed`, folders with a slash.
private func namesOfFiles(_ typed: String) -> [String] {
  guard let stream = opendir(".") else { return [] }
  defer { closedir(stream) }
  var names: [String] = []
  while names.count < 10_000, let entry = readdir(stream) {
    // An entry is only as long as its name, so it must not be read as a whole.
    guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else { return [] }
    let start = (UnsafeRawPointer(entry) + offset).assumingMemoryBound(to: CChar.self)
    let name = String(cString: start)
    guard name.hasPrefix(typed), typed.hasPrefix(".") || !name.hasPrefix("."),
      name.utf8.elementsEqual(
        Array(UnsafeBufferPointer(start: start, count: strlen(start))).map { UInt8(bitPattern: $0) }
      ),
      !name.unicodeScalars.contains(where: \.isUnsafeToPrint)
    else { continue }
    var status = stat()
    names.append(
      stat(start, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR ? name + "/" : name)
  }
  return names.sorted()
}
