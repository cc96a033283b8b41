import CTabellaSystem
import Glibc
import Synchronization
import Tabella
import TabellaSystem
import TabellaThreads

/// Counts the apparent sizes of trees on all cores, as `du -sb` does.
///
/// A total is the sum of the sizes that `lstat` returns for a folder and for everything below it. Each inode of a tree
/// counts once. Symbolic links are not followed. Other file systems in the tree count, too.
///
/// A task is a folder, or some entries of a large one. The threads share a stack of tasks, so that few of them wait at a
/// time.
final class TreeCounter {
  /// The totals in the order of the trees, nil for a tree whose root cannot be read; and what they lack.
  struct Result {
    var totals: [Int64?]
    var problems: [Problem] = []
  }

  /// A folder or an entry that is not in its total.
  struct Problem {
    let what: ListingDiagnostics.What
    let path: [UInt8]
    let failure: Failure
  }

  /// The maximum length of a path that one call opens, in bytes. A path can be longer.
  private static let longestPath = 4000
  /// The number of entries of one folder that another thread can examine.
  private static let share = 2048
  /// The time between two signs of life, in seconds.
  private static let signInterval = 2.0

  /// An open folder. It stays open as long as tasks need it.
  private final class Base {
    let descriptor: Descriptor
    /// The path below the root of the listing, with a final slash; empty for the root.
    let path: [UInt8]
    private let counter: TreeCounter

    init(_ descriptor: consuming Descriptor, path: [UInt8], _ counter: TreeCounter) {
      self.descriptor = descriptor
      self.path = path
      self.counter = counter
      counter.open.add(1, ordering: .relaxed)
    }

    deinit { counter.open.subtract(1, ordering: .relaxed) }
  }

  /// A folder to read, or entries to examine.
  private struct Task {
    let tree: Int
    let base: Base
    /// The path of the folder below the base.
    var path: [UInt8] = []
    /// The entry of the listing, if the folder is the root of its tree.
    var root: Int?
    /// The names of entries of the base, each with a NUL; nil for a folder.
    var names: [CChar]?
  }

  /// An inode in one of the trees.
  private struct Inode: Hashable {
    let tree: Int
    let device: UInt64
    let number: UInt64

    init(tree: Int, _ status: tabella_status) {
      (self.tree, device, number) = (tree, status.device, status.inode)
    }
  }

  /// The result of one task.
  private struct Contents {
    var size: UInt64 = 0
    var folders: [[UInt8]] = []
    /// Files with several names. Another name can be in another folder.
    var linked: [(inode: Inode, size: UInt64)] = []
    var problems: [Problem] = []
  }

  private let root: Int32
  private let listing: Listing
  private let cancel: CancelFlag
  /// The number of open bases.
  private let open = Atomic(0)
  private let mostOpen: Int

  // The threads share these, and hold the lock while they use them.
  private let lock = Lock()
  private var waiting: [Task] = []
  /// The number of tasks that are being done.
  private var running = 0
  private var seen: Set<Inode> = []
  private var sums: [UInt64?] = []
  private var problems: [Problem] = []
  private var failure: Failure?
  private var nextSign = now() + TreeCounter.signInterval

  /// Borrows the descriptor of the root. Use a counter only once.
  init(root: Int32, _ listing: Listing, _ cancel: CancelFlag) {
    (self.root, self.listing, self.cancel) = (root, listing, cancel)
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    mostOpen = Int(min(limit.rlim_cur / 4, 256))
  }

  /// Counts the trees of some entries, which are folders. Throws if the whole call must end.
  func count(_ entries: [Int]) throws(Failure) -> Result {
    guard let descriptor = Descriptor(duplicating: root) else { throw Failure(errno) }
    let base = Base(descriptor, path: [], self)
    sums = entries.map { _ in nil }
    waiting = entries.enumerated().reversed().map { tree, entry in
      Task(tree: tree, base: base, path: listing.path(of: entry), root: entry)
    }
    inParallel(Cores.count) { _ in work() }
    // A base refers to its counter.
    waiting = []
    if let failure { throw failure }
    return Result(totals: sums.map { $0.map { Int64(clamping: $0) } }, problems: problems)
  }

