import TabellaThreads

/// Calls `produce` until it returns nil, and calls `consume` with each value, in order.
///
/// Both work at the same time: while `consume` has a value, a thread produces the next one. So `consume` must use nothing
/// that `produce` uses. The calling thread produces the first three values, because few values are not worth a thread.
/// With one processor, it produces all of them. Throws the first error of either closure, and then calls neither of them
/// again.
func readAhead<Value>(
  _ produce: () throws(TableError) -> Value?, _ consume: (Value) throws(TableError) -> Void
) throws(TableError) {
  var next = try produce()
  var count = 0
  while let value = next {
    count += 1
    guard count > 2, Cores.count > 1 else {
      try consume(value)
      next = try produce()
      continue
    }
    var consumed = Result<Void, TableError>.success(())
    var produced = Result<Value?, TableError>.success(nil)
    inParallel(2) { thread in
      if thread == 0 {
        consumed = Result { () throws(TableError) in try consume(value) }
      } else {
        produced = Result { () throws(TableError) in try produce() }
      }
    }
    try consumed.get()
    next = try produced.get()
  }
}
