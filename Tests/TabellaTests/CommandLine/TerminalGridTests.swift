import Foundation
import TabellaTerminal
import Testing

@testable import TabellaTestSupport

/// The drawing of a real terminal, measured in tmux, which has a grid of cells and reports the position of the cursor.
@Suite(.needs("tmux", "python3")) struct TerminalGridTests {
  struct Sample: Sendable {
    var text: String
    /// The columns in tmux 3.3a if it is known to be wrong. The reason is next to each sample.
    var inTmux: Int?

    init(_ text: String, inTmux: Int? = nil) {
      self.text = text
      self.inTmux = inTmux
    }

    var safe: SafeText { SafeText(text) }
  }

  static let corpus: [Sample] =
    [
      "plain", "漢字", "ひらがなカタカナ", "ｱｲｳ", "ﾊﾞ", "Ａ１", "㍿", "、。「」", "é", "e\u{301}", "a\u{AD}b",
      // Korean: syllables, and jamo that form one.
      "가각", "\u{1100}\u{1161}\u{11A8}", "\u{1100}\u{1161}",
      // Thai, Lao, Khmer, Burmese, Tibetan; with SARA AM.
      "ก่า", "น้ำ", "กำ", "ຳ", "ស្រី", "က်", "ཨོཾ", "ក\u{200B}ខ",
      // India.
      "क्षि", "की", "नमस्ते", "நி", "கொ", "தமிழ்", "বাংলা", "नी\u{200C}",
      // Right-to-left scripts.
      "العربية", "لا", "مُحَمَّد", "١٢٣", "שָׁלוֹם", "עברית abc", "\u{600}1", "\u{110BD}",
      // Ambiguous characters, boxes, private use.
      "±°α", "Привет", "…", "│┌─┐", "①", "\u{E0B0}", "䷀", "﷽",
      // Emoji of one scalar, and of several if tmux agrees.
      "😀", "⌚", "❤", "⬛", "🀄", "🏽", "😀\u{FE0F}", "⌚\u{FE0E}", "☺\u{FE0E}", "🇩🇪", "🇩🇪🇫🇷", "🇩",
      "1\u{20E3}",
      "👨‍👩‍👧‍👦", "👩‍💻", "🧑‍🤝‍🧑", "a🏽",
      // Escapes.
      "a\u{2060}b", "\u{FEFF}a", "\u{202E}abc", "\u{1B}[31m", "🏴\u{E0067}\u{E0062}\u{E007F}",
      // More combining marks than tabella shows.
      "Z" + String(repeating: "\u{301}", count: 8),
      "Z" + String(repeating: "\u{301}", count: 40) + "a",
      "漢" + String(repeating: "\u{302}", count: 20), "a\u{301}\u{302}\u{303}b\u{304}", "\u{301}a",
    ].map { Sample($0) } + [
      // tmux 3.3a does not widen emoji with U+FE0F; version 3.4 does.
      Sample("❤️", inTmux: 1), Sample("⚠️", inTmux: 1), Sample("©️", inTmux: 1),
      Sample("1️⃣", inTmux: 1),
      Sample("#️⃣", inTmux: 1), Sample("🏳️‍🌈", inTmux: 1), Sample("❤️‍🔥", inTmux: 1),
      // tmux draws a skin tone next to its hand.
      Sample("👍🏽", inTmux: 4), Sample("✊🏿", inTmux: 4), Sample("☝🏽", inTmux: 3),
      Sample("👩🏽‍💻", inTmux: 4),
      Sample("⛹🏽‍♀️", inTmux: 3),
    ]

  @Test func widthsAreThoseOfATerminal() throws {
    let folder = try TemporaryFolder()
    let samples = TerminalGridTests.corpus
    try folder.write("lines", samples.map { $0.safe.string + "\n" }.joined())
    let tmux = try Tmux(folder)
    let columns = try tmux.columns(of: "lines")
    try #require(columns.count == samples.count)
    for (sample, column) in zip(samples, columns) {
      let expected = tmux.expected(sample)
      #expect(expected.contains(column), "\(sample.safe): \(column), not \(expected)")
    }
  }

  @Test func cellsBehindAnyTextAreAligned() throws {
    let folder = try TemporaryFolder()
    let samples = TerminalGridTests.corpus
    let rows = samples.enumerated().map { "\($1.text),@\($0)\n" }
    let file = try folder.write("corpus.csv", "sample,marker\n" + rows.joined())
    let tmux = try Tmux(folder)
    let shown = try tmux.run(
      """
      import pty, subprocess
      ours, theirs = pty.openpty()
      fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
      shown = subprocess.Popen(["\(buildFolder)/tabella", "show", "\(file)"], stdout=theirs)
      os.close(theirs)
      text = b""
      while True:
        try: text += os.read(ours, 65536)
        except OSError: break
      assert shown.wait() == 0
      lines = [line for line in text.decode().replace("\\r", "").split("\\n") if "@" in line]
      for line in lines: answer(column(line[:line.index("@")]))
      """)
    try #require(shown.count == samples.count)
    let marker = shown[0]
    for (sample, column) in zip(samples, shown) {
      let shifts = tmux.expected(sample).map { $0 - sample.safe.width }
      #expect(shifts.contains(column - marker), "\(sample.safe): \(column), not \(marker)")
    }
  }
}

