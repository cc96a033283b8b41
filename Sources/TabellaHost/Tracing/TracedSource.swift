import Tabella
import TabellaRemote

/// A wrapper that traces all calls of a source. It has the same abilities as its base.
final class TracedSource: ForwardingSource {
  private let base: any TableDataSource
  private let trace: Trace
  /// The provider and the number of the table, such as `csv#1`.
  private let name: String
  private let provider: String
  let abilities: AbilitySet

  init(_ base: any TableDataSource, provider: String, _ trace: Trace, number: Int) {
    self.base = base
    self.trace = trace
    self.provider = provider
    abilities = AbilitySet(of: base)
    name = "\(provider)#\(number)"
  }

  deinit { trace.note("\(name) released") }

  func call<Answer, each Argument>(
    _ call: Call<Answer, repeat each Argument>, _ argument: repeat each Argument
  ) throws(TableError) -> Answer {
    try trace.call("\(name) \(call.words(repeat each argument))") { () throws(TableError) in
      try call.make(base, repeat each argument)
    } words: {
      call.words(of: $0)
    }
  }

  var columns: [Column] { base.columns }
  var hasVolatileOrder: Bool { base.hasVolatileOrder }
  var storesEdits: Bool { base.storesEdits }

  var cancellation: (@Sendable () -> Void)? {
    guard let cancel = base.cancellation else { return nil }
    let (trace, name) = (trace, name)
    return {
      trace.note("\(name) cancel")
      cancel()
    }
  }

  func listen(_ notify: (@Sendable () -> Void)?) throws(TableError) {
    let (trace, name) = (trace, name)
    let traced = notify.map { notify -> @Sendable () -> Void in
      {
        trace.note("\(name) notifies")
        notify()
      }
    }
    let state = notify == nil ? "off" : "on"
    try trace.call("\(name) \(Operation.listen.name) \(state)") { () throws(TableError) in
      try Calls.ability(base.changes).listen(traced)
    } words: { _ in
      "ok"
    }
  }

  func supplementaryElement(
    ofKind kind: String, at path: IndexPath
  ) throws(TableError) -> SupplementaryElement? {
    let element = try call(Calls.supplementaryElement, kind, path)
    guard case .table(let table) = element else { return element }
    return .table(
      TracedSource(table, provider: provider, trace, number: trace.numberTable()))
  }
}
