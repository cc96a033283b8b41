/// Standard input, as it was when the program began.
enum StandardInput {
  /// Whether there was none: what stands in for it would read as empty. Set once, before anything else.
  nonisolated(unsafe) static var isClosed = false
}
