// The program `tabella-fuzz`, which Tests/Fuzz/run builds and runs: docs/fuzzing.md.
//
//   tabella-fuzz list                  the names of all targets
//   tabella-fuzz seeds TARGET FOLDER   writes seeds, and TARGET.dict next to the folder
//   tabella-fuzz TARGET ARGUMENT…      runs libFuzzer with these arguments; with a file, that input

import Glibc
import LibFuzzer

/// The running target; libFuzzer's functions have no context.
nonisolated(unsafe) var running: any FuzzTarget = JSONTarget()

func run(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
  _ = running.run(UnsafeRawBufferPointer(start: bytes, count: count))
  return 0
}

/// libFuzzer calls this function, if it exists, for each input to mutate.
@c(LLVMFuzzerCustomMutator)
func mutate(_ bytes: UnsafeMutablePointer<UInt8>, _ count: Int, _ limit: Int, _ seed: UInt32)
  -> Int
{
  var mutation = InputMutation(
    UnsafeMutableRawBufferPointer(start: bytes, count: limit), count: count, seed: seed)
  return mutation.mutate(type(of: running).shape)
}

func fail(_ message: String) -> Never {
  _ = "tabella-fuzz: \(message)\n".withCString { write(2, $0, strlen($0)) }
  exit(2)
}

func writeFile(_ path: String, _ bytes: [UInt8]) {
  guard let file = fopen(path, "w"), fwrite(bytes, 1, bytes.count, file) == bytes.count,
    fclose(file) == 0
  else { fail("\(path) cannot be written") }
}

func readFile(_ path: String) -> [UInt8] {
  guard let file = fopen(path, "r") else { fail("\(path) cannot be read") }
  defer { fclose(file) }
  var bytes = [UInt8](repeating: 0, count: 1 << 16)
  let count = fread(&bytes, 1, bytes.count, file)
  return Array(bytes.prefix(count))
}

/// Writes a target's seeds and dictionary. Fails if a seed does not reach its expected value, because fuzzing from such
/// a seed would prove little.
func writeSeeds(_ target: any FuzzTarget.Type, to folder: String) throws {
  let one = target.init()
  for seed in try one.seeds() {
    let reached = seed.bytes.withUnsafeBytes { one.run($0) }
    guard reached == seed.reaches, seed.bytes.count <= target.inputLimit else {
      fail(
        "the seed \(seed.name) of \(target.name), \(seed.bytes.count) of \(target.inputLimit) bytes, reaches \(reached), not \(seed.reaches)"
      )
    }
    writeFile("\(folder)/\(seed.name)", seed.bytes)
  }
  let lines = target.words.map { word in
    "\"" + word.map { "\\x" + String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
      + "\"\n"
  }
  writeFile("\(folder).dict", Array(lines.joined().utf8))
}

let arguments = CommandLine.arguments
switch arguments.count > 1 ? arguments[1] : "" {
case "list": for target in targets { print(target.name, target.inputLimit) }
case "seeds" where arguments.count == 4:
  guard let target = targets.first(where: { $0.name == arguments[2] }) else {
    fail("there is no target \(arguments[2])")
  }
  try writeSeeds(target, to: arguments[3])
case let name:
  guard let target = targets.first(where: { $0.name == name }) else {
    fail("usage: tabella-fuzz list | seeds TARGET FOLDER | TARGET [ARGUMENT…]")
  }
  running = target.init()
  var list: [UnsafeMutablePointer<CChar>?] = arguments.enumerated()
    .filter { $0.offset != 1 }.map { strdup($0.element) }
  var count = Int32(list.count)
  list.append(nil)
  exit(
    list.withUnsafeMutableBufferPointer { buffer in
      var start = buffer.baseAddress
      return LLVMFuzzerRunDriver(&count, &start) { run($0, $1) }
    })
}
