import Tabella

// Changes and edits. Each end keeps the listener of `listen` for itself.

extension Calls {
  static let pull = Call<ChangeBatch>(
    .pull, mayChangeColumns: true, answered: \.traced,
    make: {
      source throws(TableError) in try ability(source.changes).pull()
    })

  static let editability = Call<WireBytes, Range<Int>, Int>(
    .editability, asked: tracedRange, answered: \.tracedAnswers,
    make: { source, rows, section throws(TableError) in
      WireBytes(
        try ability(source.editing).editability(ofRows: rows, inSection: section).map(\.rawValue))
    })

  static let editableColumns = Call<[Bool]?>(
    .editableColumns, answered: { $0.map { "\($0.count { $0 })" } ?? "all" },
    make: { source throws(TableError) in try ability(source.editing).editableColumns() })

  static let commit = Call<EditResult, EditBatch>(
    .commit, mayChangeColumns: true, asked: { $0.traced }, answered: \.traced,
    make: { source, batch throws(TableError) in try ability(source.editing).commit(batch) })

  static let sectionEditability = Call<WireBytes, Range<Int>>(
    .sectionEditability, asked: { "\($0.lowerBound) to \($0.upperBound)" },
    answered: \.tracedAnswers,
    make: { source, sections throws(TableError) in
      WireBytes(
        try ability(source.sectionEditing).editability(ofSections: sections).map(\.rawValue))
    })

  static let canInsertSections = Call<Bool>(
    .canInsertSections, answered: { $0 ? "yes" : "no" },
    make: { source throws(TableError) in try ability(source.sectionEditing).canInsertSections() })

  static let movability = Call<WireBytes, Range<Int>, Int>(
    .movability, asked: tracedRange, answered: \.tracedAnswers,
    make: { source, rows, section throws(TableError) in
      WireBytes(
        try ability(source.moving).movability(ofRows: rows, inSection: section).map { $0 ? 1 : 0 })
    })

  static let target = Call<IndexPath, IndexPath, IndexPath>(
    .target, asked: { "\($0) to \($1)" },
    make: { source, from, proposed throws(TableError) in
      try ability(source.moving).target(ofMoveFrom: from, to: proposed)
    })

  static let undo = Call<EditResult, WireBytes, Bool>(
    .undo, mayChangeColumns: true,
    asked: { "a receipt of \($0.bytes.count) bytes\($1 ? ", dry run" : "")" }, answered: \.traced,
    make: { source, receipt, isDryRun throws(TableError) in
      try ability(source.undoing).undo(receipt.bytes, isDryRun: isDryRun)
    })
}

extension ForwardingSource {
  package func pull() throws(TableError) -> ChangeBatch { try call(Calls.pull) }

  package func editability(
    ofRows rows: Range<Int>, inSection section: Int
  ) throws(TableError) -> [RowEditability] {
    try call(Calls.editability, rows, section).bytes.map { RowEditability(rawValue: $0) }
  }

  package func editableColumns() throws(TableError) -> [Bool]? { try call(Calls.editableColumns) }

  package func commit(_ batch: EditBatch) throws(TableError) -> EditResult {
    try call(Calls.commit, batch)
  }

  package func editability(
    ofSections sections: Range<Int>
  ) throws(TableError) -> [SectionEditability] {
    try call(Calls.sectionEditability, sections).bytes.map { SectionEditability(rawValue: $0) }
  }

  package func canInsertSections() throws(TableError) -> Bool {
    try call(Calls.canInsertSections)
  }

  package func movability(
    ofRows rows: Range<Int>, inSection section: Int
  ) throws(TableError) -> [Bool] {
    try call(Calls.movability, rows, section).bytes.map { $0 != 0 }
  }

  package func target(
    ofMoveFrom source: IndexPath, to proposed: IndexPath
  ) throws(TableError) -> IndexPath { try call(Calls.target, source, proposed) }

  package func undo(_ receipt: [UInt8], isDryRun: Bool) throws(TableError) -> EditResult {
    try call(Calls.undo, WireBytes(receipt), isDryRun)
  }
}

extension WireBytes {
  /// How many of the answers are not 0.
  fileprivate var tracedAnswers: String { "\(bytes.count { $0 != 0 }) of \(bytes.count)" }
}
