// The mistakes of a careless author. The rest of the provider is in C: traps.c.

import Dispatch
import Glibc
import Synchronization

/// Values that the compiler cannot predict.
nonisolated(unsafe) var numbers: [Int] = [1, 2, 3]
nonisolated(unsafe) var nothing: Int? = nil
nonisolated(unsafe) var anything: Any = "text"

struct Mistake: Error {}

actor Ledger {
  let held = DispatchSemaphore(value: 0)

  /// Waits on the actor for a result that only the actor can produce.
  func waitForItself() {
    Task { self.release() }
    held.wait()
  }

  func release() { held.signal() }
}

func recurse(_ depth: Int) -> Int { depth < 0 ? 0 : recurse(depth + 1) + numbers[depth % 3] }

/// Waits for a task, which a thread must not do.
func wait(for body: @escaping @Sendable () async -> Void) {
  let done = DispatchSemaphore(value: 0)
  Task {
    await body()
    done.signal()
  }
  done.wait()
}

// The whole process sees this conformance from now on.
// swift-format-ignore: AvoidRetroactiveConformances
extension Int: @retroactive Error {}

@c(zoo_trap)
public func trap(_ name: UnsafePointer<CChar>) -> Int32 {
  switch String(cString: name) {
  case "index": print(numbers[numbers.count])
  case "overflow":
    numbers[0] = Int.max
    numbers[0] += numbers[1]
  case "narrow": print(UInt8(numbers[2] * 1000))
  case "negative-range": print(Array(numbers[1]..<numbers[0] - 1))
  case "divide": print(numbers[0] / (numbers[0] - 1))
  case "unwrap": print(nothing!)
  case "cast": print(anything as! [Int])
  case "try": try! { throw Mistake() }()
  case "fatal": fatalError("a provider that gives up\u{1B}[31m\ntabella: on two lines")
  case "precondition": precondition(numbers.isEmpty, "there are numbers")
  case "recursion": print(recurse(1))
  case "exclusivity":
    func change(_ one: inout [Int], _ other: () -> Void) {
      other()
      one.append(1)
    }
    change(&numbers) { numbers.removeAll() }
  case "actor":
    let ledger = Ledger()
    wait { await ledger.waitForItself() }
  case "main-queue": wait { await MainActor.run { numbers.append(1) } }
  case "main-sync": DispatchQueue.main.sync { numbers.append(1) }
  case "pool":
    // Every thread of the pool sleeps.
    for _ in 0..<64 { Task.detached { sleep(3600) } }
    wait {}
  case "busy-pool":
    // More tasks than processors, for seconds. The pool then checks whether it needs more threads.
    let all = DispatchGroup()
    for _ in 0..<8 { DispatchQueue.global().async(group: all) { sleep(1) } }
    all.wait()
  case "never": while !numbers.isEmpty {}
  case "mutex":
    let mutex = Mutex(0)
    mutex.withLock { _ in mutex.withLock { $0 += 1 } }
  case "prints":
    print("RUBBISH")
    fflush(nil)
  case "exit": exit(0)
  case "errors-everywhere": print((1 as Any) is any Error)
  default: return 0
  }
  return 1
}
