import Foundation
import Tabella
import Testing

@testable import TabellaDirectory
@testable import TabellaTestSupport

/// Random batches of all kinds, compared with a model of a tree. Each batch is refused without effect, or leads exactly
/// to the model's result, and can be undone.
@Suite struct DirectoryEditModelTests {
  /// An entry of the model. The object stays the same when the entry is renamed.
  final class Node {
    var entry: FileTree.Entry
    var children: [[UInt8]: Node] = [:]
    /// Whether the batch created it, so that its inode and time are unknown.
    var isNew = false
    unowned var parent: Node?

    init(_ entry: FileTree.Entry) { self.entry = entry }

    var isFolder: Bool { entry.kind == S_IFDIR }
    var name: [UInt8] { parent?.children.first { $0.value === self }?.key ?? [] }

    /// The entry itself and the folders that contain it.
    var line: [Node] { [self] + (parent?.line ?? []) }

    var path: [UInt8] {
      guard let parent else { return [] }
      return parent.path + (parent.parent == nil ? [] : [47]) + name
    }
  }

  private static let root = FileTree.Entry(inode: 0, mode: S_IFDIR, size: 0, modified: [])

  private static func model(_ tree: FileTree) -> Node {
    let root = Node(root)
    for (path, entry) in tree.entries.sorted(by: { $0.key.count < $1.key.count }) {
      var parent = root
      let parts = path.split(separator: 47).map { Array($0) }
      for part in parts.dropLast() { parent = parent.children[part]! }
      let node = Node(entry)
      node.parent = parent
      parent.children[parts.last!] = node
    }
    return root
  }

  /// A batch, and the model's result: nil if the batch breaks a rule.
  private struct Round {
    var edits: [EditBatch.Edit] = []
    var deleted: [Node] = []
    var moved: [(node: Node, folder: Node)] = []
    var renamed: [(node: Node, name: [UInt8])] = []
    var modes: [(node: Node, mode: UInt32)] = []
    var times: [(node: Node, seconds: Int)] = []
    var created: [(folder: Node, name: [UInt8], mode: UInt32)] = []
    /// Whether folders are edited as sections, so that nothing may be put into sections.
    var hasSectionEdits = false
    var hasTargets = false

    func isLegal() -> Bool {
      if hasSectionEdits && hasTargets { return false }
      let changed = moved.map(\.node) + renamed.map(\.node) + modes.map(\.node) + times.map(\.node)
      let gone = Set(deleted.map { ObjectIdentifier($0) })
      func isIn(_ nodes: Set<ObjectIdentifier>, _ line: [Node]) -> Bool {
        line.contains { nodes.contains(ObjectIdentifier($0)) }
      }
      if changed.contains(where: { isIn(gone, $0.line) }) { return false }
      if (moved.map(\.folder) + created.map(\.folder)).contains(where: { isIn(gone, $0.line) }) {
        return false
      }
      let movedFolders = Set(moved.filter { $0.node.isFolder }.map { ObjectIdentifier($0.node) })
      if moved.contains(where: { $0.node.isFolder && isIn(movedFolders, $0.folder.line) }) {
        return false
      }
      if modes.contains(where: {
        $0.node.entry.kind == S_IFLNK && $0.node.entry.mode & 0o7777 != $0.mode
      }) {
        return false
      }
      return true
    }

    /// Changes the model. Returns false if two entries get one name.
    func apply() -> Bool {
      var arrivals: [(Node, [UInt8], Node)] = []
      let newNames = Dictionary(
        renamed.map { (ObjectIdentifier($0.node), $0.name) }, uniquingKeysWith: { $1 })
      let newFolders = Dictionary(
        moved.map { (ObjectIdentifier($0.node), $0.folder) }, uniquingKeysWith: { $1 })
      var seen: Set<ObjectIdentifier> = []
      for node in moved.map(\.node) + renamed.map(\.node)
      where seen.insert(ObjectIdentifier(node)).inserted {
        let id = ObjectIdentifier(node)
        arrivals.append((newFolders[id] ?? node.parent!, newNames[id] ?? node.name, node))
      }
      for node in deleted { node.parent!.children[node.name] = nil }
      for (_, _, node) in arrivals { node.parent!.children[node.name] = nil }
      for (folder, name, mode) in created {
        let node = Node(FileTree.Entry(inode: 0, mode: mode, size: 0, modified: []))
        node.isNew = true
        arrivals.append((folder, name, node))
      }
      for (folder, name, node) in arrivals {
        if folder.children.updateValue(node, forKey: name) != nil { return false }
        node.parent = folder
      }
      for (node, mode) in modes { node.entry.mode = node.entry.kind | mode }
      for (node, seconds) in times { node.entry.modified = [seconds, 500] }
      return true
    }
  }

