/// A page of the help that is about no single command. A fact that matters to several commands is on such a page only.
struct Topic: Sendable {
  /// The word after `tabella help`.
  let name: String
  let title: String
  let summary: String
  let blocks: [Block]

  /// All topics. A new topic needs an entry here.
  static let all: [Topic] = [
    .locations, .rows, .filter, .sections, .formats, .follow, .edit, .status, .environment,
  ]

  private static let locations = Topic(
    name: "locations", title: "Locations", summary: "name data and choose its provider",
    blocks: [
      .paragraph("A location names the data of a table:"),
      .terms([
        Term(name: "data.csv, src/", meaning: "a path of a file or a folder"),
        Term(
          name: "processes:, csv:odd.name", meaning: "`SCHEME:REST`, if a provider has the scheme"),
        Term(
          name: "ini:settings.conf",
          meaning:
            "`ID:PATH`: a path with `--provider ID`, if no provider has the scheme `ID` and there is no such file"
        ),
        Term(
          name: "-",
          meaning:
            "standard input, which is text unless its first bytes or `--provider` choose another provider"
        ),
      ]),
      .paragraph(
        """
        `tabella LOCATION…` shows the table if the first word is an existing path, a `SCHEME:` of a provider, or `-`. \
        A command comes before a file with the same name: `tabella ./count` shows the file `count`.
        """),
      .paragraph(
        """
        The location decides which provider opens it: first the scheme, then the name of the file, then the first \
        bytes of the file. `--provider` names another provider. If the chosen provider is refused, the command fails \
        and prints the reason. `tabella providers` lists the schemes and file names that providers open.
        """),
      .paragraph(
        """
        `tabella describe LOCATION` lists the columns and the options of the provider. `-o` sets such an option. With \
        several locations, it is for those providers that have the option.
        """),
      .paragraph(
        """
        Several locations form one table. It contains their sections in order, and columns with the same name become \
        one column.
        """),
      .paragraph(
        """
        Providers that are not shipped with tabella run in processes of their own, where they can use only the data \
        that the location needs. With `--in-process`, a provider that crashes ends tabella. If the system lacks a part of that protection, reading prints a warning, and editing \
        is refused without `--weak-isolation`.
        """),
      .heading("Examples"),
      .examples([
        Term(name: "tabella a.csv b.csv", meaning: "show two files as one table"),
        Term(
          name: "tabella csv:/etc/passwd -o delimiter=: -o header=false",
          meaning: "open any file as csv"),
        Term(name: "tabella src/ -o recursive=true", meaning: "show a folder and its subfolders"),
      ]),
    ])

  private static let rows = Topic(
    name: "rows", title: "Rows", summary: "name rows, and choose them by position",
    blocks: [
      .paragraph("`set`, `insert`, `delete`, `move` and `describe` take the name of a ROW:"),
      .terms([
        Term(
          name: "5", meaning: "row 5 of the first section, or of the section of `--section`"),
        Term(name: "1:5, Berlin:5", meaning: "row 5 of section 1, or of the section `Berlin`"),
        Term(name: "title:3:5", meaning: "row 5 of the section with the title `3`"),
        Term(name: "3..9, 1:3..9", meaning: "the rows 3 to 9"),
        Term(
          name: "end, 1:end", meaning: "the position after the last row, for new and moved rows"),
        Term(name: "1:, Berlin:", meaning: "the section itself"),
        Term(name: "id:ID", meaning: "the row with this id"),
      ]),
      .paragraph(
        """
        Sections and rows are counted from 0 in the table that the same options show. So the row 0 of `set` is the \
        first row that `show` prints, if both have the same `--filter` and `--sort`.
        """),
      .paragraph(
        """
        `show --with-row` prints the name of each row, for other commands. The name is the id, which names the same \
        row with all options that show the row; otherwise the command fails. If the rows have no ids, the name is the \
        position, and options that choose or sort rows are refused. The option is not for `json`, which contains the \
        ids, nor for `--style collection`.
        """),
      .paragraph(
        """
        `--with-number` adds the number of each row in its source. In a text or CSV file it is the line where the row \
        begins, counted from 1 as in editors; elsewhere it is the position of the row, counted from 0.
        """),
      .paragraph(
        """
        `--rows A..B` counts from 0 through all sections, and includes both ends. `A..` ends at the last row, and \
        `..B` starts at row 0. `-N..` are the last N rows.
        """),
      .heading("Examples"),
      .examples([
        Term(
          name: "tabella data.csv --filter 'born > 1900' --with-row", meaning: "print names of rows"
        ),
        Term(
          name: "tabella data.csv --rows 1000..1009", meaning: "show ten rows from the middle"),
        Term(name: "tabella describe data.csv 12", meaning: "print all cells of one row"),
      ]),
    ])

