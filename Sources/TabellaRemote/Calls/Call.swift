import Tabella

/// One call of a source, described once.
///
/// The host's end of a session (``RemoteSource``), the worker's end (``SourceServer``) and the trace all
/// follow from the description. ``Calls`` lists the calls.
package struct Call<Answer, each Argument>: Sendable {
  package let operation: Operation
  /// Makes the call on a source.
  package let make:
    @Sendable (any TableDataSource, repeat each Argument) throws(TableError) -> Answer
  /// Whether the source may have another version afterwards. Then its columns follow the answer.
  let mayChangeColumns: Bool

  private let askedWords: (@Sendable (repeat each Argument) -> String)?
  private let answerWords: (@Sendable (Answer) -> String)?
  private let argumentValues: @Sendable (repeat each Argument) -> [any WireValue]
  private let readArguments:
    @Sendable (inout WireReader) throws(TableError) -> (repeat each Argument)
  private let form: AnswerForm<Answer>

  /// A call whose answer crosses in a form of its own.
  ///
  /// `asked` and `answered` are for the trace: they tell numbers and lengths, and never content. `asked`
  /// follows the name of the operation.
  init(
    _ operation: Operation, as form: AnswerForm<Answer>, mayChangeColumns: Bool = false,
    asked: (@Sendable (repeat each Argument) -> String)? = nil,
    answered: (@Sendable (Answer) -> String)? = nil,
    make:
      @escaping @Sendable (any TableDataSource, repeat each Argument) throws(TableError) -> Answer
  ) where repeat each Argument: WireValue & SendableMetatype {
    self.operation = operation
    self.form = form
    self.mayChangeColumns = mayChangeColumns
    self.make = make
    askedWords = asked
    answerWords = answered
    argumentValues = { (argument: repeat each Argument) in
      var values: [any WireValue] = []
      for value in repeat each argument { values.append(value) }
      return values
    }
    readArguments = { reader throws(TableError) in
      (repeat try reader.get((each Argument).self))
    }
  }

  /// A call whose answer crosses as a value.
  init(
    _ operation: Operation, mayChangeColumns: Bool = false,
    asked: (@Sendable (repeat each Argument) -> String)? = nil,
    answered: (@Sendable (Answer) -> String)? = nil,
    make:
      @escaping @Sendable (any TableDataSource, repeat each Argument) throws(TableError) -> Answer
  ) where Answer: WireValue & SendableMetatype, repeat each Argument: WireValue & SendableMetatype {
    self.init(
      operation, as: .value, mayChangeColumns: mayChangeColumns, asked: asked, answered: answered,
      make: make)
  }

  // The trace

  /// The call in words: its name and its arguments.
  package func words(_ argument: repeat each Argument) -> String {
    guard let words = askedWords?(repeat each argument), !words.isEmpty else {
      return operation.name
    }
    // The words for a batch of edits begin with a colon or a comma.
    let separator = words.first == ":" || words.first == "," ? "" : " "
    return operation.name + separator + words
  }

  /// An answer in words.
  package func words(of answer: Answer) -> String { answerWords?(answer) ?? "\(answer)" }

  // The host's end

  func values(_ argument: repeat each Argument) -> [any WireValue] {
    argumentValues(repeat each argument)
  }

  /// Reads the answer from a message. The result makes the answer, after the session is unlocked.
  func readAnswer(
    _ reader: inout WireReader, _ message: IncomingMessage
  ) throws(TableError) -> (RemoteSession) -> Answer { try form.read(&reader, message) }
}

/// How an answer crosses from the worker to the host.
struct AnswerForm<Answer>: Sendable {
  /// Returns a message that begins with `head`. Sources in the answer are entered in the server.
  let write: @Sendable (Answer, _ head: [UInt8], SourceServer) -> OutgoingMessage
  /// Reads the answer while the session is locked. The result makes it, and is called when the session is unlocked: a
  /// source that was released under the lock would wait for it forever.
  let read:
    @Sendable (inout WireReader, IncomingMessage) throws(TableError) -> (RemoteSession) -> Answer
}

extension AnswerForm where Answer: WireValue & SendableMetatype {
  /// As a value.
  static var value: AnswerForm {
    AnswerForm(
      write: { answer, head, _ in
        var writer = WireWriter(head)
        writer.put(answer)
        return OutgoingMessage(writer.bytes)
      },
      read: { reader, _ throws(TableError) in
        let answer = try reader.get(Answer.self)
        return { _ in answer }
      })
  }
}

extension AnswerForm<Batch> {
  /// With the cells as they lie in memory.
  static let batch = AnswerForm(
    write: { batch, head, _ in outgoing(batch, behind: head) },
    read: { reader, message throws(TableError) in
      let batch = try incomingBatch(&reader, in: message)
      return { _ in batch }
    })
}

extension AnswerForm<SupplementaryElement?> {
  /// A table becomes a source in the worker, and its description crosses.
  static let element = AnswerForm(
    write: { element, head, server in
      let form: WireElement? =
        switch element {
        case nil: nil
        case .text(let text): .text(text)
        case .table(let table): .table(server.describe(table))
        }
      return AnswerForm<WireElement?>.value.write(form, head, server)
    },
    read: { reader, _ throws(TableError) in
      let element = try reader.get(WireElement?.self)
      return { session in
        switch element {
        case nil: nil
        case .text(let text): .text(text)
        case .table(let description): .table(RemoteSource(description, in: session))
        }
      }
    })
}

/// A call as the worker's end knows it, whatever its arguments are.
protocol ServedCall: Sendable {
  /// Reads the arguments, makes the call, and returns a message that begins with `head`.
  func serve(
    _ source: any TableDataSource, _ reader: inout WireReader, head: [UInt8],
    in server: SourceServer
  ) throws(TableError) -> OutgoingMessage
}

extension Call: ServedCall {
  func serve(
    _ source: any TableDataSource, _ reader: inout WireReader, head: [UInt8],
    in server: SourceServer
  ) throws(TableError) -> OutgoingMessage {
    let arguments = try readArguments(&reader)
    var message = form.write(try make(source, repeat each arguments), head, server)
    if mayChangeColumns {
      var writer = WireWriter(message.head)
      writer.put(source.columns)
      message.head = writer.bytes
    }
    return message
  }
}
