import Glibc
import Synchronization

// The thread of the testing library that waits for the processes of `#expect(processExitsWith:)`. It asks for any ended
// child and leaves the child as it is. If another part of the program reaps this child, the answer stays the same until
// then, and the thread asks again and again. It took a quarter of the processor time of all tests.

/// Replaces waitid(2) in this program and in the testing library. Pauses if the answer about any child is the last one.
@_cdecl("waitid")
public func waitWithoutSpinning(
  _ type: idtype_t, _ id: id_t, _ information: UnsafeMutablePointer<siginfo_t>?, _ options: Int32
) -> Int32 {
  let result = systemWait(type, id, information, options)
  guard type == P_ALL, result == 0, let child = information?.pointee._sifields._kill.si_pid else {
    return result
  }
  if lastChild.exchange(child, ordering: .relaxed) == child { usleep(1000) }
  return result
}

private let lastChild = Atomic<pid_t>(0)

private typealias Wait =
  @convention(c) (idtype_t, id_t, UnsafeMutablePointer<siginfo_t>?, Int32) -> Int32

/// The function of the C library: the next one after that of this program.
private let systemWait = unsafeBitCast(
  dlsym(UnsafeMutableRawPointer(bitPattern: -1), "waitid"), to: Wait.self)