  private static let filter = Topic(
    name: "filter", title: "Filters", summary: "choose rows by conditions and by text",
    blocks: [
      .paragraph(
        """
        `--filter 'COLUMN OP VALUE'` keeps the rows that match the condition. If there are several filters, a row must \
        match all of them.
        """),
      .heading("Operators"),
      .terms([
        Term(name: "=, !=", meaning: "the cell is VALUE; the cell is another value or missing"),
        Term(name: "<, <=, >, >=", meaning: "the cell is less than VALUE, and so on"),
        Term(
          name: "~, !~", meaning: "the cell contains a match of the regular expression; no match"
        ),
      ]),
      .heading("Values"),
      .paragraph(
        """
        Numbers and dates compare by value, and other text as `--sort` orders it. A part of a date means all of its \
        times: `2026-02` is the whole month, in local time unless `--utc` is given. Dates can be relative: `today`, \
        `yesterday`, `now-2h`, `-7d` (units s m h d w). `<` and `>` also read the date at the start of a longer text, \
        such as a line of a log. In a column of bytes, `10K` is 10 × 1024. Blanks around VALUE are \
        ignored unless VALUE is in quotes. `4.6.2025` is a date, too. A missing cell matches only `!=` and `!~`, so `!~ .` matches cells that \
        are missing or empty.
        """),
      .paragraph(
        """
        In a column of text, `=` and `!=` compare a VALUE in quotes with the exact text of the cell: `name = '10'` is \
        not the file 1e1. A filter is one condition, without `and` and `or`.
        """),
      .paragraph(
        """
        `{COLUMN}` means the cell of that column in the same row, as in `spent > {limit}`. Put the braces into quotes \
        if they are text.
        """),
      .heading("Regular expressions"),
      .paragraph(
        """
        `^` and `$` are the ends of the cell, and `.` is any character except a line feed. There are classes \
        (`[a-z]`, `[[:alpha:]]`, `\\d`, `\\w`, `\\s`), groups, `|`, and repetition (`*`, `+`, `?`, `{2,5}`), but no back \
        references. `(?i)` at the start ignores the case of ASCII letters. The option `pattern` of text files makes a column of each group with a name, (?<NAME>…).
        """),
      .heading("Search"),
      .paragraph(
        """
        `--search TEXT` keeps the rows that contain TEXT in any column. Several texts must all be in the row. The case of ASCII letters is ignored if TEXT \
        has no capital A to Z.
        """),
      .heading("Columns"),
      .paragraph(
        """
        COLUMN is the name of a column, with any characters. If several names match, the longest one counts. If two \
        columns are named `a`, the second one is `a 2`, unless another column has that name.
        """),
      .heading("Examples"),
      .examples([
        Term(name: "tabella data.csv --filter 'born > 1900'", meaning: "compare numbers"),
        Term(
          name: "tabella src/ --filter 'size > 1M' --filter 'name ~ \\.swift$'",
          meaning: "show large Swift files"),
        Term(name: "tabella data.csv --filter 'city !~ .'", meaning: "show rows without a city"),
        Term(name: "tabella data.csv --filter 'name != {city}'", meaning: "compare two columns"),
        Term(
          name: "tabella app.log -o pattern='took (?<took>\\d+)ms' --filter 'took > 1000'",
          meaning: "compare a part of each line"),
      ]),
    ])

