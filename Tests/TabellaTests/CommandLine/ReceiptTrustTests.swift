import Foundation
import Tabella
import Testing

@testable import TabellaTestSupport

/// Only receipts that no other user can have written are used.
@Suite struct ReceiptTrustTests {
  let ledgers: Ledgers

  init() throws {
    ledgers = try Ledgers()
    #expect(try ledgers.tabella("set", "a.ledger", "0", "count=5").status == 0)
  }

  private var edited: String { "Ada\t5\nBob\t2\nCy\t\\N\n" }
  private var receipt: String {
    "\(ledgers.receipts)/\(ledgers.receiptNames[0])".replacingOccurrences(of: "//", with: "/")
  }

  /// `undo` trusted a receipt that anybody could have written.
  @Test(arguments: [
    ("state/tabella/receipts", "0777"), ("state/tabella", "0775"), ("state", "0757"),
  ])
  func aFolderThatOthersMayWrite(_ name: String, _ digits: String) throws {
    let folder = "\(ledgers.folder.path)/\(name)".replacingOccurrences(of: "//", with: "/")
    let mode = try #require(mode_t(digits, radix: 8))
    #expect(chmod(folder, mode) == 0)
    let id = try #require(ledgers.receiptIDs.first)
    for words in [
      ["undo", "a.ledger"], ["undo", "a.ledger", "--dry-run"], ["undo", "receipt:\(id)"], ["log"],
    ] {
      let result = try ledgers.tabella(words)
      #expect(result.status == 4, "\(words): \(result.errors)")
      #expect(result.errors.contains("\(folder) has mode \(digits)"), "\(result.errors)")
      #expect(result.errors.contains("; chmod ") && result.errors.contains("-w \(folder)"))
    }
    // An edit whose receipt would not be trusted is not started.
    for more in [["--dry-run"], []] {
      let edit = try ledgers.tabella(["set", "a.ledger", "0", "count=6"] + more)
      #expect(edit.status == 4 && edit.errors.contains("so nothing was done"), "\(edit.errors)")
      #expect(edit.errors.contains("\(folder) has mode \(digits)"))
    }
    #expect(try ledgers.content() == edited)
    #expect(ledgers.receiptNames.count == 1)
    // The command that the message recommends.
    #expect(try ledgers.shell("chmod go-w '\(folder)'").status == 0)
    #expect(try ledgers.tabella("undo", "a.ledger").status == 0)
  }

  /// In a sticky folder, nobody can exchange files of others, but everybody can create files.
  @Test func aStickyFolder() throws {
    #expect(chmod(ledgers.receipts, 0o1777) == 0)
    let undo = try ledgers.tabella("undo", "a.ledger")
    #expect(undo.status == 4 && undo.errors.contains("mode 1777"), "\(undo.errors)")
    #expect(try ledgers.content() == edited)
    // A sticky folder on the way does not matter, even if nothing exists below it yet.
    #expect(
      chmod(ledgers.receipts, 0o700) == 0 && chmod(ledgers.folder.path + "/state", 0o1777) == 0)
    #expect(try ledgers.tabella("undo", "a.ledger").status == 0)
    let new = ledgers.folder.path + "/new"
    #expect(mkdir(new, 0o700) == 0 && chmod(new, 0o1777) == 0)
    let edit = try ledgers.tabella(
      "set", "a.ledger", "0", "count=7", environment: ["XDG_STATE_HOME": new])
    #expect(edit.status == 0, "\(edit.errors)")
  }

  /// Root executed the receipt of another user.
  @Test(.needs(.root))
  func aReceiptOfAnotherUser() throws {
    let id = try #require(ledgers.receiptIDs.first)
    #expect(chown(receipt, 65534, 65534) == 0)
    for operand in ["a.ledger", "receipt:\(id)"] {
      let undo = try ledgers.tabella("undo", operand)
      #expect(undo.status == 4, "\(undo.errors)")
      #expect(undo.errors.contains("is owned by") && undo.errors.contains("; chown root "))
    }
    #expect(try ledgers.content() == edited)
    // The log continues and names the receipt.
    #expect(try ledgers.tabella("set", "a.ledger", "1", "count=8").status == 0)
    let log = try ledgers.tabella("log", "--format", "jsonl")
    #expect(log.status != 0 && log.lines.count == 1)
    #expect(log.errors.contains("receipt:\(id)") && log.errors.contains("is owned by"))
  }

  @Test(.needs(.root))
  func aFolderOfAnotherUser() throws {
    #expect(chown(ledgers.receipts, 65534, 65534) == 0)
    let undo = try ledgers.tabella("undo", "a.ledger")
    #expect(undo.status == 4 && undo.errors.contains("is owned by"), "\(undo.errors)")
    let edit = try ledgers.tabella("set", "a.ledger", "0", "count=6")
    #expect(edit.status == 4 && edit.errors.contains("chown root "), "\(edit.errors)")
    #expect(try ledgers.content() == edited)
  }

  @Test func aReceiptThatOthersMayWrite() throws {
    #expect(chmod(receipt, 0o666) == 0)
    let undo = try ledgers.tabella("undo", "a.ledger")
    #expect(undo.status == 4 && undo.errors.contains("chmod go-w \(receipt)"), "\(undo.errors)")
    #expect(try ledgers.content() == edited)
  }

  /// Links on the way are followed if both ends are trusted. A link in place of a receipt is refused.
  @Test func links() throws {
    let (state, other) = (ledgers.folder.path + "/state", ledgers.folder.path + "/other")
    #expect(rename(state, other) == 0 && symlink(other, state) == 0)
    #expect(try ledgers.tabella("undo", "a.ledger", "--dry-run").status == 0)
    #expect(rename(receipt, other + "/moved") == 0)
    let id = "20010101T000000.000000Z-abcdef"
    #expect(symlink(other + "/moved", "\(ledgers.receipts)/\(id).receipt") == 0)
    let undo = try ledgers.tabella("undo", "receipt:\(id)")
    #expect(undo.status == 1 && undo.errors.contains("it is a symbolic link"), "\(undo.errors)")
    #expect(chmod(other, 0o777) == 0)
    #expect(try ledgers.tabella("undo", "a.ledger").status == 4)
    #expect(try ledgers.content() == edited)
  }
}
