import CTabellaSystem

/// What the running kernel has of what confines a process.
public struct Kernel: Hashable, Sendable {
  /// The version of Landlock's rules; 0 if there is no Landlock, or it is switched off.
  public var landlock: Int
  /// Whether system calls can be filtered.
  public var seccomp: Bool

  /// One that is made up, for tests: what it lacks is not used, though it may be there.
  public init(landlock: Int, seccomp: Bool) {
    self.landlock = landlock
    self.seccomp = seccomp
  }

  /// The one that runs.
  public static var running: Kernel {
    Kernel(
      landlock: max(0, Int(tabella_landlock_version())), seccomp: tabella_seccomp_is_there())
  }
}
