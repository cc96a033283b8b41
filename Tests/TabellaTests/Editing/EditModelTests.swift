import Tabella
import TabellaBridge
import Testing

import class Foundation.ProcessInfo

/// Random sequences of 20 batches against an array model, compared after each: in memory and through
/// the contract, as it is and in views. `make model` runs the full number.
@Suite struct EditModelTests {
  static let memory = EditSubject(name: "memory") { sections in
    let source = make(sections)
    return { source }
  }

  static let contract = EditSubject(name: "through the contract") { sections in
    let source = make(sections)
    return { try importSource(exportSource(source), provider: "test") }
  }

  static let shapes = EditShape.all()

  private static func make(_ sections: [EditModel.Section]) -> InMemorySource {
    InMemorySource(
      [Column("n", .integer), Column("kind"), Column("note")],
      sections: sections.map { ($0.title, nil, nil, $0.rows.map(\.cells)) })
  }

  /// TABELLA_VIEW names the only view to be tried.
  @Test(arguments: shapes.indices)
  func inMemory(_ shape: Int) {
    let only = ProcessInfo.processInfo.environment["TABELLA_VIEW"]
    guard only == nil || only == Self.shapes[shape].name else { return }
    run(Self.memory, Self.shapes[shape], EditSubject.sequences(40))
  }

  @Test(arguments: shapes.indices)
  func throughTheContract(_ shape: Int) {
    run(Self.contract, Self.shapes[shape], EditSubject.sequences(40) / 10)
  }

  /// Views of what came through the contract are the same; here the view itself goes through.
  @Test(arguments: shapes.indices)
  func viewsThroughTheContract(_ shape: Int) {
    var shape = Self.shapes[shape]
    let wrap = shape.wrap
    shape.name += ", through the contract"
    shape.wrap = { try importSource(exportSource(wrap($0)), provider: "view") }
    run(Self.memory, shape, EditSubject.sequences(40) / 10)
  }

  private func run(_ subject: EditSubject, _ shape: EditShape, _ sequences: Int) {
    var failures = 0
    for seed in 0..<UInt64(sequences) where failures < 3 {
      if !EditTrial.run(subject, shape, seed: seed) { failures += 1 }
    }
  }
}
