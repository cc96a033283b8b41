import Tabella
import TabellaBridge
import Testing

import class Foundation.ProcessInfo

@testable import TabellaTestSupport

/// Random sequences of 20 batches, compared with an array model after each: in memory, in files and through the
/// contract, directly and in views. `TABELLA_ALL_ROADS` doubles the number in files; `make model` runs the full number.
@Suite struct EditModelTests {
  static let files: [EditSubject] = [.csv, .inferred, .text, .headings, .ini]
  static let shapes = EditShape.all(isLine: false).indices

  @Test(arguments: shapes)
  func inMemory(_ shape: Int) { run(.memory, shape, EditSubject.sequences(40)) }

  /// A tenth of the sequences, because each batch is a save.
  @Test(arguments: files.indices, shapes)
  func inFiles(_ file: Int, _ shape: Int) {
    run(Self.files[file], shape, EditSubject.sequences(takesAllRoads ? 60 : 30) / 10)
  }

  @Test(arguments: shapes)
  func throughTheContract(_ shape: Int) {
    run(.memory.exported, shape, EditSubject.sequences(40) / 10)
    for file in Self.files { run(file.exported, shape, EditSubject.sequences(100) / 100) }
  }

  /// Views of a source that crossed the contract are covered above; here the view itself crosses.
  @Test(arguments: shapes)
  func viewsThroughTheContract(_ shape: Int) {
    run(.memory, shape, EditSubject.sequences(40) / 10) { shape in
      let wrap = shape.wrap
      shape.name += ", through the contract"
      shape.wrap = { try importSource(exportSource(wrap($0)), provider: "view") }
    }
  }

  /// Runs sequences. `TABELLA_VIEW` selects a single view, and `TABELLA_SUBJECT` a single kind of table.
  private func run(
    _ subject: EditSubject, _ number: Int, _ sequences: Int,
    _ change: (inout EditShape) -> Void = { _ in }
  ) {
    var shape = EditShape.all(isLine: subject.isLine)[number]
    let environment = ProcessInfo.processInfo.environment
    for (name, key) in [(shape.name, "TABELLA_VIEW"), (subject.name, "TABELLA_SUBJECT")] {
      guard environment[key] == nil || environment[key] == name else { return }
    }
    change(&shape)
    var failures = 0
    for seed in 0..<UInt64(sequences) where failures < 3 {
      if !EditTrial.run(subject, shape, seed: seed) { failures += 1 }
    }
  }
}
