/// The state of standard input at the start of the program.
enum StandardInput {
  /// Whether standard input was closed. Its replacement would read as empty. Set once, at the start.
  nonisolated(unsafe) static var isClosed = false
}
