import Foundation
import Tabella
import TabellaBridge
import TabellaFiles
import Testing

@testable import TabellaHost
@testable import TabellaLoading
@testable import TabellaTestSupport

private let isRoot = geteuid() == 0
/// A user who is neither root nor the current user.
private let stranger: UInt32 = 54321

/// The checks of who may have created and changed a library.
@Suite struct TrustTests {
  let folder: TemporaryFolder
  /// A folder with minimal permissions and a file.
  let home: String
  let file: String
  let strict = TrustCheck(program: nil)

  init() throws {
    folder = try TemporaryFolder()
    home = folder.path + "/home"
    file = home + "/lib.so"
    for path in [folder.path, home] {
      mkdir(path, 0o700)
      #expect(chmod(path, 0o755) == 0)
    }
    try folder.write("home/lib.so", "no library")
    #expect(chmod(file, 0o755) == 0)
  }

  func open(_ path: String, _ trust: TrustCheck? = nil) throws(TableError) -> String {
    try (trust ?? strict).open(path, for: .library).path
  }

  func refusal(_ path: String, _ trust: TrustCheck? = nil) -> TableError? {
    do throws(TableError) {
      _ = try open(path, trust)
      return nil
    } catch { return error }
  }

  /// Expects that a check refuses a path, and that the message contains the fault and the remedy.
  func expectRefusal(
    _ path: String, _ check: String, _ parts: String..., trust: TrustCheck? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let error = refusal(path, trust)
    #expect(error?.code == .denied, sourceLocation: sourceLocation)
    let message = error?.message ?? "nothing was refused"
    for part in ["\(path) is not trusted (\(check)): "] + parts {
      #expect(message.contains(part), "\(message)", sourceLocation: sourceLocation)
    }
    #expect(!message.contains("\n"), sourceLocation: sourceLocation)
  }

  var real: String { realpath(file, nil).map { String(cString: $0) } ?? "" }
  func real(_ path: String) -> String { realpath(path, nil).map { String(cString: $0) } ?? "" }

  @Test func whatIsOnesOwnIsTrusted() throws {
    #expect(try open(file) == real)
    // Another name of the file gives nobody permission to write.
    let elsewhere = folder.path + "/elsewhere"
    #expect(mkdir(elsewhere, 0o755) == 0 && chmod(elsewhere, 0o777) == 0)
    #expect(link(file, elsewhere + "/lib.so") == 0)
    #expect(try open(file) == real)
  }

  @Test func dotsAndSlashesMeanWhatTheyMean() throws {
    #expect(try open("\(home)/../home/.//lib.so") == real)
    #expect(try open("/../..\(file)") == real)
  }

  // path

  @Test func pathsAreAbsolute() {
    for path in ["lib.so", "./lib.so", ""] {
      expectRefusal(path, "path", "not absolute", "current directory")
    }
    expectRefusal("/lib\0.so", "path", "NUL")
  }

  // owner

  @Test func othersOwnNothingOnTheWay() throws {
    // For a stranger, the user's files belong to somebody else; root's do not.
    let trust = TrustCheck(user: stranger, program: nil)
    if !isRoot {
      expectRefusal(file, "owner", "is owned by", "(\(geteuid()))", "(\(stranger))", trust: trust)
      return
    }
    #expect(refusal(file, trust) == nil)
    for path in [home, file] {
      #expect(chown(path, stranger, 0) == 0)
      expectRefusal(
        file, "owner", "\(real(path)) is owned by \(stranger) (\(stranger)), not by root",
        "chown root \(real(path))")
      expectRefusal(
        file, "owner", "neither by root nor by nobody (65534)", "chown nobody",
        trust: TrustCheck(user: 65534, program: nil))
      #expect(refusal(file, trust) == nil)
      #expect(chown(path, 0, 0) == 0)
    }
  }

  // mode

  @Test(arguments: [
    (0o775, "g", "its group"), (0o757, "o", "all users"), (0o777, "go", "all users, not only"),
    (0o722, "go", "all users, not only"),
  ])
  func othersMayNotWrite(_ mode: Int, _ letters: String, _ who: String) {
    for path in [home, file] {
      #expect(chmod(path, mode_t(mode)) == 0)
      let place = real(path)
      expectRefusal(
        file, "mode", "\(place) has mode 0\(String(mode, radix: 8)), so \(who)",
        "chmod \(letters)-w \(place)")
      #expect(chmod(path, 0o755) == 0)
    }
    #expect(refusal(file) == nil)
  }

