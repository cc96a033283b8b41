import Foundation
import Tabella
import Testing

@testable import TabellaCLI
@testable import TabellaTestSupport

extension TemporaryFolder {
  /// Calls `body` with an output into a file, and returns what it wrote. The output is a terminal if it has a width.
  func written(width: Int? = nil, _ body: (Output) throws -> Void) throws -> String {
    let path = try write("shown", "")
    let file = open(path, O_WRONLY | O_CLOEXEC | O_TRUNC)
    defer { close(file) }
    var screen = Screen(descriptor: file)
    (screen.width, screen.isTerminal, screen.isUnicode) = (width, width != nil, true)
    let output = Output(descriptor: file, screen: screen)
    try body(output)
    try output.finish()
    return String(decoding: try read("shown"), as: UTF8.self)
  }

  /// Writes the rows of a source in a format, and returns the text.
  func written(
    _ source: any TableDataSource, width: Int? = nil, stream: RowStream? = nil,
    _ make: (Output) -> any Format
  ) throws -> String {
    try written(width: width) { output in
      var shown = ShownTable(ShapedTable(source), hasHeader: true)
      shown.stream = stream
      var format = make(output)
      try format.begin(shown)
      var viewer = Viewer(shown, 0..<Int.max, output)
      let failure = try viewer.show(in: &format)
      #expect(failure == nil)
      try format.end(failure: nil)
    }
  }
}
