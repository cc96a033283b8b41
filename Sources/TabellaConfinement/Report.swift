/// Which layers confine a process, and what the kernel lacks for it.
public struct Report: Hashable, Sendable {
  /// What holds, in words: `Landlock 7`.
  public var inForce: [String] = []
  /// What does not, with what that leaves open: a sentence without its full stop for each.
  public var lacking: [String] = []
  /// Paths of the rules that were not there, so that nothing was granted: also what comes to be there later
  /// is out of reach.
  public var absent: [[UInt8]] = []

  public init() {}

  /// What a kernel gives and lacks, before anything is asked of it.
  init(_ kernel: Kernel, _ rules: Rules) {
    inForce = ["no new privileges"]
    switch kernel.landlock {
    case 0: break
    case 1: inForce.append("Landlock 1, which also refuses all moves from one folder to another")
    default: inForce.append("Landlock \(kernel.landlock)")
    }
    if kernel.seccomp { inForce.append("seccomp") }
    describeFiles(kernel)
    describeCalls(kernel, rules)
  }

  private mutating func describeFiles(_ kernel: Kernel) {
    guard kernel.landlock > 0 else {
      lacking.append(
        "Landlock (Linux 5.13, and not switched off): all files of the user can be read and changed"
      )
      return
    }
    if kernel.landlock < 3, !kernel.seccomp {
      lacking.append("Landlock 3 (Linux 6.2): all files of the user can be cut short")
    }
  }

  private mutating func describeCalls(_ kernel: Kernel, _ rules: Rules) {
    guard !kernel.seccomp else { return }
    lacking.append(
      "seccomp: programs can be run, modes and times of the user's files be changed, and what is refused is not told"
    )
    if !rules.network {
      lacking.append(
        kernel.landlock >= 4
          ? "seccomp: the network can be used, but for TCP" : "seccomp: the network can be used")
    }
    if kernel.landlock < 6, !rules.signals {
      lacking.append("Landlock 6 (Linux 6.12) or seccomp: signals can be sent to other processes")
    }
  }
}
