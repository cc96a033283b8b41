@testable import Tabella

/// A view during edits: its construction, its content, and the translation of its edits into edits of the base table.
/// Everything is computed naively, as the reference for views.
struct EditShape: Sendable {
  enum Moves { case none, anywhere, elsewhere }

  var name: String
  var wrap: @Sendable (any TableDataSource) throws -> any TableDataSource
  var shown: @Sendable (EditModel) -> EditModel
  /// Translates edits of the shown table into edits of the base table. Returns nil if they must be refused.
  var translated: @Sendable ([EditModel.Edit], EditModel) -> [EditModel.Edit]?
  var moves = Moves.anywhere
  /// The number of sections of other tables that are shown in front.
  var offset = 0
  var hasSectionEdits = true

  static let plain: EditShape = EditShape(
    name: "plain", wrap: { $0 }, shown: { $0 }, translated: { edits, _ in edits })

  /// This view over another one.
  func over(_ inner: EditShape) -> EditShape {
    EditShape(
      name: "\(name) of \(inner.name)", wrap: { try wrap(inner.wrap($0)) },
      shown: { shown(inner.shown($0)) },
      translated: { edits, model in
        translated(edits, inner.shown(model)).flatMap { inner.translated($0, model) }
      },
      moves: moves == .none && inner.hasGroups
        ? .elsewhere : moves == .none || inner.moves == .none ? .none : inner.moves,
      offset: offset + inner.offset, hasSectionEdits: hasSectionEdits && inner.hasSectionEdits,
      hasGroups: hasGroups || inner.hasGroups)
  }

  var hasGroups = false

  // The views

  static func filtered(isLine: Bool) -> EditShape {
    let isA =
      isLine
      ? Condition(column: 0, comparison: .matches, value: Array("^a ".utf8))
      : Condition(column: EditModel.kind, comparison: .equal, value: Array("a".utf8))
    return EditShape(
      name: "filtered", wrap: { try $0.filtered(by: [isA]) }, shown: onlyA,
      translated: { edits, model in
        // A hidden row is not deleted.
        for case .deleteSection(let key) in edits
        where model.sections.first(where: { $0.key == key })!.rows.contains(where: {
          $0.kind != "a"
        }) {
          return nil
        }
        let after = onlyA(model).applying(edits)
        let arriving = Set(edits.compactMap(\.arrivingRow))
        let stays = onlyA(model).staying(edits)
        return model.landing(edits) { key, target in
          if stays.contains(key) { return model.path(of: key)! }
          // The next row that is shown and stays.
          let section = after.sections[target.section]
          let next = section.rows[target.row...].first {
            !arriving.contains($0.key) || stays.contains($0.key)
          }
          let old = model.sections.firstIndex { $0.key == section.key }!
          return next.map { model.path(of: $0.key)! }
            ?? IndexPath(section: old, row: model.sections[old].rows.count)
        }
      })
  }

  @Sendable private static func onlyA(_ model: EditModel) -> EditModel {
    var shown = model
    for section in shown.sections.indices {
      shown.sections[section].rows.removeAll { $0.kind != "a" }
    }
    return shown
  }

  /// Sorted by number, or by lines, which begin with kinds.
  static func sorted(isLine: Bool) -> EditShape {
    @Sendable func shown(_ model: EditModel) -> EditModel {
      var shown = model
      for section in shown.sections.indices {
        shown.sections[section].rows.sort {
          isLine && $0.kind != $1.kind
            ? $0.kind.description > $1.kind.description : $0.key > $1.key
        }
      }
      return shown
    }
    return EditShape(
      name: "sorted", wrap: { try $0.sorted(by: [SortDescriptor(column: 0, isDescending: true)]) },
      shown: shown,
      translated: { edits, model in
        let after = shown(model).applying(edits)
        return model.landing(edits) { key, target in
          let old = model.sections.firstIndex { $0.key == after.sections[target.section].key }!
          return IndexPath(section: old, row: model.sections[old].rows.count)
        }
      }, moves: .none)
  }

  /// Grouped by kind, or by the letter that lines begin with.
  static func grouped(isLine: Bool) -> EditShape {
    let grouping =
      isLine ? Grouping(column: 0, by: .letter) : Grouping(column: EditModel.kind, by: .value)
    @Sendable func shown(_ model: EditModel) -> EditModel {
      let kinds = Set(model.rows.map(\.kind))
      // The missing kind comes last.
      let order =
        kinds.subtracting([.missing]).sorted { $0.description < $1.description }
        + (kinds.contains(.missing) ? [.missing] : [])
      return EditModel(
        order.enumerated().map { number, kind in
          EditModel.Section(
            key: -1 - number, title: isLine ? kind.string?.uppercased() : kind.string,
            rows: model.rows.filter { $0.kind == kind })
        })
    }
    return EditShape(
      name: "grouped", wrap: { try $0.grouped(by: grouping) }, shown: shown,
      translated: { edits, model in
        regrouped(edits, model, shown(model), canChangeKind: !isLine)
      },
      hasSectionEdits: false, hasGroups: true)
  }

