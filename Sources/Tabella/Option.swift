/// An option that a provider accepts, as the manifest declares it.
///
/// The corresponding C type is `tabella_option`.
public struct OptionDeclaration: Hashable, Sendable {
  /// The kind of an option's values.
  public enum Kind: Int32, Hashable, Sendable, CaseIterable {
    case text = 1
    case integer = 2
    case boolean = 3

    /// The name of the kind in manifests and messages.
    public var name: String {
      switch self {
      case .text: "text"
      case .integer: "integer"
      case .boolean: "boolean"
      }
    }
  }

  /// The name of the option.
  public var name: String
  /// The kind of its values.
  public var kind: Kind
  /// The value that applies if the user sets none, as a text for the user; nil if there is no default.
  public var defaultValue: String?
  /// The allowed values. If it is empty, all values of the kind are allowed.
  public var choices: [String]
  /// One line that describes the option to the user.
  public var summary: String

  /// Creates a declaration.
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

  /// Throws ``TableError`` with `.invalidArgument` if a value is not of the kind or not one of the choices.
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

  /// The meaning of a boolean option's value; nil if the value is not boolean.
  public static func boolean(_ value: String) -> Bool? {
    switch value {
    case "true", "yes", "on", "1": true
    case "false", "no", "off", "0": false
    default: nil
    }
  }
}

/// A request to open a location: the location as the provider sees it, and option values.
public struct OpenRequest: Hashable, Sendable {
  /// A path, or the rest after `scheme:`. Any bytes without NUL.
  public var location: [UInt8]
  /// The scheme by which the host chose the provider; nil for a path.
  public var scheme: String?
  /// The given options by name. The host has checked them against the declared ones.
  public var options: [String: String]

  /// Creates a request.
  public init(location: [UInt8], scheme: String? = nil, options: [String: String] = [:]) {
    self.location = location
    self.scheme = scheme
    self.options = options
  }

  /// Creates a request for a path.
  public init(path: String, options: [String: String] = [:]) {
    self.init(location: Array(path.utf8), options: options)
  }

  /// The location as text for messages.
  public var locationText: String { String(decoding: location, as: UTF8.self) }
}
