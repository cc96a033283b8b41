import CTabellaSystem
import Glibc
import TabellaAsync
import TabellaProviders
import TabellaSystem
import TabellaThreads

// Opens and closes in great numbers. The file has the columns `name`, `city` and `born`, and four rows.

private struct Person: Decodable {
  var name: String
  var city: String?
  var born: Int?
}

/// Opens, shapes, reads, decodes, edits and follows a file, and closes everything.
private func cycle(_ host: Host, _ path: String, _ number: Int) throws {
  let table = try host.open(Location(path))
  let view = try table.shaped(filter: "city = Rome", sectionBy: "born")
  let names = try table.decode(Person.self).map(\.name)
  var rows = try table.rows(forEditing: true)
  guard names.count == 4, names.first == "Ada", try view.allSections().count == 2,
    let first = try rows.next()
  else { throw TableError(.internal, "other rows: \(names)") }
  if number % 8 == 1 {
    var edits = table.edits()
    try edits.delete(first)
    try edits.insert(["name": "Eve", "born": 1990])
    _ = try edits.commit(isDryRun: true)
  }
  if number % 8 == 2 {
    let wrong = Result { try table.rows(columns: ["none"]) }
    guard case .failure = wrong else { throw TableError(.internal, "there is a column none") }
  }
  if number % 16 == 3 {
    let follower = try TableFollower(view.source)
    try follower.listen {}
    guard try follower.pull().list.isEmpty else { throw TableError(.internal, "a change") }
    try follower.listen(nil)
  }
}

/// Openings and closings leave neither memory nor descriptors. A leak of one allocation per cycle is at least 16,000
/// bytes.
func cycles(_ path: String) throws {
  let host = Words.host()
  for number in 0..<200 { try cycle(host, path, number) }
  let (bytes, files) = (heap(), openFiles())
  for number in 0..<1000 { try cycle(host, path, number) }
  try check(heap() - bytes, openFiles() - files)
  // Each provider that a host opens stays until the process ends.
  for number in 0..<50 { try cycle(Words.host(), path, number) }
  let before = heap()
  for number in 0..<200 { try cycle(Words.host(), path, number) }
  try check(heap() - before - 200 * 5000, openFiles() - files)
}

private func heap() -> Int { Int(tabella_system_heap_in_use()) }

private func openFiles() -> Int {
  guard let folder = opendir("/proc/self/fd") else { return -1 }
  defer { closedir(folder) }
  var count = 0
  while readdir(folder) != nil { count += 1 }
  return count
}

private func check(_ bytes: Int, _ files: Int) throws(TableError) {
  guard bytes < 16_000, files == 0 else {
    throw TableError(.internal, "\(bytes) bytes and \(files) descriptors are left")
  }
}

/// Tables and sequences of an actor leave nothing. Eight tasks use them at the same time.
func asyncCycles(_ path: String) -> Never {
  Task.detached {
    do {
      let host = try HostActor(Words.host())
      // The threads of all tasks, and the allocator's caches of each thread, reach their final size.
      for number in 0..<250 { try await tasks(host, path, number) }
      try await Task.sleep(for: .milliseconds(200))
      let (bytes, files) = (heap(), openFiles())
      for number in 0..<250 { try await tasks(host, path, number) }
      // A task can release its last table after its end.
      for _ in 0..<200 where heap() - bytes >= 16_000 || openFiles() != files {
        try await Task.sleep(for: .milliseconds(10))
      }
      try check(heap() - bytes, openFiles() - files)
      exit(0)
    } catch {
      fail((error as? TableError)?.code ?? .internal, "\(error)")
    }
  }
  while true { pause() }
}

private func tasks(_ host: HostActor, _ path: String, _ number: Int) async throws {
  try await withThrowingTaskGroup(of: Void.self) { group in
    for task in 0..<8 {
      group.addTask {
        let table = try await host.open(Location(path))
        guard try await table.shaped(filter: "city = Rome").decode(Person.self).count == 2 else {
          throw TableError(.internal, "other rows")
        }
        if task == number % 8 {
          let changes = try await table.changes()
          let following = Task { for try await _ in changes {} }
          following.cancel()
          try await following.value
        }
      }
    }
    try await group.waitForAll()
  }
  try await host.run { try cycle($0, path, number) }
}

/// Eight threads with hosts of their own.
func threads(_ path: String) throws {
  nonisolated(unsafe) var failures = [(any Error)?](repeating: nil, count: 8)
  let all = (0..<8).map { thread in
    SystemThread {
      let host = Words.host()
      do { for number in 0..<125 { try cycle(host, path, number) } } catch {
        failures[thread] = error
      }
    }
  }
  for thread in all { thread?.join() }
  guard all.allSatisfy({ $0 != nil }) else { throw TableError(.io, "no thread can be started") }
  for case let failure? in failures { throw failure }
}

/// Eight children that were forked before the first use. Swift has no `fork`, but C code in the same program can call it.
func forks(_ path: String) {
  typealias Fork = @convention(c) () -> pid_t
  let fork = unsafeBitCast(dlsym(nil, "fork"), to: Fork.self)
  let children = (0..<8).map { _ in
    let child = fork()
    if child == 0 {
      let host = Words.host()
      for number in 0..<125 {
        do { try cycle(host, path, number) } catch { _exit(1) }
      }
      _exit(0)
    }
    return child
  }
  for child in children {
    var status: Int32 = 0
    guard child > 0, waitpid(child, &status, 0) == child, status == 0 else {
      fail(.internal, "child \(child) ended with \(status)")
    }
  }
}
