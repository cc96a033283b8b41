import Tabella

@testable import TabellaHost

/// Fuzzes the JSON parser. An accepted value must stay the same when it is written and parsed again.
struct JSONTarget: FuzzTarget {
  static let name = "json"
  static let inputLimit = 2048
  static let words = [
    "{\"", "\":", "[[", "]]", "\\u0000", "\\ud83d\\ude00", "\\udc00", "null", "true", "false",
    "1e9",
    "-0.5", "\\\"", "\\\\",
  ].map { Array($0.utf8) }

  func run(_ input: UnsafeRawBufferPointer) -> Int {
    guard let value = try? JSONValue(parsing: Array(input)) else { return 0 }
    guard let again = try? JSONValue(parsing: Array(value.text.utf8)) else {
      fatalError("what was written cannot be read")
    }
    require(again == value, "another value was written")
    return 1
  }

  func seeds() -> [Seed] {
    [
      "{\"a\": [1, -2.5e+3, true, false, null], \"b\": {\"c\": \"d\"}}",
      "\"\\u00e9 \\ud83d\\ude00 \\n\\t\\\" é\"", "[[[[[[[[]]]]]]]]", " 0 ",
    ].enumerated().map { number, text in
      Seed(name: "\(number)", bytes: Array(text.utf8), reaches: 1)
    }
  }
}

/// Fuzzes manifests, which are parsed before anything is known about a provider.
struct ManifestTarget: FuzzTarget {
  static let name = "manifests"
  static let inputLimit = 2048
  static let words =
    JSONTarget.words
    + [
      "\"id\"", "\"version\"", "\"contract\"", "\"library\"", "\"schemes\"", "\"patterns\"",
      "\"magic\"", "\"offset\"", "\"bytes\"", "\"accepts\"", "\"columns\"", "\"options\"",
      "\"type\"", "\"unit\"", "\"choices\"", "\"capabilities\"", "-1", "4096", "4097",
      "9223372036854775807",
    ].map { Array($0.utf8) }

  func run(_ input: UnsafeRawBufferPointer) -> Int {
    do throws(TableError) {
      let manifest = try Manifest(parsing: Array(input))
      require(Manifest.isName(manifest.id), "an id that is none")
      require(manifest.schemes.allSatisfy(Manifest.isName), "a scheme that is none")
      require(
        manifest.magic.allSatisfy { 0...4096 ~= $0.offset && !$0.bytes.isEmpty },
        "magic bytes that are nowhere")
      try? manifest.check(["a": "1"])
      return 1
    } catch {
      require(error.code == .noProvider, "another error than a manifest's")
      return 0
    }
  }

  func seeds() -> [Seed] {
    let text = """
      {"id": "fuzz", "version": "1", "contract": "0.9", "library": "libfuzz.so", "summary": "s",
       "schemes": ["fuzz"], "patterns": ["*.f?"], "magic": [{"offset": 4, "bytes": "00ff"}],
       "accepts": ["file", "directory"], "columns": [{"name": "a", "type": "integer", "unit": "bytes"}],
       "options": [{"name": "o", "type": "text", "default": "a", "choices": ["a", "b"]}],
       "capabilities": ["edit"]}
      """
    let edge = """
      {"id":"a","version":"","contract":"0.9","library":"a","magic":[{"offset":4096,"bytes":"00"}]}
      """
    let least = "{\"id\":\"a\",\"version\":\"\",\"contract\":\"0.9\",\"library\":\"a\"}"
    return [
      Seed(name: "full", bytes: Array(text.utf8), reaches: 1),
      Seed(name: "edge", bytes: Array(edge.utf8), reaches: 1),
      Seed(name: "least", bytes: Array(least.utf8), reaches: 1),
    ]
  }
}