  // Threads

  /// Does tasks until none is left.
  private func work() {
    var records = Records()
    lock.lock()
    defer { lock.unlock() }
    while true {
      while waiting.isEmpty, running > 0, failure == nil { lock.wait() }
      guard failure == nil, let task = waiting.popLast() else { break }
      giveSign()
      running += 1
      lock.unlock()
      let result = Swift.Result { () throws(Failure) in try contents(of: task, &records) }
      lock.lock()
      running -= 1
      switch result {
      case .success(let contents?): add(contents, of: task.tree)
      case .success(nil): break
      case .failure(let problem): note(problem, task)
      }
      lock.wakeAll()
    }
    lock.wakeAll()
  }

  private func add(_ contents: Contents, of tree: Int) {
    var size = contents.size
    for (inode, own) in contents.linked where seen.insert(inode).inserted {
      size = size.addingClamped(own)
    }
    sums[tree] = (sums[tree] ?? 0).addingClamped(size)
    problems += contents.problems
  }

  private func note(_ problem: Failure, _ folder: Task) {
    if problem.isOfCall {
      failure = failure ?? problem
    } else if folder.root != nil || problem != .vanished {
      // A folder that vanished below a root has no content anymore.
      problems.append(
        Problem(what: .uncountedFolder, path: folder.base.path + folder.path, failure: problem))
    }
  }

  /// Reads a byte now and then. To a host, a worker that only lists folders would seem to hang.
  private func giveSign() {
    guard now() > nextSign else { return }
    nextSign = now() + TreeCounter.signInterval
    giveSignOfLife()
  }

  // Folders

  /// Does a task. Returns nil for a folder that was read before.
  private func contents(of task: Task, _ records: inout Records) throws(Failure) -> Contents? {
    if cancel.isSet { throw .cancelled }
    guard let names = task.names else { return try read(task, &records) }
    var contents = Contents()
    examine(names, of: task, in: task.base, &contents)
    addTasks(for: contents.folders, in: task.base, task)
    return contents
  }

  /// Reads a folder, and adds tasks for the folders in it.
  private func read(_ folder: Task, _ records: inout Records) throws(Failure) -> Contents? {
    let opened = try openCountingRefused(folder)
    let status = try tabella_status(opened.raw)
    if let entry = folder.root {
      let parent = listing.folders[listing.folder(of: entry)]
      guard listing.isListed(entry, in: parent, status) else { throw .vanished }
    }
    // A mount can show one folder at several paths.
    guard isNew(status, folder.tree) else { return nil }
    var contents = Contents(size: status.size)
    let base = Base(opened, path: folder.base.path + folder.path + [UInt8(ascii: "/")], self)
    var (names, count) = ([] as [CChar], 0)
    while true {
      if cancel.isSet { throw .cancelled }
      records.count = 0
      do throws(Failure) {
        if try !records.read(base.descriptor.raw) { break }
      } catch {
        if error.isOfCall { throw error }
        contents.problems.append(
          Problem(what: .uncountedFolder, path: base.path, failure: error))
        break
      }
      records.forEach(from: 0) { record, name in
        let bytes = UnsafeBufferPointer(start: name, count: strlen(name) + 1)
        if bytes.elementsEqual([46, 0]) || bytes.elementsEqual([46, 46, 0]) { return }
        if EntryKind(type: records.type(record)) == .directory {
          contents.folders.append(bytes.dropLast().map { UInt8(bitPattern: $0) })
          return
        }
        names += bytes
        count += 1
        guard count == TreeCounter.share else { return }
        if !share(names, base, folder.tree) { examine(names, of: folder, in: base, &contents) }
        (names, count) = ([], 0)
      }
    }
    examine(names, of: folder, in: base, &contents)
    addTasks(for: contents.folders, in: base, folder)
    return contents
  }

  /// Lets another thread examine entries. Returns false if all threads have work.
  private func share(_ names: [CChar], _ base: Base, _ tree: Int) -> Bool {
    lock.lock()
    defer { lock.unlock() }
    guard running + waiting.count < Cores.count else { return false }
    waiting.append(Task(tree: tree, base: base, names: names))
    lock.wakeAll()
    return true
  }

