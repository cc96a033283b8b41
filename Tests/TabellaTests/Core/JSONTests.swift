import Foundation
import Tabella
import Testing

@testable import TabellaTestSupport

@Suite struct JSONTests {
  @Test(arguments: [
    "null", "true", "false", "0", "-0", "12", "-3.5e+10", "1E5", "\"\"", "\"a\\\"b\\\\c\\u00e9\"",
    "[]", "[1,[2,[]],{}]", "{\"a\":1,\"b\":[null]}", " [ 1 , 2 ]\n", "\"\\ud83d\\ude00\"",
  ])
  func roundTrips(_ text: String) throws {
    let value = try JSONValue(parsing: Array(text.utf8))
    #expect(try JSONValue(parsing: Array(value.text.utf8)) == value)
    // Foundation parses the same value.
    _ = try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
  }

  @Test(arguments: [
    "", "nul", "01", "1.", ".5", "-", "1e", "[1,]", "[1 2]", "{\"a\"}", "{\"a\":1,}", "{a:1}",
    "\"", "\"\\x\"", "\"\\ud800\"", "\"\\udc00\"", "\"\u{1}\"", "[1] 2", "{\"a\":1,\"a\":2}",
    "\"\\u+123\"", "tru e", "[", "{\"a\":",
  ])
  func refuses(_ text: String) {
    #expect(throws: TableError.self) { try JSONValue(parsing: Array(text.utf8)) }
  }

  /// An object is an array of members. It must answer like a dictionary after any changes, and like a parsed text.
  @Test func objectsAreDictionaries() throws {
    var random = SeededGenerator(seed: 30)
    let keys = ["", "a", "A", "ab", "b", "é", "e\u{301}", "z", "10", "9", " "]
    for _ in 0..<2_000 {
      var (object, model) = (JSONObject(), [String: JSONValue]())
      for step in 0..<Int.random(in: 0...12, using: &random) {
        let key = keys.randomElement(using: &random)!
        let value: JSONValue? =
          Int.random(in: 0...3, using: &random) == 0 ? nil : .number("\(step)")
        object[key] = value
        model[key] = value
      }
      #expect(object.keys == model.keys.sorted())
      #expect(object.allSatisfy { model[$0.key] == $0.value })
      for key in keys { #expect(object[key] == model[key]) }
      let shuffled = model.shuffled(using: &random)
      #expect(object == JSONObject(shuffled.map { ($0.key, $0.value) }))
      let members = shuffled.map { "\(JSONValue.string($0.key).text):\($0.value.text)" }
      let text = "{\(members.joined(separator: ","))}"
      #expect(try JSONValue(parsing: Array(text.utf8)) == .object(object))
      let added: JSONObject = ["a": .null, "new": .boolean(true)]
      let merged = model.merging(["a": .null, "new": .boolean(true)]) { $1 }
      #expect(object.merging(added) == JSONObject(merged.map { ($0.key, $0.value) }))
    }
  }

  @Test func errorsNameTheEndOfARepeatedMember() {
    let text = "{\"b\": 1, \"a\": 2,\n  \"c\": 3, \"a\": 4, \"a\": 5}"
    let error = #expect(throws: TableError.self) { try JSONValue(parsing: Array(text.utf8)) }
    #expect(error?.message == "JSON line 2, column 17: the key \"a\" is repeated")
  }

  /// The time to parse an object must not grow with the square of its members: one manifest could stop a host.
  @Test func largeObjectsAreParsed() throws {
    let members = (0..<100_000).map { "\"\($0 &* 7_919 % 100_003)\":\($0)" }
    let text = "{\(members.joined(separator: ","))}"
    #expect(try JSONValue(parsing: Array(text.utf8))["7919"] == .number("1"))
  }

  @Test func deepNestingIsAnErrorAndNoCrash() {
    let text = Array(String(repeating: "[", count: 100_000).utf8)
    #expect(throws: TableError.self) { try JSONValue(parsing: text) }
  }

  @Test func errorsSayWhere() throws {
    do throws(TableError) {
      _ = try JSONValue(parsing: Array("{\n  \"a\": x}".utf8))
    } catch { #expect(error.message.contains("line 2, column 8")) }
  }

  @Test func anyTextSurvives() throws {
    for scalar in (0..<0x3000).compactMap({ Unicode.Scalar($0) }) {
      let text = "a\(scalar)b"
      let written = Array(JSONValue.string(text).text.utf8)
      #expect(try JSONValue(parsing: written) == .string(text))
      #expect(try JSONDecoder().decode(String.self, from: Data(written)) == text)
    }
  }

  @Test func notUTF8IsRefused() {
    #expect(throws: TableError.self) { try JSONValue(parsing: [0x22, 0xFF, 0x22]) }
  }
}