  /// A group with one member still counts as a group, because its members can change.
  @Test func aGroupOfOnesOwnIsRefused() {
    #expect(chmod(file, 0o664) == 0)
    expectRefusal(file, "mode", "mode 0664, so its group", "chmod g-w")
  }

  @Test func whatIsToBeTypedCanBeTyped() throws {
    let awkward = folder.path + "/it's a folder"
    #expect(mkdir(awkward, 0o755) == 0 && chmod(awkward, 0o777) == 0)
    try folder.write("it's a folder/lib.so", "x")
    expectRefusal(awkward + "/lib.so", "mode", "'\(real(folder.path))/it'\\''s a folder'")
  }

  // sticky

  /// In /tmp, everybody may put libraries next to a file, but nobody may exchange a folder of the user.
  @Test func stickyFoldersHoldFoldersOnly() throws {
    #expect(chmod(folder.path, 0o1777) == 0)
    #expect(refusal(file) == nil)
    let bare = try folder.write("lib.so", "x")
    #expect(chmod(bare, 0o755) == 0)
    expectRefusal(bare, "sticky", "mode 1777", "folder of your own")
    #expect(chmod(folder.path, 0o1775) == 0)
    expectRefusal(bare, "sticky", "mode 1775")
    #expect(chmod(folder.path, 0o1755) == 0)
    #expect(refusal(bare) == nil)
  }

  @Test func linksInStickyFoldersAreRefused() throws {
    #expect(symlink(home, folder.path + "/link") == 0)
    #expect(try open(folder.path + "/link/lib.so") == real)
    #expect(chmod(folder.path, 0o1777) == 0)
    expectRefusal(folder.path + "/link/lib.so", "sticky", "the link \(real(folder.path))/link")
  }

  // Links