  private static let sections = Topic(
    name: "sections", title: "Sections", summary: "group, sort and choose the parts of a table",
    blocks: [
      .paragraph(
        """
        A section is a part of a table with rows of its own, and perhaps a title. Some providers make sections, such \
        as the headings of a text. `--section-by` makes one for each value of a column, or for each class of values:
        """),
      .terms([
        Term(name: "COLUMN:letter", meaning: "the first letter, as a capital"),
        Term(
          name: "COLUMN:hour, day, week, weekday, month, year",
          meaning:
            "a part of a date, also of one at the start of a text; weeks are those of ISO 8601"),
        Term(name: "COLUMN:extension", meaning: "the extension of a file name"),
        Term(name: "COLUMN:100", meaning: "bins of this width, such as 100 to <200"),
        Term(
          name: "COLUMN:size",
          meaning: "the power of ten of a number; 1 KiB, 1 MiB and so on in a column of bytes"),
      ]),
      .paragraph(
        """
        These sections replace those of the table, and the column stays. They are in the order of their values. The \
        last sections are `other`, for cells without such a value, and `∅`, for missing cells. Several columns, \
        `region,date:month`, make a section of each combination.
        """),
      .paragraph(
        """
        `--sort` sorts the rows of each section. Numbers and dates are sorted by value, and text in natural order \
        (`a9` before `a10`). Missing cells are last. Equal rows keep their order.
        """),
      .paragraph(
        """
        `--section` shows one section, by its title or by its number, counted from 0. If a title is a number, write \
        `title:3`. `--at-index` starts at a title of the index, which `--index` prints.
        """),
      .paragraph(
        """
        `--sections-by` orders the sections by an aggregate of their rows (`rows`, `sum COLUMN`); sections without a \
        value are last. `--per-section` limits the rows of each. `--footer` prints aggregates of all rows of a section \
        that the filters keep, and of the table. `tabella help summarize` lists the aggregates.
        """),
      .paragraph(
        """
        `tabella count --section-by COLUMN` prints the number of rows of each section. `--with-section` adds the title \
        as a column (\(Formats.sectionColumnNames.joined(separator: ", "))).
        """),
      .heading("Examples"),
      .examples([
        Term(
          name: "tabella processes: --section-by user --sort memory:desc",
          meaning: "group by user, largest first"),
        Term(
          name: "tabella src/ --section-by kind --style grouped", meaning: "show a table per kind"),
        Term(
          name: "tabella README.md -o sections=headings --at-index Install",
          meaning: "start at a heading"),
        Term(
          name: "tabella README.md -o sections=headings --section Use", meaning: "show one section"),
      ]),
    ])

