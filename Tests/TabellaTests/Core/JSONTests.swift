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