/// A separate tmux without a visible window.
private struct Tmux {
  let tmux: String
  let python: String
  let folder: TemporaryFolder
  let version: String

  init(_ folder: TemporaryFolder) throws {
    (tmux, python, self.folder) = (try findProgram("tmux"), try findProgram("python3"), folder)
    version = try TabellaTestSupport.run(tmux, ["-V"]).lines.first ?? ""
  }

  /// The permitted numbers of columns for a sample. Other versions of tmux may have fixed the mistakes of 3.3a.
  func expected(_ sample: TerminalGridTests.Sample) -> [Int] {
    guard let known = sample.inTmux else { return [sample.safe.width] }
    return version == "tmux 3.3a" ? [known] : [known, sample.safe.width]
  }

  /// The number of columns of each line of a file in the folder.
  func columns(of file: String) throws -> [Int] {
    try run(
      """
      for line in open("\(folder.path)/\(file)", encoding="utf-8").read().split("\\n")[:-1]:
        answer(column(line))
      """)
  }

  /// Runs a Python script in the terminal and returns the numbers that it answers.
  func run(_ script: String) throws -> [Int] {
    let answers = "\(folder.path)/answers"
    let file = try folder.write("script.py", Tmux.head(answers) + script + "\nfinish()\n")
    let session = [
      "-L", "tabella", "-f", "/dev/null", "-u", "new-session", "-d", "-x", "200", "-y", "50",
      "\(python) \(file) 2> \(folder.path)/errors",
    ]
    let environment = ["TMUX_TMPDIR": folder.path, "LC_ALL": "C.UTF-8"]
    let started = try TabellaTestSupport.run(tmux, session, environment: environment)
    guard started.status == 0 else { throw MissingTool("a tmux that starts: \(started.errors)") }
    defer {
      // The server ends by itself together with the script.
      _ = try? TabellaTestSupport.run(
        tmux, ["-L", "tabella", "kill-server"], environment: environment)
    }
    for _ in 0..<600 where !FileManager.default.fileExists(atPath: answers) { usleep(50_000) }
    let errors = (try? String(contentsOfFile: "\(folder.path)/errors", encoding: .utf8)) ?? ""
    try #require(FileManager.default.fileExists(atPath: answers), "\(errors)")
    return try String(contentsOfFile: answers, encoding: .utf8).split(separator: "\n").compactMap {
      Int($0)
    }
  }

  /// The beginning of every script: it writes text at the first column and reads the position of the cursor.
  private static func head(_ answers: String) -> String {
    """
    import fcntl, os, struct, sys, termios, tty
    terminal = os.open("/dev/tty", os.O_RDWR)
    tty.setraw(terminal)
    numbers = []
    def column(text):
      os.write(terminal, b"\\r\\x1b[K" + text.encode() + b"\\x1b[6n")
      report = b""
      while not report.endswith(b"R"): report += os.read(terminal, 1)
      return int(report[report.rindex(b"[") + 1:-1].split(b";")[1]) - 1
    def answer(number): numbers.append(number)
    def finish():
      with open("\(answers).part", "w") as file: file.writelines(f"{n}\\n" for n in numbers)
      os.rename("\(answers).part", "\(answers)")

    """
  }
}