  private static let formats = Topic(
    name: "formats", title: "Formats", summary: "the output for people and for programs",
    blocks: [
      .terms([
        Term(name: "table", meaning: "for people; the default of `show`"),
        Term(name: "vertical", meaning: "for people, with one cell per line"),
        Term(name: "markdown", meaning: "a table for GitHub"),
        Term(
          name: "csv",
          meaning: """
            RFC 4180 with LF line ends; the default of `export`. Cells are quoted only if necessary, their bytes are \
            unchanged, and missing cells are empty
            """),
        Term(name: "tsv", meaning: "tabs, with `\\t` `\\n` `\\r` `\\\\` inside cells"),
        Term(
          name: "plain",
          meaning: """
            for scripts: tabs and no header. `\\N` is a missing cell, and escapes such as `\\n` or `\\x1b` replace \
            characters that are unsafe to print
            """),
        Term(
          name: "jsonl", meaning: "one JSON object per line, with the names of columns as keys"),
        Term(
          name: "json",
          meaning: """
            one document with `columns` and `sections`. A section has a `title` and `rows`, and a row has its `id` \
            and `cells` in the order of the columns. If the rows end early, the last member is `error`
            """),
        Term(
          name: "arrow-stream",
          meaning: "binary, for readers of Apache Arrow; only in `export`, and text must be UTF-8"),
      ]),
      .paragraph(
        """
        In JSON, a missing cell is `null`, a date is RFC 3339 in UTC, and `{"base64":"…"}` holds bytes that are not \
        UTF-8. All formats except `json` print rows while they are read.
        """),
      .heading("Tables for people"),
      .paragraph(
        """
        On a terminal a table fits its width. The command cuts long text, but never numbers and dates. Before it cuts \
        important columns, it leaves out the least important ones; the provider ranks its columns, and columns of \
        `--columns` leave from the right. Columns without any value are left out, too, unless you name them. Standard \
        error names them. If less than a third of the columns fit, each row is a record of several lines. The last \
        line counts rows and columns. In a pipe or a file nothing is cut.
        """),
      .paragraph(
        """
        Output that is longer than the screen goes to a pager. `auto` is the default of `--vertical`, `--color` and \
        `--hyperlink`; the last two then depend on the terminal. File names have the colours of `ls` (`LS_COLORS`). \
        `--style grouped` frames each section, and `--style collection` prints a grid of the first cells.
        """),
      .paragraph(
        """
        `table`, `vertical` and `markdown` print dates short and in local time (the variable `TZ`). The other formats \
        print them exactly, in UTC.
        """),
      .paragraph(
        """
        Text in brackets after a name is a badge of the provider, such as `[3 entries]`. It does not belong to the \
        cell, so formats for programs leave it out.
        """),
      .heading("Examples"),
      .examples([
        Term(name: "tabella src/ --style collection", meaning: "show a grid of names, as ls does"),
        Term(name: "tabella data.csv --rows 1..1 --vertical always", meaning: "show one row"),
        Term(name: "tabella data.csv --json", meaning: "print JSON"),
      ]),
    ])

  private static let follow = Topic(
    name: "follow", title: "Tables that change",
    summary: "see rows as they arrive, or a table that redraws itself",
    blocks: [
      .paragraph(
        """
        `show --follow` prints the rows, and then each row as soon as it arrives. It works with \
        \(Formats.followedNames.joined(separator: ", ")). `-n N` begins with the last N rows. Filters and sections stay \
        live. A row that is deleted, moved or gets other cells prints nothing. An edited line of a file is a new row.
        """),
      .paragraph(
        """
        With `--format jsonl`, `--follow` prints an object per change: `insert`, `delete`, `move`, `update`, `reload`. \
        Each counts positions in the table that the objects before it leave. `--sort` and `--sections-by` require this \
        format.
        """),
      .paragraph(
        """
        `show --watch` draws the first rows in place, and again when the table changes. `--watch=SECONDS` draws at an \
        interval. If \
        a provider reports no changes, the table is opened again every 2 seconds. `+` marks new rows and `~` changed \
        ones, until the next change. If the provider fails, the rows stay and the last line has the error.
        """),
      .paragraph(
        """
        Both end with Ctrl-C (status 130), and `--watch` also with `q` (status 0). The terminal is then as before.
        """),
      .heading("Examples"),
      .examples([
        Term(name: "tabella app.log --follow -n 10", meaning: "as tail -f"),
        Term(
          name: "tabella app.log --follow --filter 'line ~ ERROR'", meaning: "print errors"
        ),
        Term(name: "tabella processes: --watch --sort cpu:desc", meaning: "as top"),
        Term(
          name: "tabella src/ --follow --format jsonl", meaning: "print each change of a folder"),
      ]),
    ])

  private static let edit = Topic(
    name: "edit", title: "Edits", summary: "confirm, check and undo edits",
    blocks: [
      .paragraph(
        """
        `set`, `insert`, `delete`, `move` and `apply` change the data itself. When the command ends, the edit is \
        stored durably or not made at all.
        """),
      .paragraph(
        """
        `delete`, and `set` without ROW, show the rows and ask for confirmation. To confirm more than 100 rows, type \
        their number. Without a terminal, `--yes` is required.
        """),
      .paragraph(
        """
        Some orders change by themselves (folders, processes). There a position may belong to another row when the \
        command uses it. Name such a row by `id:ID`, or use its position with `--if-version`, or confirm its position \
        on the terminal; the command then edits the row that it showed.
        """),
      .paragraph(
        """
        If the table has changed since it was opened, the command changes nothing (status 5). A version names a state \
        of the table; `show --json` prints it.
        """),
      .paragraph(
        """
        The command reports the edit and its receipt on standard error, or with `--json` on standard output. The \
        receipt contains the data with which `tabella undo` undoes the edit. `tabella log` lists the receipts.
        """),
    ])