  private static func compare(_ model: Node, _ tree: FileTree) -> String? {
    var count = 0
    var difference: String?
    func visit(_ node: Node, _ prefix: [UInt8]) {
      for (name, child) in node.children {
        count += 1
        let path = prefix + name
        let text = String(decoding: path, as: UTF8.self)
        guard var found = tree.entries[path] else {
          difference = "\(text) is not there"
          return
        }
        if child.isNew {
          found = FileTree.Entry(inode: 0, mode: found.mode, size: 0, modified: [])
        }
        if found != child.entry { difference = "\(text) is \(found), not \(child.entry)" }
        visit(child, path + [47])
      }
    }
    visit(model, [])
    return difference ?? (count == tree.entries.count ? nil : "\(tree.entries.count), not \(count)")
  }

  private static let letters: [[UInt8]] = [
    [97], [98], [99], [66], [32], [0xFF], [45, 45], [37], [10], [27], [0xC3, 0xA9], [46, 120],
  ]

  private static func grow(_ tree: EditedTree, _ generator: inout SeededGenerator) {
    var folders: [[UInt8]] = [[]]
    for _ in 0..<Int.random(in: 3...18, using: &generator) {
      let path =
        folders.randomElement(using: &generator)! + letters.randomElement(using: &generator)!
      var status = stat()
      if withPath(Array(tree.root.utf8) + [47] + path, { lstat($0, &status) }) == 0 { continue }
      switch Int.random(in: 0..<6, using: &generator) {
      case 0...1:
        tree.make(path + [47])
        folders.append(path + [47])
      case 2: #expect(withPath(Array(tree.root.utf8) + [47] + path) { symlink("x", $0) } == 0)
      default: tree.make(path, String(repeating: "x", count: path.count))
      }
    }
  }

