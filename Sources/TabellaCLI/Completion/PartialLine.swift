import Tabella

/// An incomplete command line up to the cursor, parsed as far as possible.
struct PartialLine {
  let command: Command
  /// The options in front of the cursor, without invalid ones.
  private(set) var invocation = Invocation()
  /// The names of the options in front of the cursor.
  private(set) var given: Set<String> = []
  /// The option whose argument is at the cursor.
  private(set) var pending: OptionSpec?
  /// Whether `--` appears in front of the cursor.
  private(set) var isPastOptions = false

  /// Parses the words between the command and the word at the cursor.
  init(_ command: Command, _ words: some Sequence<Argument>) {
    self.command = command
    for word in words { read(word) }
  }

  private mutating func read(_ word: Argument) {
    if let spec = pending {
      pending = nil
      try? spec.apply(&invocation, word)
    } else if isPastOptions || !word.text.hasPrefix("-") || word.text == "-" {
      invocation.operands.append(word)
    } else if word.text == "--" {
      isPastOptions = true
    } else {
      let (name, value) = Invocation.split(word)
      guard let spec = option(name) else { return }
      given.formUnion(spec.names)
      guard spec.argument != nil else {
        try? spec.apply(&invocation, Argument([]))
        return
      }
      guard let value = value ?? spec.fallback.map({ Argument(Array($0.utf8)) }) else {
        pending = spec
        return
      }
      try? spec.apply(&invocation, value)
    }
  }

  func option(_ name: String) -> OptionSpec? {
    command.options.first { $0.names.contains(name) }
  }

  /// The kind of the operand at the cursor.
  var operandValue: Completion {
    let number = invocation.operands.count
    if command.operandValues.indices.contains(number) { return command.operandValues[number] }
    let repeats = command.operands.hasSuffix("…") || command.operands.hasSuffix("…]")
    return repeats ? command.operandValues.last ?? .none : .none
  }

  /// The locations in front of the cursor.
  var locations: [Argument] {
    invocation.operands.enumerated().compactMap { number, operand in
      let value =
        command.operandValues.indices.contains(number)
        ? command.operandValues[number] : command.operandValues.last
      return value == .location || value == .subject || value == .receipt ? operand : nil
    }
  }
}
