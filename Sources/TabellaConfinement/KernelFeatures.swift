import CTabellaSystem

/// The features of the running kernel that confine a process.
package struct KernelFeatures: Hashable, Sendable {
  /// The version of Landlock; 0 if Landlock is missing or switched off.
  package var landlock: Int
  /// Whether seccomp can filter system calls.
  package var seccomp: Bool

  /// A fictitious kernel for tests. Features that it lacks are not used, even if the real kernel has them.
  package init(landlock: Int, seccomp: Bool) {
    self.landlock = landlock
    self.seccomp = seccomp
  }

  /// The running kernel.
  package static var running: KernelFeatures {
    KernelFeatures(
      landlock: max(0, Int(tabella_landlock_version())), seccomp: tabella_seccomp_is_there())
  }
}
