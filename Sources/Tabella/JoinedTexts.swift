extension [String] {
  /// The texts as one text with a separator between them.
  ///
  /// The function of the standard library with this name is generic. Its first call makes types, and searches the
  /// conformances of the whole process for them, which takes a start longer than all joined texts of a command.
  package func joined(separator: String = "") -> String {
    var all = ""
    for index in indices {
      if index > 0 { all += separator }
      all += self[index]
    }
    return all
  }
}
