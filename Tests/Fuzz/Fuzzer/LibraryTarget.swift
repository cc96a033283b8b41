import CTabellaSystem
import Glibc
import Tabella

@testable import TabellaLoading

/// The checks of a library before it is loaded, mostly with damaged files.
struct LibraryTarget: FuzzTarget {
  static let name = "libraries"
  static let inputLimit = 4096
  static let shape = InputShape.numbers

  private let file: Int32

  init() {
    let folder = open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    file = tabella_system_make_nameless(folder)
    if file < 0 { fail("/dev/shm has no room for a library") }
  }

  func run(_ input: UnsafeRawBufferPointer) -> Int {
    guard ftruncate(file, off_t(input.count)) == 0,
      pwrite(file, input.baseAddress, input.count, 0) == input.count
    else { fail("there is no memory for a library") }
    do throws(TableError) {
      _ = try ELFImage(file, size: input.count, exporting: "tabella_provider_entry")
      return 1
    } catch {
      require(error.code == .noProvider, "another error than a library's: \(error)")
      sink &+= UInt64(error.message.utf8.count)
      return 0
    }
  }

  /// Small libraries linked for this purpose, in the folder that `TABELLA_FUZZ_LIBRARIES` names.
  func seeds() throws -> [Seed] {
    guard let folder = getenv("TABELLA_FUZZ_LIBRARIES").map({ String(cString: $0) }) else {
      fail("TABELLA_FUZZ_LIBRARIES names no folder of libraries")
    }
    return ["sysv", "gnu", "both"].map { name in
      Seed(name: name, bytes: readFile("\(folder)/\(name).so"), reaches: 1)
    }
  }
}
