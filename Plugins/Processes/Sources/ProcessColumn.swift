import Tabella

/// The columns in table order.
enum ProcessColumn: Int, CaseIterable {
  case pid, parent, user, state, nice, cpu, memory, started, command, arguments

  static let declarations = allCases.map(\.declaration)

  private var declaration: Column {
    switch self {
    case .pid: Column("pid", .integer, rank: 0)
    case .user: Column("user", rank: 0)
    case .cpu: Column("cpu", .real, unit: .percent, rank: 0)
    case .memory: Column("memory", .integer, unit: .bytes, rank: 0)
    case .command: Column("command", rank: 0)
    case .arguments: Column("arguments", rank: 1)
    case .state: Column("state", rank: 2, role: .processState)
    case .started: Column("started", .date, rank: 3)
    case .nice: Column("nice", .integer, rank: 4)
    case .parent: Column("parent", .integer, rank: 5)
    }
  }
}

/// The files of a process that a request needs.
struct NeededFiles: OptionSet {
  let rawValue: UInt8

  /// `stat`, and the owner of the folder.
  static let process = NeededFiles(rawValue: 1)
  /// `statm`.
  static let memory = NeededFiles(rawValue: 2)
  /// `cmdline`.
  static let arguments = NeededFiles(rawValue: 4)

  init(rawValue: UInt8) { self.rawValue = rawValue }

  init(_ columns: [ProcessColumn], ids: Bool) {
    self = ids ? .process : []
    for column in columns {
      switch column {
      case .pid: break
      // Later reads are checked against the start time, so `stat` is always needed.
      case .memory: formUnion([.process, .memory])
      case .arguments: formUnion([.process, .arguments])
      default: insert(.process)
      }
    }
  }
}
