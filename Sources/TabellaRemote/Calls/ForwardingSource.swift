import Tabella

/// A source that makes each call through one function: over a session, or on another source with a line in
/// a trace.
///
/// It has the abilities in its ``CompleteSource/abilities``.
package protocol ForwardingSource: CompleteSource {
  func call<Answer, each Argument>(
    _ call: Call<Answer, repeat each Argument>, _ argument: repeat each Argument
  ) throws(TableError) -> Answer
}