  private static func regrouped(
    _ edits: [EditModel.Edit], _ model: EditModel, _ before: EditModel, canChangeKind: Bool
  ) -> [EditModel.Edit]? {
    let after = before.applying(edits)
    var own: [EditModel.Edit] = []
    var moved: Set<Int> = []
    let arriving = Set(edits.compactMap(\.arrivingRow))
    for edit in edits {
      switch edit {
      case .move(let key, let target):
        guard before.path(of: key)!.section != target.section else {
          moved.insert(key)
          own.append(edit)
          continue
        }
        guard canChangeKind else { return nil }
        let kind = before.sections[target.section].rows[0].kind
        for case .set(key, let cells) in edits where cells[EditModel.kind] ?? kind != kind {
          return nil
        }
        own.append(.set(key, [EditModel.kind: kind]))
      case .insert(var row, let target):
        let kind = before.sections[target.section].rows[0].kind
        if row.leavesKindOut { row.kind = kind }
        guard row.kind == kind else { return nil }
        own.append(.insert(row, target))
      default: own.append(edit)
      }
    }
    // Within a group, rows keep the order of their sections.
    for section in after.sections {
      let settled = section.rows.filter { !arriving.contains($0.key) || moved.contains($0.key) }
      let sections = settled.map { model.path(of: $0.key)!.section }
      if sections != sections.sorted() { return nil }
    }
    let stays = before.staying(edits)
    return model.landing(own) { key, target in
      if stays.contains(key) { return model.path(of: key)! }
      guard moved.contains(key) else {
        let last = model.sections.count - 1
        return IndexPath(section: last, row: model.sections[last].rows.count)
      }
      let section = model.path(of: key)!.section
      let rows = after.sections[target.section].rows
      func place(_ row: EditModel.Row?) -> IndexPath? {
        row.flatMap { model.path(of: $0.key) }.flatMap { $0.section == section ? $0 : nil }
      }
      let gap = rows[target.row...].prefix { arriving.contains($0.key) }
      if let next = gap.first(where: { stays.contains($0.key) && place($0) != nil }) {
        return place(next)!
      }
      if let next = place(rows[target.row...].first { !arriving.contains($0.key) }) { return next }
      if let last = place(rows[..<target.row].last { !arriving.contains($0.key) }) {
        return IndexPath(section: section, row: last.row + 1)
      }
      // If no row of the group stays in the section, the position of its first row counts.
      let kind = model.sections[section].rows.first { $0.key == key }!.kind
      let first = model.sections[section].rows.firstIndex { $0.kind == kind }!
      return IndexPath(section: section, row: first)
    }
  }

  /// Joined after one table, or between two.
  static func joined(behind: Bool = false, isLine: Bool) -> EditShape {
    let row = EditModel.Row(key: 0, cells: [0, "other", "a"])
    @Sendable func other(_ title: String, _ key: Int) -> EditModel.Section {
      EditModel.Section(key: key, title: title, rows: [row])
    }
    return EditShape(
      name: behind ? "joined between" : "joined",
      wrap: { base in
        // The column may have another type than in the table itself.
        var columns = base.columns
        columns[0].type = isLine ? .text : .integer
        // An edit may change the text type of the base's columns, while this table stays the same.
        for column in columns.indices { columns[column].reads = nil }
        func table() -> InMemorySource {
          InMemorySource(
            columns, rows: [isLine ? [EditSubject.line(row.cells)] : row.cells],
            persistence: .byAuthor)
        }
        let sources: [(name: String, source: any TableDataSource)] = [
          ("x", table()), ("base", base),
        ]
        return Tabella.joined(behind ? sources + [("y", table())] : sources)
      },
      shown: { model in
        var sections = model.sections
        for section in sections.indices {
          sections[section].title = sections[section].title.map { "base: \($0)" } ?? "base"
        }
        return EditModel(
          [other("x", 1_000_000)] + sections + (behind ? [other("y", 1_000_001)] : []))
      },
      translated: { edits, _ in edits.map { $0.shifted(by: -1) } },
      offset: 1, hasSectionEdits: !behind)
  }