  private static let status = Topic(
    name: "status", title: "Exit status", summary: "exit statuses and error messages",
    blocks: [
      .terms([
        Term(name: "0", meaning: "done"),
        Term(
          name: "1",
          meaning: """
            failed, or done in part; the message says which part. Also, `diff --exit-code` found differences
            """),
        Term(
          name: "2",
          meaning: "the command line is wrong, such as an unknown command, option or column"),
        Term(
          name: "3", meaning: "a provider could not be found or loaded, or it broke the contract"),
        Term(name: "4", meaning: "refused by the provider, by permissions or by trust"),
        Term(name: "5", meaning: "the source changed in the meantime; nothing was done"),
        Term(
          name: "130", meaning: "interrupted by Ctrl-C; for another signal, 128 plus its number"),
        Term(name: "141", meaning: "the program that read the output ended first, as `head` does"),
      ]),
      .paragraph(
        """
        An error is one line on standard error, `tabella: SUBJECT: MESSAGE`. With `--json` it is one JSON object on \
        standard error.
        """),
    ])

  private static let environment = Topic(
    name: "environment", title: "Environment", summary: "environment variables",
    blocks: [
      .terms([
        Term(
          name: "TABELLA_PROVIDER_PATH",
          meaning: """
            the directories to search for providers first: absolute paths, separated by colons. The directory of \
            the program and `../lib/tabella/providers` relative to it follow
            """),
        Term(
          name: "XDG_DATA_HOME",
          meaning: """
            the last directory to search for providers is `tabella/providers` in this directory; the default is \
            `~/.local/share`
            """),
        Term(
          name: "XDG_STATE_HOME",
          meaning: """
            `tabella/receipts` in this directory keeps the receipts of edits; the default is `~/.local/state`. If \
            neither this nor HOME is an absolute path, every edit is refused (status 1)
            """),
        Term(
          name: "XDG_CONFIG_HOME",
          meaning: """
            `tabella/pins.json` in this directory keeps the pins of providers; the default is `~/.config`
            """),
        Term(
          name: "TABELLA_THREADS",
          meaning: """
            the number of threads that share long work, from 1 to 1024; the default is the number of processors that \
            this process may use. It does not change any result
            """),
        Term(
          name: "TABELLA_TRACE",
          meaning: """
            a file to which tabella appends all calls of providers, one per line, without the content of cells. \
            `-` is standard error
            """),
        Term(
          name: "NO_COLOR",
          meaning:
            "if not empty, there are no colours; `--color` overrides this and the next variables"
        ),
        Term(
          name: "CLICOLOR_FORCE, FORCE_COLOR",
          meaning: """
            if the first of them that is not empty is not 0, pipes and files get colours, too, unless NO_COLOR \
            is set
            """),
        Term(
          name: "CLICOLOR",
          meaning: "if 0, there are no colours unless CLICOLOR_FORCE or FORCE_COLOR is set"),
        Term(
          name: "TABELLA_PAGER, PAGER",
          meaning: """
            the program that shows output longer than the screen. The first variable that is set counts; the \
            default is `less`. Empty or `cat` means no pager. If the pager fails, the exit status is 1
            """),
        Term(
          name: "LS_COLORS",
          meaning:
            "the colours of file names, as for `ls`; the codes `or`, `mi` and `mh` have no effect"),
        Term(name: "LESS", meaning: "the options of `less`; the default is `FRX`"),
        Term(
          name: "COLUMNS, LINES",
          meaning: "the size of the terminal, if the terminal does not report it"),
        Term(
          name: "TERM",
          meaning: "if not set or `dumb`, there are no colours, links, pager or progress"),
        Term(
          name: "LC_ALL, LC_CTYPE, LANG",
          meaning:
            "decide whether the lines of tables can contain characters beyond ASCII; cells always can"
        ),
      ])
    ])
}
