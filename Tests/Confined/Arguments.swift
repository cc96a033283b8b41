import Glibc
import Tabella
import TabellaConfinement

/// The arguments of the command line: `NAME=VALUE` words.
struct Arguments {
  var library = ""
  var location = ""
  var scheme: String?
  var options: [String: String] = [:]
  var kernel = KernelFeatures.running
  var isConfined = true
  var isEditing = false
  var waits = false
  var permissions = GrantedPermissions()
  var earlyThread: EarlyThread.Kind?
  var limits = WorkerRules()
  var edits: [EditBatch.Edit] = []
  /// `PATH,TARGET`: after the rules are computed, a symbolic link to TARGET replaces PATH.
  var replacement: String?

  init() {
    for word in CommandLine.arguments.dropFirst() {
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      take(String(parts[0]), parts.count > 1 ? String(parts[1]) : "")
    }
  }

  private mutating func take(_ name: String, _ value: String) {
    switch name {
    case "library": library = value
    case "location": location = value
    case "scheme": scheme = value
    case "landlock": kernel.landlock = Int(value) ?? 0
    case "no-seccomp": kernel.seccomp = false
    case "unconfined": isConfined = false
    case "edit": isEditing = true
    case "wait": waits = true
    case "early-thread": earlyThread = EarlyThread.Kind(rawValue: value)
    case "read": permissions.read.append(Array(value.utf8))
    case "write": permissions.write.append(Array(value.utf8))
    case "links": permissions.links = true
    case "signals": permissions.signals = true
    case "network": permissions.network = true
    case "processes": permissions.processes = true
    case "memory": limits.memory = Int(value) ?? 0
    case "addresses": limits.addresses = Int(value) ?? 0
    case "files": limits.files = Int(value) ?? 0
    case "file-size": limits.fileSize = Int(value) ?? 0
    case "strict": limits.isStrict = true
    case "replace": replacement = value
    case "delete": edits.append(.delete(.path(IndexPath(section: 0, row: Int(value) ?? 0))))
    case "set":
      // ROW,COLUMN,TEXT
      let words = value.split(separator: ",", maxSplits: 2).map(String.init)
      edits.append(
        .set(
          .path(IndexPath(section: 0, row: Int(words[0]) ?? 0)),
          cells: [Int(words[1]) ?? 0: .text(words[2])]))
    default:
      guard name.hasPrefix("-") else { fatalError("no such word: \(name)") }
      options[String(name.dropFirst())] = value
    }
  }

  /// Simulates an attacker who can rename the folder of a location.
  func replace() {
    guard let words = replacement?.split(separator: ",", maxSplits: 1).map(String.init) else {
      return
    }
    guard rename(words[0], words[0] + ".moved") == 0, symlink(words[1], words[0]) == 0 else {
      fatalError("\(words[0]) cannot be replaced")
    }
  }

  func rules() throws(TableError) -> WorkerRules {
    var rules = try WorkerRules.forLocation(
      Array(location.utf8), isPath: scheme == nil, isEditing: isEditing,
      library: Array(library.utf8), permissions: permissions)
    rules.memory = limits.memory
    rules.addresses = limits.addresses
    rules.files = limits.files
    rules.isStrict = limits.isStrict
    // The output of this program may go to a file.
    rules.fileSize = limits.fileSize
    return rules
  }
}
