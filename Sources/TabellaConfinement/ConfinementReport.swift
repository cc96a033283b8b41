/// The layers that confine a process, and the features that the kernel lacks.
public struct ConfinementReport: Hashable, Sendable {
  /// The active layers in words, such as `Landlock 7`.
  public var inForce: [String] = []
  /// The missing features and their consequences: for each a sentence without its full stop.
  public var lacking: [String] = []
  /// Paths of the rules that do not exist. Nothing is granted there, even if the files are created later.
  public var absent: [[UInt8]] = []

  /// An empty report.
  package init() {}

  /// The features of a kernel that the rules need, before any of them is used.
  init(_ kernel: KernelFeatures, _ rules: WorkerRules) {
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

  private mutating func describeFiles(_ kernel: KernelFeatures) {
    guard kernel.landlock > 0 else {
      lacking.append(
        "Landlock (Linux 5.13, and not disabled): all files of the user can be read and changed"
      )
      return
    }
    if kernel.landlock < 3, !kernel.seccomp {
      lacking.append("Landlock 3 (Linux 6.2): all files of the user can be truncated")
    }
  }

  private mutating func describeCalls(_ kernel: KernelFeatures, _ rules: WorkerRules) {
    guard !kernel.seccomp else { return }
    lacking.append(
      "seccomp: programs can be run, modes and times of the user's files can be changed, and refused calls are not reported"
    )
    if !rules.network {
      lacking.append(
        kernel.landlock >= 4
          ? "seccomp: the network can be used, except for TCP" : "seccomp: the network can be used")
    }
    if kernel.landlock < 6, !rules.signals {
      lacking.append("Landlock 6 (Linux 6.12) or seccomp: signals can be sent to other processes")
    }
  }
}
