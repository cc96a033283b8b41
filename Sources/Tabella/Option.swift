/// An option that a provider accepts, as its manifest declares it.
///
/// The corresponding C type is `tabella_option`.
public struct OptionDeclaration: Hashable, Sendable {
  public enum Kind: Int32, Hashable, Sendable, CaseIterable {
    case text = 1
    case integer = 2
    case boolean = 3

    public var name: String {
      switch self {
      case .text: "text"
      case .integer: "integer"
      case .boolean: "boolean"
      }
    }
  }

  public var name: String
  public var kind: Kind
  /// The value when none is given, for people; nil if there is none.
  public var defaultValue: String?
  /// The values allowed; empty means any of the kind.
  public var choices: [String]
  /// One line for people.
  public var summary: String

  public init(
    _ name: String, _ kind: Kind = .text, default defaultValue: String? = nil,
    choices: [String] = [], summary: String
  ) {
    self.name = name
    self.kind = kind
    self.defaultValue = defaultValue
    self.choices = choices
    self.summary = summary
  }

  /// Throws ``TableError`` with `.invalidArgument` if a value is not of the kind or no choice.
  public func check(_ value: String) throws(TableError) {
    let isGood =
      switch kind {
      case .text: true
      case .integer: Int(value) != nil
      case .boolean: OptionDeclaration.boolean(value) != nil
      }
    guard isGood else {
      let wanted = kind == .boolean ? "true or false" : "an integer"
      throw TableError(
        .invalidArgument, "option \(name) cannot be \"\(value)\": it must be \(wanted)")
    }
    guard choices.isEmpty || choices.contains(value) else {
      throw TableError(
        .invalidArgument,
        "option \(name) cannot be \"\(value)\": it must be one of \(choices.joined(separator: ", "))"
      )
    }
  }

  /// The meaning of a boolean option's value; nil if it has none.
  public static func boolean(_ value: String) -> Bool? {
    switch value {
    case "true", "yes", "on", "1": true
    case "false", "no", "off", "0": false
    default: nil
    }
  }
}

/// What to open: a location as the provider sees it, and option values.
public struct OpenRequest: Hashable, Sendable {
  /// A path, or what follows `scheme:`; any bytes without NUL.
  public var location: [UInt8]
  /// The scheme by which the provider was chosen; nil for a path.
  public var scheme: String?
  /// The options given, by name; the host has checked them against the declared ones.
  public var options: [String: String]

  public init(location: [UInt8], scheme: String? = nil, options: [String: String] = [:]) {
    self.location = location
    self.scheme = scheme
    self.options = options
  }

  public init(path: String, options: [String: String] = [:]) {
    self.init(location: Array(path.utf8), options: options)
  }

  /// The location for a message.
  public var locationText: String { String(decoding: location, as: UTF8.self) }
}
