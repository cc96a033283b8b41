import CTabellaSystem
import Tabella

/// An act that a confined process tried and that the kernel refused.
///
/// The process itself reports it, and a hostile process can hide or invent reports. So it helps authors and users, but
/// proves nothing.
package struct Denial: Hashable, Sendable {
  /// The number of the system call on this machine.
  package var call: UInt32
  /// The error of the call: usually `EACCES` from Landlock or `EPERM` from seccomp.
  package var error: Int32
  /// The first three arguments.
  package var arguments: [UInt64]
  /// The paths among the arguments. They are absolute if possible.
  package var paths: [[UInt8]]
  /// Whether the permissions of the file deny the access, too. Then it would fail in any process of this user.
  package var isByMode: Bool
  /// Whether this process reports no further denials.
  package var isLast: Bool

  /// Decodes a record without its prefix. Returns nil if it is malformed.
  package init?(_ record: UnsafeRawBufferPointer) {
    let head = MemoryLayout<tabella_denial>.size
    guard record.count >= head else { return nil }
    let denial = record.loadUnaligned(as: tabella_denial.self)
    let rest = record.dropFirst(head)
    guard rest.count == Int(denial.path_size) else { return nil }
    call = denial.call
    error = denial.error
    arguments = [denial.arguments.0, denial.arguments.1, denial.arguments.2]
    paths =
      rest.isEmpty ? [] : rest.split(separator: 0, omittingEmptySubsequences: false).map(Array.init)
    isByMode = denial.flags & UInt32(TABELLA_DENIAL_BY_MODE) != 0
    isLast = denial.flags & UInt32(TABELLA_DENIAL_LAST) != 0
  }

  /// The name of the system call, or its number if this build does not know the call.
  package var name: String {
    tabella_call_name(call).map { String(cString: $0) } ?? "\(call)"
  }
}

extension Denial: CustomStringConvertible {
  /// The denied act as text for people, such as `reading /etc/shadow`. Paths may contain any bytes, so make the text
  /// safe before you show it.
  package var description: String {
    let names = paths.map { String(decoding: $0, as: UTF8.self) }
    let first = names.first ?? "a file"
    switch name {
    case "open", "openat", "openat2", "creat":
      return "\(isForWriting ? "changing" : "reading") \(first)"
    case "unlink", "unlinkat", "rmdir": return "removing \(first)"
    case "rename", "renameat", "renameat2", "link", "linkat":
      let what = name.hasPrefix("rename") ? "renaming" : "linking"
      return names.count > 1 ? "\(what) \(first) to \(names[1])" : "\(what) \(first)"
    case "mkdir", "mkdirat", "symlink", "symlinkat", "mknod", "mknodat": return "creating \(first)"
    case "truncate": return "truncating \(first)"
    case "execve", "execveat": return "running \(first)"
    case "fork", "vfork", "clone": return "starting a process"
    case "kill", "tkill", "tgkill", "rt_sigqueueinfo", "pidfd_open":
      return "a signal to process \(Int32(truncatingIfNeeded: arguments[0])) (\(name))"
    case "socket", "socketpair": return "a socket of family \(arguments[0]) (\(name))"
    default: return names.isEmpty ? "the system call \(name)" : "\(name) of \(first)"
    }
  }

  private var isForWriting: Bool {
    let flags: UInt64
    switch name {
    case "creat": return true
    case "open": flags = arguments[1]
    case "openat": flags = arguments[2]
    // The flags are in memory that the record does not contain.
    default: return false
    }
    return flags & 0b11 != 0
  }
}
