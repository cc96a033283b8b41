import Tabella

/// The processes that a deletion never signals: process 1, this process and its ancestors.
struct Protection {
  private let own: Int32
  private let ancestors: Set<Int32>

  init(_ procfs: Procfs) throws(TableError) {
    own = try procfs.ownPID()
    var ancestors: Set<Int32> = []
    var pid = own
    while let folder = try ProcessFolder(pid, in: procfs),
      let stat = try folder.withContents(of: "stat", { StatLine($0) }),
      let parent = Int32(exactly: stat.parent), parent > 0, ancestors.insert(parent).inserted
    {
      pid = parent
    }
    self.ancestors = ancestors
  }

  /// The reason why a process is protected; nil if it is not.
  func reason(_ pid: Int32) -> String? {
    if pid == 1 { return "process 1 is the init process, which gets no signals from tabella" }
    if pid == own { return "process \(pid) is tabella itself, which gets no signals from tabella" }
    return ancestors.contains(pid)
      ? "process \(pid) is an ancestor of tabella, which gets no signals from tabella" : nil
  }
}
