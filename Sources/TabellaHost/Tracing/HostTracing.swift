import Tabella

// Trace lines of a host besides calls.

extension Host {
  /// Opens a source with `open`. If there is a trace, wraps the source into a ``TracedSource``.
  func tracing<Worker>(
    _ provider: String, _ library: String, _ request: OpenRequest, isIsolated: Bool,
    _ open: () throws(TableError) -> (any TableDataSource, Worker)
  ) throws(TableError) -> (any TableDataSource, Worker) {
    guard let trace else { return try open() }
    let road = isIsolated ? "in a worker" : "in this process"
    let number = trace.numberTable()
    let (source, worker) = try trace.call(
      "\(provider) open \(request.traced) \(road), from \(library)", open,
      words: { "\(provider)#\(number): \($0.0.traced)" })
    return (TracedSource(source, provider: provider, trace, number: number), worker)
  }

  /// The receiver of a worker's output: ``onOutput``, and the trace if there is one.
  var traced: (@Sendable (WorkerOutput) -> Void)? {
    guard let trace else { return onOutput }
    return { [onOutput] output in
      let what =
        switch output.kind {
        case .printed: "prints"
        case .logged: "logs"
        case .denied: "is denied"
        case .unconfined: "is not confined for lack of"
        case .ended: "ends"
        }
      trace.note(
        "\(output.provider) \(what): \(String(decoding: output.text.prefix(200), as: UTF8.self))")
      onOutput?(output)
    }
  }
}