  /// Adds entries of an open folder to its contents.
  private func examine(
    _ names: [CChar], of task: Task, in base: Base, _ contents: inout Contents
  ) {
    names.withUnsafeBufferPointer { names in
      var at = 0
      while at < names.count, let name = names.baseAddress.map({ $0 + at }) {
        let length = strlen(name)
        examine(name, length, task.tree, in: base, &contents)
        at += length + 1
      }
    }
  }

  private func examine(
    _ name: UnsafePointer<CChar>, _ length: Int, _ tree: Int, in base: Base,
    _ contents: inout Contents
  ) {
    var status = tabella_status()
    let result = tabella_system_status(base.descriptor.raw, name, &status)
    lazy var bytes = Array(UnsafeRawBufferPointer(start: name, count: length))
    if result < 0 {
      let failure = Failure(-result)
      // An entry that has vanished has no size anymore.
      if failure != .vanished {
        contents.problems.append(
          Problem(what: .uncountedEntry, path: base.path + bytes, failure: failure))
      }
    } else if EntryKind(mode: status.mode) == .directory {
      // The listing did not tell the kind.
      contents.folders.append(bytes)
    } else if status.links > 1 {
      contents.linked.append((Inode(tree: tree, status), status.size))
    } else {
      contents.size = contents.size.addingClamped(status.size)
    }
  }

  /// Adds tasks for folders in an open folder, which was found by a task.
  private func addTasks(for names: [[UInt8]], in base: Base, _ parent: Task) {
    if names.isEmpty { return }
    // If too many folders are open, this one is closed, and paths begin at one above it.
    let keeps = parent.names != nil || open.load(ordering: .relaxed) <= mostOpen
    let prefix = keeps ? [] : parent.path + [UInt8(ascii: "/")]
    lock.lock()
    for name in names.reversed() {
      waiting.append(
        Task(tree: parent.tree, base: keeps ? base : parent.base, path: prefix + name))
    }
    lock.wakeAll()
    lock.unlock()
  }

  /// Opens a folder. If it cannot be opened, its own size counts.
  private func openCountingRefused(_ folder: Task) throws(Failure) -> Descriptor {
    do throws(Failure) {
      return try descriptor(of: folder)
    } catch {
      if folder.root == nil, !error.isOfCall, error != .vanished { addOwnSize(of: folder) }
      throw error
    }
  }

  /// Opens a folder, in several steps if its path is too long for one.
  private func descriptor(of folder: Task) throws(Failure) -> Descriptor {
    var rest = folder.path[...]
    var last: Descriptor?
    while rest.count > TreeCounter.longestPath {
      // A name has at most 255 bytes, so there is a slash.
      let end =
        rest.prefix(TreeCounter.longestPath).lastIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
      let next = try descriptor(
        of: Array(rest[..<end]), in: last.raw < 0 ? folder.base.descriptor.raw : last.raw)
      last = consume next
      rest = rest[end...].dropFirst()
    }
    return try descriptor(
      of: Array(rest), in: last.raw < 0 ? folder.base.descriptor.raw : last.raw)
  }

  private func descriptor(of path: [UInt8], in directory: Int32) throws(Failure) -> Descriptor {
    try Descriptor(
      opened: path.withCString { tabella_system_open_directory(directory, $0, 0) })
  }

  /// Adds the size of a folder that cannot be read.
  private func addOwnSize(of folder: Task) {
    guard folder.path.count <= TreeCounter.longestPath,
      let status = try? tabella_status(folder.base.descriptor.raw, folder.path),
      isNew(status, folder.tree)
    else { return }
    lock.lock()
    add(Contents(size: status.size), of: folder.tree)
    lock.unlock()
  }

  /// Whether an inode was not seen in its tree before.
  private func isNew(_ status: tabella_status, _ tree: Int) -> Bool {
    lock.lock()
    defer { lock.unlock() }
    return seen.insert(Inode(tree: tree, status)).inserted
  }
}

extension UInt64 {
  /// The sum, or the largest number if the sum is too large: sparse files can claim any size.
  fileprivate func addingClamped(_ other: UInt64) -> UInt64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? .max : sum
  }
}