  /// All kinds of views, and some views of views, of tables with one column per cell or with one column.
  static func all(isLine: Bool) -> [EditShape] {
    let filtered = filtered(isLine: isLine)
    let (sorted, grouped) = (sorted(isLine: isLine), grouped(isLine: isLine))
    let joined = joined(isLine: isLine)
    return [
      plain, filtered, sorted, grouped, joined, EditShape.joined(behind: true, isLine: isLine),
      filtered.over(filtered), sorted.over(grouped), filtered.over(grouped), grouped.over(filtered),
      sorted.over(filtered), filtered.over(sorted), joined.over(filtered),
    ]
  }
}

extension EditModel.Edit {
  /// The row that the edit names.
  var row: Int? {
    switch self {
    case .insert(let row, _): row.key
    case .set(let key, _), .delete(let key), .move(let key, _): key
    case .insertSection, .deleteSection, .moveSection, .renameSection: nil
    }
  }

  /// The row that is inserted or moved.
  var arrivingRow: Int? {
    switch self {
    case .insert(let row, _): row.key
    case .move(let key, _): key
    default: nil
    }
  }

  /// The edit with its targets moved down by a number of sections.
  func shifted(by sections: Int) -> EditModel.Edit {
    func shifted(_ path: IndexPath) -> IndexPath {
      IndexPath(section: path.section + sections, row: path.row)
    }
    return switch self {
    case .insert(let row, let target): .insert(row, shifted(target))
    case .move(let key, let target): .move(key, shifted(target))
    case .insertSection(let section, let target): .insertSection(section, target + sections)
    case .moveSection(let key, let target): .moveSection(key, target + sections)
    case .set, .delete, .deleteSection, .renameSection: self
    }
  }
}

extension EditModel {
  /// The rows whose moves have no effect: they stay between the same rows, and in the same order.
  func staying(_ edits: [Edit]) -> Set<Int> {
    let after = applying(edits)
    var leaving: Set<Int> = []
    for edit in edits {
      if case .delete(let key) = edit { leaving.insert(key) }
      if case .move(let key, _) = edit { leaving.insert(key) }
    }
    let arriving = Set(edits.compactMap(\.arrivingRow))
    /// Rows that stay between the same two rows, in the new order.
    var between: [[Int?]: [(key: Int, place: IndexPath)]] = [:]
    for section in after.sections.indices {
      for (row, now) in after.sections[section].rows.enumerated() where arriving.contains(now.key) {
        guard let path = path(of: now.key),
          sections[path.section].key == after.sections[section].key
        else { continue }
        let (old, new) = (sections[path.section].rows, after.sections[section].rows)
        let neighbours = [
          old[..<path.row].last { !leaving.contains($0.key) }?.key,
          old[(path.row + 1)...].first { !leaving.contains($0.key) }?.key,
        ]
        guard
          neighbours == [
            new[..<row].last { !arriving.contains($0.key) }?.key,
            new[(row + 1)...].first { !arriving.contains($0.key) }?.key,
          ]
        else { continue }
        between[[section] + neighbours, default: []].append((now.key, path))
      }
    }
    return Set(
      between.values.flatMap { rows in
        longestIncreasing(rows.map { Int32($0.place.row) }).map { rows[$0].key }
      })
  }

  /// Gives the edits distinct targets. Each arriving row comes in front of the row in `before`, in the present
  /// numbering. Several rows for the same target keep the order of their former targets.
  func landing(
    _ edits: [Edit], before: (_ key: Int, _ target: IndexPath) -> IndexPath
  ) -> [Edit] {
    var arrivals: [(place: IndexPath, target: IndexPath, row: Row)] = []
    var gone: Set<Int> = []
    var rest: [Edit] = []
    for edit in edits {
      switch edit {
      case .insert(let row, let target): arrivals.append((before(row.key, target), target, row))
      case .move(let key, let target):
        let path = path(of: key)!
        arrivals.append(
          (before(key, target), target, sections[path.section].rows[path.row]))
        gone.insert(key)
      case .delete(let key): gone.insert(key)
      case .deleteSection, .insertSection, .moveSection, .renameSection: rest.append(edit)
      case .set: break
      }
    }
    arrivals.sort { $0.place == $1.place ? $0.target < $1.target : $0.place < $1.place }
    var after = self
    for section in sections.indices {
      after.sections[section].rows = []
      for row in 0...sections[section].rows.count {
        let path = IndexPath(section: section, row: row)
        after.sections[section].rows += arrivals.filter { $0.place == path }.map(\.row)
        if row < sections[section].rows.count, !gone.contains(sections[section].rows[row].key) {
          after.sections[section].rows.append(sections[section].rows[row])
        }
      }
    }
    after = after.applying(rest)
    return edits.map { edit in
      switch edit {
      case .insert(let row, _): .insert(row, after.path(of: row.key)!)
      case .move(let key, _): .move(key, after.path(of: key)!)
      default: edit
      }
    }
  }
}