  /// Draws a batch over the rows of a source.
  private static func draw(
    _ source: DirectorySource, _ root: Node, sections: Bool, _ generator: inout SeededGenerator
  ) throws -> Round {
    var rows: [(path: Tabella.IndexPath, id: String, node: Node)] = []
    var folders: [Node] = []
    func node(_ path: [UInt8]) -> Node {
      path.split(separator: 47).reduce(root) { $0.children[Array($1)]! }
    }
    for section in 0..<(try source.numberOfSections(knowing: .max).value) {
      let count = try source.exactNumberOfRows(inSection: section)
      let batch = try source.rows(
        RowRequest(
          section: section, first: 0, count: max(1, count), columns: [0], includesIDs: true))
      let number = sections ? try source.folder(ofSection: section) : 0
      let folder = node(source.listing.path(ofFolder: number))
      folders.append(folder)
      for row in 0..<count {
        guard case .text(let name) = batch.row(row)[0] else { continue }
        rows.append(
          (
            IndexPath(section: section, row: row), batch.id(row)!,
            sections ? folder.children[name]! : node(name)
          ))
      }
    }
    var round = Round()
    var used: Set<ObjectIdentifier> = []
    var settings: Set<ObjectIdentifier> = []
    func reference(_ row: (path: Tabella.IndexPath, id: String, node: Node)) -> RowReference {
      Bool.random(using: &generator) ? .path(row.path) : .id(row.id)
    }
    func value(_ node: Node, _ name: [UInt8]) -> Cell {
      .text(sections ? name : Array(node.path.dropLast(node.name.count)) + name)
    }
    if sections, Int.random(in: 0..<3, using: &generator) == 0 {
      drawSectionEdits(folders, &round, &generator)
      for node in round.deleted + round.renamed.map(\.node) {
        used.insert(ObjectIdentifier(node))
        settings.insert(ObjectIdentifier(node))
      }
    }
    for _ in 0..<Int.random(in: 1...6, using: &generator) {
      guard let row = rows.randomElement(using: &generator) else { break }
      let isFresh = !used.contains(ObjectIdentifier(row.node))
      switch Int.random(in: 0..<9, using: &generator) {
      case 0 where isFresh && !settings.contains(ObjectIdentifier(row.node)):
        used.insert(ObjectIdentifier(row.node))
        round.edits.append(.delete(reference(row)))
        round.deleted.append(row.node)
      case 1, 2:
        // Names within a folder are permuted, all of them or some.
        let siblings = rows.filter {
          $0.node.parent === row.node.parent && !used.contains(ObjectIdentifier($0.node))
        }.shuffled(using: &generator).prefix(Int.random(in: 1...4, using: &generator))
        let names = siblings.map { $0.node.name }.shuffled(using: &generator)
        for (sibling, name) in zip(siblings, names) {
          used.insert(ObjectIdentifier(sibling.node))
          round.edits.append(.set(reference(sibling), cells: [0: value(sibling.node, name)]))
          round.renamed.append((sibling.node, name))
        }
      case 3 where isFresh:
        used.insert(ObjectIdentifier(row.node))
        let name =
          letters.randomElement(using: &generator)! + (Bool.random(using: &generator) ? [122] : [])
        round.edits.append(.set(reference(row), cells: [0: value(row.node, name)]))
        round.renamed.append((row.node, name))
      case 4 where isFresh && !sections:
        // In a tree, the path names the folder, which may be empty.
        let all = [root] + rows.map(\.node).filter(\.isFolder)
        let folder = all.randomElement(using: &generator)!
        guard folder !== row.node.parent else { continue }
        used.insert(ObjectIdentifier(row.node))
        let name =
          Bool.random(using: &generator)
          ? row.node.name : letters.randomElement(using: &generator)!
        let path = (folder === root ? [] : folder.path + [47]) + name
        round.edits.append(.set(reference(row), cells: [0: .text(path)]))
        round.renamed.append((row.node, name))
        round.moved.append((row.node, folder))
      case 4 where isFresh:
        let section = folders.indices.randomElement(using: &generator)!
        guard folders[section] !== row.node.parent else { continue }
        used.insert(ObjectIdentifier(row.node))
        round.edits.append(.move(reference(row), to: IndexPath(section: section, row: 0)))
        round.hasTargets = true
        round.moved.append((row.node, folders[section]))
      case 5
      where !round.deleted.contains { $0 === row.node }
        && settings.insert(ObjectIdentifier(row.node)).inserted:
        let mode: UInt32 = [0o755, 0o700, 0o1777, 0o2750].randomElement(using: &generator)!
        let text =
          Bool.random(using: &generator)
          ? "0" + String(mode, radix: 8).suffix(3)
          : permissionText(mode)
        let wanted = text.utf8.count == 4 ? mode & 0o777 : mode
        round.edits.append(.set(reference(row), cells: [4: .text(text)]))
        round.modes.append((row.node, wanted))
      case 6
      where !round.deleted.contains { $0 === row.node }
        && settings.insert(ObjectIdentifier(row.node)).inserted:
        let seconds = Int.random(in: 1000...2_000_000_000, using: &generator)
        round.edits.append(
          .set(
            reference(row),
            cells: [3: .date(Timestamp(seconds: Int64(seconds), nanoseconds: 500)!)]))
        round.times.append((row.node, seconds))
      case 7:
        let name = letters.randomElement(using: &generator)! + [110]
        let kind = Int.random(in: 0..<3, using: &generator)
        let section = folders.indices.randomElement(using: &generator)!
        var cells: [Int: Cell] = [0: .text(name)]
        if kind > 0 || Bool.random(using: &generator) {
          cells[1] = .text(["file", "directory", "link"][kind])
        }
        if kind == 2 { cells[8] = "to" }
        if kind < 2 { cells[4] = "640" }
        round.edits.append(.insert(at: IndexPath(section: section, row: 0), cells: cells))
        round.hasTargets = true
        round.created.append(
          (folders[section], name, [S_IFREG | 0o640, S_IFDIR | 0o640, S_IFLNK | 0o777][kind]))
      default: continue
      }
    }
    return round
  }

