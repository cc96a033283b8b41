import Glibc
import Tabella
import TabellaHost
import TabellaSystem

/// A location with which a provider is checked.
public struct CheckedLocation: Hashable, Sendable {
  /// The origin of a location.
  public enum Origin: String, Hashable, Sendable {
    /// The user named it.
    case given
    /// A scheme of the manifest, with an empty rest.
    case scheme
    /// A sample created for the patterns of the manifest.
    case sample
  }

  /// The origin of the location.
  public let origin: Origin
  /// The name for people: the location, the scheme or the name of the sample.
  public let name: String
  /// The request for the provider.
  public let request: OpenRequest

  /// Whether it is the path of a file or a folder.
  var isPath: Bool { request.scheme == nil }

  /// The kind of the file at the path; nil if there is none.
  var kind: Manifest.PathKind? {
    guard isPath, let status = stat(at: request.location) else { return nil }
    return status.kind == S_IFDIR ? .directory : .file
  }

  /// Whether both are files, both are folders, or both have the same scheme.
  func isLike(_ other: CheckedLocation) -> Bool {
    request.scheme == other.request.scheme && kind == other.kind
  }

  /// A request for another path with the same options.
  func request(_ path: [UInt8]) -> OpenRequest {
    OpenRequest(location: path, options: request.options)
  }
}

extension CheckedLocation {
  /// A location that the user named: `SCHEME:REST` if the manifest has the scheme, otherwise a path. Without a
  /// manifest, it is `SCHEME:REST` if no such file exists.
  init(given location: Location, _ manifest: Manifest?, options: [String: String]) {
    var request = OpenRequest(location: location.bytes, options: options)
    if let (scheme, rest) = location.schemeAndRest {
      let isFile = stat(at: location.bytes, followsLink: false) != nil
      if manifest?.schemes.contains(scheme) ?? !isFile {
        request = OpenRequest(location: rest, scheme: scheme, options: options)
      }
    }
    self.init(origin: .given, name: location.description, request: request)
  }

  /// The locations that the manifest suggests: samples for its patterns and magic bytes, or its schemes with an empty
  /// rest.
  static func derived(
    from manifest: Manifest, in folder: PrivateFolder, options: [String: String]
  ) throws(TableError) -> [CheckedLocation] {
    var locations: [CheckedLocation] = []
    func add(_ name: String, _ path: [UInt8]) {
      locations.append(
        CheckedLocation(
          origin: .sample, name: name, request: OpenRequest(location: path, options: options)))
    }
    let patterns = manifest.patterns.isEmpty && !manifest.magic.isEmpty ? ["*"] : manifest.patterns
    if let pattern = patterns.first {
      if manifest.accepts.contains(.file) {
        let magic = manifest.magic.first
        for sample in Sample.all {
          let name = Sample.name(sample.name, pattern: pattern)
          // A pattern may match only one name.
          let path = try folder.makeFolder(sample.name) + Array("/\(name)".utf8)
          try write(sample.content(magic: magic), to: path, mode: 0o600)
          add("\(sample.name) (a sample named \(name))", path)
        }
      }
      if manifest.accepts.contains(.directory) {
        add("a folder (a sample)", try Sample.makeFolder(in: folder))
      }
    }
    if locations.isEmpty {
      for scheme in manifest.schemes {
        locations.append(
          CheckedLocation(
            origin: .scheme, name: "\(scheme):",
            request: OpenRequest(location: [], scheme: scheme, options: options)))
      }
    }
    return locations
  }
}

/// Files created for checks without a given location.
struct Sample {
  let name: String
  let lines: [UInt8]

  static let all = [
    Sample(name: "small", lines: small), Sample(name: "empty", lines: []),
    Sample(name: "odd", lines: odd),
  ]

  /// Lines that are valid in most text formats.
  static let small = Array(
    "name,year,note\nAda,1815,first\nGrace,1906,\nLinus,1969,\"a, b\"\nMargaret,1936,moon\n".utf8)

  /// Rare cases: CRLF, blank lines, quotes within quotes, invalid UTF-8, NUL, a long cell, no final line end.
  static let odd: [UInt8] = {
    var bytes = Array("name,year,note\r\n\r\n\"two\nlines\",1,\"say \"\"so\"\"\"\r\n".utf8)
    bytes += [0xFF, 0xFE, 0x2C, 0x00, 0x2C, 0x1B, 0x5B, 0x6D, 0x0A]
    bytes += Array("é,\u{202E}2,\t\n,,\n;;;\n".utf8) + [UInt8](repeating: 0x78, count: 5000)
    return bytes + Array(",3\nlast,4,no end".utf8)
  }()

  /// A name that matches a pattern: `small.csv` for `*.csv`.
  static func name(_ stem: String, pattern: String) -> String {
    var name = ""
    var hasStem = false
    for character in pattern {
      switch character {
      case "*":
        name += hasStem ? "" : stem
        hasStem = true
      case "?": name += "x"
      default: name.append(character)
      }
    }
    return name
  }

  func content(magic: Manifest.Magic?) -> [UInt8] {
    guard let magic, !lines.isEmpty else { return lines }
    return [UInt8](repeating: 0, count: magic.offset) + magic.bytes + lines
  }

  /// Creates a folder with a few files and folders.
  static func makeFolder(in folder: PrivateFolder) throws(TableError) -> [UInt8] {
    let path = try folder.makeFolder("folder")
    for (name, bytes) in [
      ("a.txt", small), ("empty", []), ("two words", small), (".hidden", odd),
    ] { try write(bytes, to: path + Array("/\(name)".utf8), mode: 0o600) }
    for inner in ["inner", "inner/deeper"] {
      let inner = path + Array("/\(inner)".utf8)
      guard inner.withCString({ mkdir($0, 0o700) }) == 0 else {
        throw .system(errno, "\(shown(inner)) cannot be created")
      }
      try write(small, to: inner + Array("/b.txt".utf8), mode: 0o600)
    }
    return path
  }
}
