import Tabella
import TabellaHost

/// The explanation of the choice of a provider, as members of the output of `describe`.
///
/// People read one line if the choice is usual, and more if other providers fit, too. JSON has all facts.
struct ChoiceDescription {
  let members: JSONObject

  init(_ choice: ProviderChoice, isForPeople: Bool) {
    members = isForPeople ? Self.text(choice) : ["choice": Self.json(choice)]
  }

  private static func text(_ choice: ProviderChoice) -> JSONObject {
    var members: JSONObject = [:]
    if let first = choice.candidates.first {
      if first.refusal == nil {
        members["chosen because"] = .string(first.reason.text)
      } else {
        members["not opened because"] = .string(describe(first))
      }
    }
    // A provider of any name always fits, so it is only of interest if there is no better one.
    let others = choice.candidates.dropFirst().filter {
      $0.reason != .anyName || choice.chosen == nil || $0.refusal != nil
    }
    members["other candidates"] = .array(others.map { .string(describe($0)) })
    members["refused"] = .array(choice.refusals.map { .string("\($0.path): \($0.reason)") })
    for key in members.keys where members[key] == .array([]) { members[key] = nil }
    return members
  }

  private static func describe(_ candidate: ProviderChoice.Candidate) -> String {
    let fits = "\(candidate.provider): \(candidate.reason.text)"
    return candidate.refusal.map { "\(fits), but \($0)" } ?? fits
  }

  private static func json(_ choice: ProviderChoice) -> JSONValue {
    .object([
      "chosen": choice.chosen.map { .string($0.provider) } ?? .null,
      "candidates": .array(
        choice.candidates.map { candidate in
          var members = json(candidate.reason)
          members["provider"] = .string(candidate.provider)
          members["refusal"] = candidate.refusal.map { .string($0) } ?? .null
          return .object(members)
        }),
      "refused": .array(
        choice.refusals.map {
          .object(["path": .string($0.path), "reason": .string($0.reason)])
        }),
      "providers": .array(choice.known.map { .string($0) }),
    ])
  }

  private static func json(_ reason: ProviderChoice.Reason) -> JSONObject {
    switch reason {
    case .name: ["by": .string("name")]
    case .scheme(let scheme): ["by": .string("scheme"), "scheme": .string(scheme)]
    case .pattern(let pattern): ["by": .string("pattern"), "pattern": .string(pattern)]
    case .magic(let offset, let bytes):
      [
        "by": .string("magic"), "offset": .number("\(offset)"),
        "bytes": .string(
          bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()),
      ]
    case .anyName: ["by": .string("pattern"), "pattern": .string("*")]
    }
  }
}
