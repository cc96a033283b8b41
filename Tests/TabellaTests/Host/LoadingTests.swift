import Foundation
import Tabella
import TabellaBridge
import Testing

@testable import TabellaHost
@testable import TabellaLoading
@testable import TabellaTestSupport

/// The loaded library is the one that was checked.
@Suite struct LoadingTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  /// A provider with its own id that records when it is loaded and by which path.
  func provider(_ id: String, name: String, flags: [String] = []) throws -> String {
    let source = try folder.write(
      "\(id).c",
      """
      #include "tabella.h"
      #include <stdio.h>
      static int32_t start(void *provider, const tabella_open_request *request,
                           tabella_source *source, tabella_error *error) {
        (void)provider; (void)request; (void)source; (void)error;
        return TABELLA_INTERNAL;
      }
      static const void *ability(void *provider, tabella_string name) {
        (void)provider; (void)name;
        return NULL;
      }
      __attribute__((constructor)) static void begin(void) {
        FILE *file = fopen("\(folder.path)/\(id).loads", "a");
        if (file) { fputc('x', file); fclose(file); }
      }
      int32_t tabella_provider_entry(tabella_entry *entry) {
        entry->provider_contract = TABELLA_CONTRACT_VERSION;
        entry->provider.id = (tabella_string){"\(id)", \(id.utf8.count)};
        entry->provider.open = start;
        entry->provider.ability = ability;
        return 0;
      }
      """)
    let library = try compileLibrary(source, into: folder, name: name, flags: flags)
    return library
  }

  func loads(_ id: String) -> Int { (try? folder.read("\(id).loads").count) ?? 0 }

  func refusal(_ body: () throws -> Void) throws -> TableError {
    do { try body() } catch let error as TableError { return error }
    throw TableError(.internal, "nothing was refused")
  }

  /// A host skips the checks of a shipped library that this process has loaded. Another file is another library.
  @Test func onlyTheSameFileCountsAsLoaded() throws {
    let library = try provider("known", name: "known.so")
    #expect(try Library.loaded(at: library, name: "known") == nil)
    _ = try loadLibrary(at: library, pins: .none)
    #expect(try Library.loaded(at: library, name: "known")?.id == "known" && loads("known") == 1)
    let copy = folder.path + "/copy.so"
    try FileManager.default.copyItem(atPath: library, toPath: copy)
    #expect(try Library.loaded(at: copy, name: "known") == nil)
    #expect(try Library.loaded(at: folder.path + "/absent.so", name: "known") == nil)
    // A change of the rights or of the content is another state of the file.
    #expect(chmod(library, 0o777) == 0)
    #expect(try Library.loaded(at: library, name: "known") == nil)
  }

  /// Both ways of loading: through the open file, and by its name in the open folder.
  static let ways: [[String]] = [["-fuse-ld=bfd"], ["-fuse-ld=bfd", "-Wl,-rpath,$ORIGIN/lib"]]

  @Test(arguments: ways) func aLibraryIsLoadedOnce(_ flags: [String]) throws {
    let id = "once\(flags.count)"
    let path = try provider(id, name: "once.so", flags: flags)
    for _ in 0..<3 { #expect(try loadLibrary(at: path, pins: .none).id == id) }
    // Another name for the same file.
    #expect(symlink("once.so", folder.path + "/link.so") == 0)
    #expect(try loadLibrary(at: folder.path + "/link.so", pins: .none).id == id)
    #expect(loads(id) == 1)
  }

  @Test(arguments: ways) func aFileThatChangedSinceIsRefused(_ flags: [String]) throws {
    let id = "edited\(flags.count)"
    let path = try provider(id, name: "edited.so", flags: flags)
    #expect(try loadLibrary(at: path, pins: .none).id == id)
    let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    try handle.seekToEnd()
    try handle.write(contentsOf: Data([0]))
    try handle.close()
    let error = try refusal { _ = try loadLibrary(at: path, pins: .none) }
    #expect(error.code == .denied && error.message.contains("(changed)"))
    #expect(loads(id) == 1)
  }

  /// Another file gets the name between the check and the loading, as in an update.
  @Test(arguments: ways) func aFileThatIsExchangedIsNoticed(_ flags: [String]) throws {
    let (old, new) = ("old\(flags.count)", "new\(flags.count)")
    let path = try provider(old, name: "one.so", flags: flags)
    let other = try provider(new, name: "other.so", flags: flags)
    let checked = try checkLibrary(at: path, pins: .none)
    #expect(rename(other, path) == 0)
    let error = try refusal { _ = try Library.load(checked, name: "one") }
    #expect(error.code == .denied && error.message.contains("is not trusted (changed)"))
    #expect(error.message.contains(checked.path))
    #expect(loads(old) == 0 && loads(new) == 0)
    // After a new check it is loaded, although an earlier file of that name is open.
    #expect(try loadLibrary(at: path, pins: .none).id == new)
  }

  /// The folder is exchanged, while the checked file stays untouched.
  @Test func aFolderThatIsExchangedIsNoticed() throws {
    #expect(mkdir(folder.path + "/a", 0o755) == 0 && mkdir(folder.path + "/b", 0o755) == 0)
    _ = try provider("folderone", name: "a/lib.so", flags: Self.ways[1])
    _ = try provider("foldertwo", name: "b/lib.so", flags: Self.ways[1])
    let checked = try checkLibrary(at: folder.path + "/a/lib.so", pins: .none)
    for (from, to) in [("a", "c"), ("b", "a")] {
      #expect(rename("\(folder.path)/\(from)", "\(folder.path)/\(to)") == 0)
    }
    let error = try refusal { _ = try Library.load(checked, name: "one") }
    #expect(error.code == .denied && error.message.contains("another file has its name"))
    #expect(loads("folderone") == 0 && loads("foldertwo") == 0)
  }

  /// Through the open file, the name does not matter.
  @Test func theOpenFileIsLoadedWhateverItsName() throws {
    #expect(mkdir(folder.path + "/a", 0o755) == 0)
    _ = try provider("moved", name: "a/lib.so", flags: Self.ways[0])
    let checked = try checkLibrary(at: folder.path + "/a/lib.so", pins: .none)
    #expect(rename(folder.path + "/a", folder.path + "/b") == 0)
    #expect(try Library.load(checked, name: "moved").id == "moved")
  }

  /// A library in the same folder is found, according to $ORIGIN.
  @Test func librariesBesideItAreFound() throws {
    let inner = try folder.write("inner.c", "int inner(void);\nint inner(void) { return 1; }\n")
    #expect(mkdir(folder.path + "/lib", 0o755) == 0)
    _ = try compileLibrary(inner, into: folder, name: "lib/libbeside.so")
    let path = try provider(
      "beside", name: "beside.so",
      flags: [
        "-Wl,--no-as-needed", "-L\(folder.path)/lib", "-lbeside", "-Wl,-rpath,$ORIGIN/lib",
      ])
    #expect(try loadLibrary(at: path, pins: .none).id == "beside")
    // The error names a missing library, and uses the library's real path.
    _ = try compileLibrary(inner, into: folder, name: "lib/libmissing.so")
    let lost = try provider(
      "lost", name: "lost.so",
      flags: [
        "-Wl,--no-as-needed", "-L\(folder.path)/lib", "-lmissing", "-Wl,-rpath,$ORIGIN/elsewhere",
      ])
    let error = try refusal { _ = try loadLibrary(at: lost, pins: .none) }
    #expect(error.code == .noProvider && error.message.contains("libmissing.so"))
    #expect(
      error.message.contains("/lost.so: cannot be loaded") && !error.message.contains("/proc"))
  }

  /// A worker receives the open file.
  @Test func aFileThatWasHandedOver() throws {
    let path = try provider("handed", name: "handed.so")
    let checked = try checkLibrary(at: path, pins: .none)
    let other = dup(checked.descriptor)
    let handed = try CheckedLibrary(taking: other, path: checked.path)
    #expect(fcntl(other, F_GETFD) == FD_CLOEXEC)
    #expect(try Library.load(handed, name: "handed").id == "handed")
    #expect(try Library.load(checked, name: "handed").id == "handed")
    #expect(loads("handed") == 1)
    // The file stays open, because the loader identifies the library by it.
    #expect(fcntl(other, F_GETFD) == FD_CLOEXEC)
  }

  @Test func aDescriptorThatIsNoLibraryIsClosed() throws {
    let path = try folder.write("text.so", "text")
    let descriptor = open(path, O_RDONLY)
    let error = try refusal { _ = try CheckedLibrary(taking: descriptor, path: path) }
    #expect(error.code == .noProvider && error.message == "\(path): is not an ELF file")
    #expect(try refusal { _ = try CheckedLibrary(taking: -1, path: path) }.code == .noProvider)
  }

  /// The descriptor of an unusable library stays open. Otherwise another library with the same number would be mistaken
  /// for it.
  @Test func descriptorsOfLibrariesAreNotUsedAgain() throws {
    let refusing = try compileLibrary(
      packageFolder + "/Tests/TabellaTests/Host/Libraries/liar.c", into: folder, name: "no.so",
      flags: ["-DREFUSES", "-fuse-ld=bfd"])
    for _ in 0..<5 {
      #expect(
        try refusal { _ = try loadLibrary(at: refusing, pins: .none) }.code == .noProvider)
    }
    for number in 0..<5 {
      let id = "after\(number)"
      let path = try provider(id, name: "\(id).so", flags: ["-fuse-ld=bfd"])
      #expect(try loadLibrary(at: path, pins: .none).id == id)
    }
  }
}