  /// The mode bits that a new folder does not get. Calling umask would change it for a moment.
  private static let mask: UInt32 = {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("Umask:") }
    return line.flatMap { UInt32($0.split(separator: "\t")[1], radix: 8) } ?? 0o022
  }()

  /// Draws creations, renames and deletions of folders as sections, if their paths are text.
  private static func drawSectionEdits(
    _ folders: [Node], _ round: inout Round, _ generator: inout SeededGenerator
  ) {
    var rest = Array(folders.enumerated()).filter { _, node in
      String(validating: node.path, as: UTF8.self) != nil
    }.shuffled(using: &generator)
    func title(_ folder: Node, _ name: String) -> String {
      folder.parent == nil ? name : String(decoding: folder.path, as: UTF8.self) + "/" + name
    }
    for _ in 0..<Int.random(in: 1...2, using: &generator) {
      guard let (section, folder) = rest.popLast() else { return }
      let name = ["a", "é", "n 1", "b"].randomElement(using: &generator)!
      switch Int.random(in: 0..<3, using: &generator) {
      case 0:
        let place = Int.random(in: 0...folders.count, using: &generator)
        round.edits.append(.insertSection(at: place, title: title(folder, name)))
        round.created.append((folder, Array(name.utf8), S_IFDIR | (0o777 & ~mask)))
      case 1:
        guard let parent = folder.parent else { continue }
        round.edits.append(.renameSection(section, title: title(parent, name)))
        round.renamed.append((folder, Array(name.utf8)))
      default:
        guard folder.parent != nil else { continue }
        round.edits.append(.deleteSection(section))
        round.deleted.append(folder)
      }
      round.hasSectionEdits = true
    }
  }

  private static func permissionText(_ mode: UInt32) -> String {
    let shown = permissions(mode)
    return String(decoding: shown.indices.map { shown[$0] }, as: UTF8.self)
  }

  @Test(arguments: sample(4, of: 0..<12))
  func batchesDoWhatTheModelSays(_ run: Int) throws {
    var (done, refused) = (0, 0)
    for seed in (10 * run)..<(10 * run + 10) { try runSeed(seed, &done, &refused) }
    // Both kinds of outcomes occur.
    #expect(done >= 15 && refused >= 5, "\(done) done, \(refused) refused")
  }

  private func runSeed(_ seed: Int, _ done: inout Int, _ refused: inout Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let tree = EditedTree()
    Self.grow(tree, &generator)
    let sections = seed % 3 > 0
    let source = try tree.open(nil) {
      $0.showsHidden = true
      $0.isRecursive = true
      $0.hasSections = sections
    }
    for round in 0..<5 {
      let before = tree.snapshot()
      let model = Self.model(before)
      let drawn = try Self.draw(source, model, sections: sections, &generator)
      let isLegal = drawn.isLegal() && drawn.apply()
      let version = try #require(try source.version())
      let comment: Comment = "seed \(seed), round \(round): \(drawn.edits)\n\(before)"

      // A dry run decides the same and does nothing.
      let dry = Result {
        try source.commit(EditBatch(drawn.edits, version: version, isDryRun: true))
      }
      #expect(((try? dry.get()) != nil) == isLegal, comment)
      #expect(tree.snapshot() == before, comment)
      #expect(try source.version() == version, comment)

      guard isLegal else {
        refused += 1
        #expect(throws: TableError.self, comment) { try source.commit(EditBatch(drawn.edits)) }
        #expect(tree.snapshot() == before, comment)
        continue
      }
      done += 1
      let result = try source.commit(EditBatch(drawn.edits, version: version))
      #expect(result.outcomes.allSatisfy { $0.code == nil }, "\(result.outcomes) \(comment)")
      let after = tree.snapshot()
      #expect(Self.compare(model, after) == nil, comment)
      #expect(try source.version() == result.changes.to, comment)
      let fresh = try tree.open(nil) { $0 = source.settings }
      #expect(try fresh.version() == result.changes.to, comment)
      for outcome in result.outcomes {
        if let id = outcome.id { #expect(throws: Never.self) { try source.indexPath(forID: id) } }
      }

      guard let receipt = result.receipt else {
        #expect(after == before, comment)
        continue
      }
      if Bool.random(using: &generator) { continue }
      // In a later process, after any renames.
      let later = try tree.open(nil) { $0.trash = source.settings.trash }
      let dryUndo = try later.undo(receipt, isDryRun: true)
      #expect(dryUndo.outcomes.map(\.code) == [nil])
      #expect(tree.snapshot() == after, comment)
      let undone = try later.undo(receipt, isDryRun: false)
      #expect(undone.outcomes.map(\.code) == [nil], "\(undone.outcomes) \(comment)")
      #expect(tree.snapshot() == before, comment)
      #expect(try later.version() == undone.changes.to)
      // An undone batch cannot be undone again.
      #expect(throws: TableError.self, comment) { try later.undo(receipt, isDryRun: false) }
      #expect(tree.snapshot() == before, comment)
      source.reload()
    }
  }
}