  /// A link is followed like a path, whose components must be trusted, too.
  @Test func linksLeadToWhatIsTrusted() throws {
    let elsewhere = folder.path + "/elsewhere"
    #expect(mkdir(elsewhere, 0o755) == 0 && chmod(elsewhere, 0o755) == 0)
    try folder.write("elsewhere/real.so", "x")
    #expect(chmod(elsewhere + "/real.so", 0o755) == 0)
    for (name, target) in [
      ("absolute.so", elsewhere + "/real.so"), ("relative.so", "../elsewhere/real.so"),
      ("second.so", "relative.so"), ("far", ".././elsewhere"),
    ] {
      #expect(symlink(target, "\(home)/\(name)") == 0)
    }
    let paths = ["absolute.so", "relative.so", "second.so", "far/real.so"].map { "\(home)/\($0)" }
    for path in paths { #expect(try open(path) == real(elsewhere + "/real.so")) }
    #expect(chmod(elsewhere, 0o777) == 0)
    for path in paths {
      expectRefusal(path, "mode", "\(real(elsewhere)) has mode 0777", "chmod go-w")
    }
    // The target is in a folder like /tmp, which does not belong to the user.
    #expect(chmod(elsewhere, 0o1777) == 0)
    for path in paths { expectRefusal(path, "sticky", "\(real(elsewhere)), which has mode 1777") }
  }

  /// `/proc/self/cwd` was treated like an ordinary folder, although it is the current directory.
  @Test func nothingLeadsThroughProc() throws {
    #expect(symlink("/proc/self/cwd", home + "/here") == 0)
    for path in [
      "/proc/self/cwd/lib.so", "/proc/self/cwd\(file)", "/proc/self/root\(file)",
      "/proc/\(getpid())/cwd/lib.so", "/proc/thread-self/cwd/lib.so", "/dev/fd/0/lib.so",
      "/sys/../proc/self/cwd/lib.so", "\(home)/here/lib.so",
    ] {
      expectRefusal(path, "path", "leads through /proc, so its meaning depends on the process")
    }
    #expect(refusal(file) == nil)
    // The loader does not take other libraries from there either.
    let library = try compileLibrary(
      packageFolder + "/Examples/provider-c/planets.c", into: folder, name: "planets.so",
      flags: ["-Wl,-rpath,/proc/self/cwd"])
    let error = #expect(throws: TableError.self) { try checkLibrary(at: library, pins: .none) }
    #expect(error?.code == .denied && error?.message.contains("(RUNPATH) /proc/self/cwd") == true)
    try FileManager.default.copyItem(
      atPath: packageFolder + "/Examples/provider-c/planets.tabella.json",
      toPath: folder.path + "/planets.tabella.json")
    let catalogue = Catalogue(SearchPath(["/proc/self/root\(folder.path)"]))
    let reason = catalogue.refusals.first { $0.path.hasSuffix("/planets.tabella.json") }?.reason
    #expect(reason?.contains("leads through /proc") == true)
  }

  @Test func linksThatLeadNowhere() throws {
    #expect(symlink("nothing", home + "/dangling.so") == 0)
    #expect(symlink("loop.so", home + "/loop.so") == 0)
    #expect(refusal(home + "/dangling.so")?.code == .notFound)
    #expect(refusal(home + "/loop.so")?.message.contains("symbolic links") == true)
    for number in 1...41 {
      #expect(symlink(number == 1 ? "lib.so" : "link\(number - 1)", "\(home)/link\(number)") == 0)
    }
    #expect(refusal(home + "/link40") == nil)
    #expect(refusal(home + "/link41")?.message.contains("symbolic links") == true)
    #expect(refusal(home + "/absent.so")?.code == .notFound)
    #expect(refusal(file + "/beyond.so")?.code == .notFound)
  }

  @Test(.needs(.root)) func linksOfOthersAreRefused() {
    #expect(symlink("lib.so", home + "/link.so") == 0)
    #expect(lchown(home + "/link.so", stranger, 0) == 0)
    expectRefusal(home + "/link.so", "owner", "/home/link.so is owned by \(stranger)")
  }

  // File types

  @Test(.timeLimit(.minutes(1))) func onlyRegularFiles() {
    #expect(mkfifo(home + "/pipe.so", 0o600) == 0)
    for path in [home, home + "/pipe.so", "/dev/null", "/"] {
      #expect(refusal(path)?.code == .noProvider, "\(path)")
    }
  }

  @Test(arguments: [0o4755, 0o2755]) func specialModesAreRefused(_ mode: Int) {
    #expect(chmod(file, mode_t(mode)) == 0)
    expectRefusal(file, "setuid", "mode \(String(mode, radix: 8))", "chmod ug-s")
  }

  @Test(.needs(.mounts)) func nothingIsRunFromNoexec() throws {
    let place = folder.path + "/mounted"
    #expect(mkdir(place, 0o755) == 0)
    let mount = try #require(Mount(place, "size=1m,mode=755,noexec"))
    defer { mount.unmount() }
    try folder.write("mounted/lib.so", "x")
    #expect(chmod(place + "/lib.so", 0o755) == 0)
    expectRefusal(place + "/lib.so", "noexec", "mounted noexec")
    _ = try strict.open(place + "/lib.so", for: .settings)
  }

  // The program itself

  /// Users who can change the program need no library for an attack. Nobody else gains anything.
  @Test func aLibraryIsHeldToNoMoreThanTheProgram() throws {
    var status = stat()
    #expect(stat(file, &status) == 0)
    #expect(chmod(file, 0o775) == 0)
    func program(_ mode: mode_t, owner: UInt32 = geteuid(), group: UInt32) -> TrustCheck {
      var like = status
      (like.st_mode, like.st_uid, like.st_gid) = (S_IFREG | mode, owner, group)
      return TrustCheck(program: RunningProgram(like))
    }
    #expect(refusal(file, program(0o775, group: status.st_gid)) == nil)
    expectRefusal(file, "mode", trust: program(0o755, group: status.st_gid))
    expectRefusal(file, "mode", trust: program(0o775, group: status.st_gid + 1))
    #expect(chmod(file, 0o757) == 0)
    expectRefusal(file, "mode", trust: program(0o775, group: status.st_gid))
    #expect(refusal(file, program(0o757, group: 0)) == nil)
    #expect(chmod(file, 0o755) == 0)
    guard isRoot else { return }
    #expect(chown(file, stranger, 0) == 0)
    #expect(refusal(file, program(0o755, owner: stranger, group: 0)) == nil)
    expectRefusal(file, "owner", trust: program(0o755, group: 0))
  }

  /// Folders on the path to the program are excused: a user who can exchange a library there could also exchange the
  /// program.
  @Test func foldersOfTheProgramAreExcused() throws {
    var status = stat()
    #expect(stat(buildFolder, &status) == 0)
    #expect(RunningProgram.current?.isOnPath(of: status) == true)
    status.st_mode |= 0o1777
    #expect(RunningProgram.current?.isOnPath(of: status) == false)
    #expect(stat(home, &status) == 0)
    #expect(RunningProgram.current?.isOnPath(of: status) == false)
  }

  // Search paths of libraries

  @Test func foldersThatLibrariesAreSearchedIn() throws {
    func refusal(_ path: String) -> String? {
      do throws(TableError) {
        try strict.checkNeeded(path, "/lib.so: its search path (RUNPATH) \(path)")
        return nil
      } catch { return error.message }
    }
    #expect(refusal(home) == nil)
    #expect(refusal(home + "/not/there") == nil)
    #expect(chmod(home, 0o777) == 0)
    let open = try #require(refusal(home + "/not/there"))
    #expect(open.hasPrefix("/lib.so: its search path (RUNPATH) \(home)/not/there is not trusted"))
    #expect(open.contains("(mode)"))
    // The user who creates it first owns it.
    #expect(chmod(home, 0o1777) == 0)
    for path in [home, home + "/not/there", home + "/lib"] {
      #expect(refusal(path)?.contains("(sticky)") == true)
    }
    // In a sticky folder, nobody can replace an existing folder of the user.
    #expect(mkdir(home + "/lib", 0o755) == 0 && refusal(home + "/lib") == nil)
  }

  @Test func aRunpathThatOthersMayFillIsRefused() throws {
    #expect(chmod(home, 0o777) == 0)
    let library = try compileLibrary(
      packageFolder + "/Examples/provider-c/planets.c", into: folder, name: "planets.so",
      flags: ["-Wl,-rpath,\(home)"])
    let error = #expect(throws: TableError.self) { try checkLibrary(at: library, pins: .none) }
    #expect(error?.code == .denied)
    #expect(error?.message.contains("(RUNPATH)") == true)
  }

  /// A library needed by an absolute path was not checked, so users who may write to its folder had their code loaded.
  @Test func aNeededLibraryThatOthersMayReplaceIsRefused() throws {
    let source = try folder.write("inner.c", "int inner(void);\nint inner(void) { return 1; }\n")
    let inner = try compileLibrary(source, into: folder, name: "home/inner.so")
    let library = try compileLibrary(
      packageFolder + "/Examples/provider-c/planets.c", into: folder, name: "planets.so",
      flags: ["-Wl,--no-as-needed", inner])
    func refusal() -> TableError? {
      do throws(TableError) {
        try checkLibrary(at: library, pins: .none)
        return nil
      } catch { return error }
    }
    #expect(refusal() == nil)
    #expect(chmod(home, 0o777) == 0)
    #expect(refusal()?.code == .denied)
    #expect(
      refusal()?.message.contains("a library that it needs, \(inner), is not trusted (mode)")
        == true)
    #expect(chmod(home, 0o755) == 0 && chmod(inner, 0o666) == 0)
    #expect(refusal()?.message.contains("(mode)") == true)
    // If it does not exist, nobody else may be able to create it there.
    #expect(unlink(inner) == 0 && refusal() == nil)
    #expect(chmod(home, 0o1777) == 0)
    #expect(refusal()?.message.contains("(sticky)") == true)
    guard isRoot else { return }
    #expect(chmod(home, 0o755) == 0 && chown(home, stranger, 0) == 0)
    #expect(refusal()?.message.contains("(owner)") == true)
  }

  // As an ordinary user

  @Test(.needs(.root)) func anOrdinaryUserTrustsRootAndThemselves() async throws {
    setenv("TABELLA_TEST_TRUST", folder.path, 1)
    for path in [home, file] { #expect(chown(path, 65534, 65534) == 0) }
    await #expect(processExitsWith: .success) {
      let folder = String(cString: getenv("TABELLA_TEST_TRUST"))
      func check(_ path: String) -> String? {
        do throws(TableError) {
          _ = try TrustCheck(program: nil).open(path, for: .library)
          return nil
        } catch { return error.message }
      }
      let file = folder + "/home/lib.so"
      #expect(check(file)?.contains("(owner)") == true)
      #expect(setgid(65534) == 0 && setuid(65534) == 0)
      #expect(check(file) == nil)
      #expect(chmod(file, 0o775) == 0)
      #expect(check(file)?.contains("(mode)") == true)
      #expect(chmod(file, 0) == 0)
      #expect(check(file)?.contains("Permission denied") == true)
    }
  }
}
