import CTabellaSystem
import Glibc
import TabellaFiles
import TabellaSystem

/// Read-only mounts that protect system files from a worker of root that may edit.
///
/// Attributes such as modes change through a descriptor. seccomp cannot tell descriptors apart, and Landlock has no
/// right for them. Other users do not own system files. For root, the worker mounts them read-only in its own mount
/// namespace.
enum SystemMounts {
  /// Whether the worker needs these mounts.
  private static func isNeeded(_ rules: WorkerRules) -> Bool {
    rules.allowsChanges && geteuid() == 0
  }

  /// Mounts readable but not writable paths again, read-only. Returns a sentence for the report if that fails.
  static func protect(_ readable: [[UInt8]], _ rules: WorkerRules) -> String? {
    guard isNeeded(rules) else { return nil }
    // A mount namespace belongs to one thread, and signal handlers of other threads could avoid it.
    guard tabella_system_thread_count(getpid()) == 1 else {
      return lacking("a single thread at the start")
    }
    var result = tabella_own_mounts()
    guard result != -EINVAL else {
      return lacking(
        "the root directory is not a mount point; mount it on itself, as with mount --bind, before chroot"
      )
    }
    for path in places(readable, rules) where result == 0 {
      result = path.withCString { tabella_mount_read_only($0) }
    }
    guard result == 0 else { return lacking(errorText(-result)) }
    reopenNull()
    return nil
  }

  private static func lacking(_ why: String) -> String {
    "private mounts (\(why)): root can change modes, owners and times of system files"
  }

  /// The outermost real paths that neither contain a writable path nor lie in one.
  private static func places(_ readable: [[UInt8]], _ rules: WorkerRules) -> [[UInt8]] {
    let written = (rules.writable + rules.saving).map(\.path)
    var places: [[UInt8]] = []
    // Sorted by length, so that a folder precedes its content.
    for path in readable.compactMap(realPath).sorted(by: { $0.count < $1.count })
    where !isOfProcess(path) && !places.contains(where: { isBelow(path, $0) }) {
      guard !written.contains(where: { isBelow($0, path) || isBelow(path, $0) }) else { continue }
      places.append(path)
    }
    return places
  }

  /// Whether a path is `/proc` or the folder of a process. Their files need no protection.
  private static func isOfProcess(_ path: [UInt8]) -> Bool {
    let steps = path.split(separator: UInt8(ascii: "/"))
    return steps.first.map(Array.init) == Array("proc".utf8)
      && (steps.count == 1 || steps[1].allSatisfy { 0x30...0x39 ~= $0 })
  }

  /// Whether a path is equal to another one or below it.
  private static func isBelow(_ path: [UInt8], _ other: [UInt8]) -> Bool {
    guard other != [UInt8(ascii: "/")] else { return true }
    return path == other || path.starts(with: other + [UInt8(ascii: "/")])
  }

  /// Opens `/dev/null` again as standard input, because the old descriptor bypasses the new mounts.
  private static func reopenNull() {
    guard let input = stat(of: 0), let null = stat(at: "/dev/null"),
      input.st_rdev == null.st_rdev, input.kind == S_IFCHR,
      let new = Descriptor(opening: "/dev/null", O_RDONLY)
    else { return }
    dup2(new.raw, 0)
  }
}
