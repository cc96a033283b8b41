//! Tests of the parts: `make test` builds and runs them.
use crate::bytes::{digest, Bytes, Digest, Piece, Pieces};
use crate::ids::{self, Ids};
use crate::json::{self, Form};
use crate::plan::{Plan, Step};
use crate::provider::*;
use crate::receipt::Receipt;
use crate::save::{self, Status, Temporary};
use crate::tabella::*;
use std::io::Write;
use std::rc::Rc;

/// A source with a bug in every function.
struct Faulty;

impl Source for Faulty {
    fn columns(&self) -> &[Column] {
        panic!("columns")
    }
    fn version(&mut self) -> Outcome<String> {
        panic!("version")
    }
    fn section_count(&mut self) -> Outcome<Option<u64>> {
        Ok(Some(3))
    }
    fn title(&mut self, _: u64) -> Outcome<Option<String>> {
        panic!("title")
    }
    fn row_count(&mut self, section: u64, at_least: u64) -> Outcome<(u64, bool)> {
        panic!("row_count {} of {}", at_least, section)
    }
    fn rows(&mut self, _: &Request, _: &mut Batch) -> Outcome<()> {
        panic!("rows")
    }
    fn find(&mut self, _: &[u8]) -> Outcome<RowPath> {
        panic!("find")
    }
    fn remark(&mut self) -> Option<String> {
        panic!("remark")
    }
    fn is_editable(&self) -> bool {
        panic!("is_editable")
    }
    fn commit(&mut self, _: &[Edit], _: bool) -> Outcome<Commit> {
        panic!("commit")
    }
    fn undo(&mut self, _: &[u8], _: bool) -> Outcome<Commit> {
        panic!("undo")
    }
}

impl Drop for Faulty {
    fn drop(&mut self) {
        panic!("drop")
    }
}

/// A panic must not cross the contract. Before Rust 1.81 that was undefined, and since then it ends the process.
#[test]
fn a_panic_becomes_an_error() {
    unsafe {
        let mut entry: tabella_entry = std::mem::zeroed();
        entry.contract_version = TABELLA_CONTRACT_VERSION;
        assert_eq!(enter(&mut entry, "faulty", "1.0", |_, _| Ok(Box::new(Faulty))), TABELLA_OK);
        let request: tabella_open_request = std::mem::zeroed();
        let mut source: tabella_source = std::mem::zeroed();
        let mut error: tabella_error = std::mem::zeroed();
        let open = entry.provider.open.unwrap();
        assert_eq!(open(entry.provider.provider, &request, &mut source, &mut error), TABELLA_OK);
        let table = &*source.table;
        let mut count: tabella_count = std::mem::zeroed();
        let code = table.row_count.unwrap()(source.source, 2, 7, &mut count, &mut error);
        assert_eq!(code, TABELLA_INTERNAL);
        let bytes =
            std::slice::from_raw_parts(error.message.bytes as *const u8, error.message.length as usize);
        assert_eq!(std::str::from_utf8(bytes), Ok("the provider panicked: row_count 7 of 2"));
        error.release.unwrap()(&mut error);
        assert!(error.release.is_none());
        // The layer itself refuses sections that do not exist.
        for (section, expected) in [(3, TABELLA_NOT_FOUND), (-1, TABELLA_INVALID_ARGUMENT)] {
            let code = table.row_count.unwrap()(source.source, section, 7, &mut count, &mut error);
            assert_eq!(code, expected);
            error.release.unwrap()(&mut error);
        }
        let mut batch: tabella_batch = std::mem::zeroed();
        let row_request: tabella_row_request = tabella_row_request { count: 1, ..std::mem::zeroed() };
        let code = table.rows.unwrap()(source.source, &row_request, &mut batch, &mut error);
        assert_eq!(code, TABELLA_INTERNAL);
        error.release.unwrap()(&mut error);
        let id = tabella_string { bytes: std::ptr::null(), length: 0 };
        assert!(table.ability.unwrap()(source.source, id).is_null());
        table.release.unwrap()(source.source);
    }
}

fn path(section: u64, row: u64) -> RowPath {
    RowPath { section, row }
}

fn set(section: u64, row: u64) -> Edit {
    Edit::Set { row: path(section, row), cells: Vec::new() }
}

fn insert(section: u64, row: u64) -> Edit {
    Edit::Insert { target: path(section, row), cells: Vec::new() }
}

fn delete(section: u64, row: u64) -> Edit {
    Edit::Delete { row: path(section, row) }
}

fn moved(from: RowPath, target: RowPath) -> Edit {
    Edit::Move { row: from, target }
}

#[test]
fn a_plan_has_the_rows_in_their_new_order() {
    let edits = [delete(0, 1), set(0, 4), moved(path(0, 4), path(0, 0)), insert(0, 2)];
    let plan = Plan::new(&edits, &[6]).unwrap();
    let steps = [
        Step::Arrive { edit: 2 },
        Step::Keep { first: 0, count: 1 },
        Step::Arrive { edit: 3 },
        Step::Leave { row: 1 },
        Step::Keep { first: 2, count: 2 },
        Step::Leave { row: 4 },
        Step::Keep { first: 5, count: 1 },
    ];
    assert_eq!(plan.steps(0, 6), steps);
    assert_eq!(plan.positions(&edits, &[6]), [None, Some(path(0, 0)), Some(path(0, 0)), Some(path(0, 2))]);
}

#[test]
fn a_plan_refuses_what_the_rules_forbid() {
    let code = |edits: &[Edit]| Plan::new(edits, &[3, 1]).unwrap_err().code;
    assert_eq!(code(&[set(0, 0), set(0, 0)]), TABELLA_INVALID_ARGUMENT);
    assert_eq!(code(&[delete(0, 0), set(0, 0)]), TABELLA_INVALID_ARGUMENT);
    assert_eq!(code(&[delete(0, 0), moved(path(0, 0), path(0, 1))]), TABELLA_INVALID_ARGUMENT);
    assert_eq!(code(&[insert(0, 1), moved(path(0, 0), path(0, 1))]), TABELLA_INVALID_ARGUMENT);
    assert_eq!(code(&[delete(0, 3)]), TABELLA_NOT_FOUND);
    assert_eq!(code(&[delete(1, 1)]), TABELLA_NOT_FOUND);
    assert_eq!(code(&[insert(0, 4)]), TABELLA_NOT_FOUND);
    assert_eq!(code(&[moved(path(0, 0), path(0, 3))]), TABELLA_NOT_FOUND);
    assert_eq!(code(&[moved(path(0, 0), path(1, 2))]), TABELLA_NOT_FOUND);
    assert!(Plan::new(&[moved(path(0, 0), path(1, 1))], &[3, 1]).is_ok());
}

/// Random batches in three sections lead to the same table as a simple model: take all rows away that leave, and put
/// the others to their targets in increasing order.
#[test]
fn plans_agree_with_a_model() {
    let mut state = 88172645463325252u64;
    let mut draw = |count: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % count
    };
    let mut possible = 0;
    for _ in 0..20000 {
        let counts: Vec<u64> = (0..3).map(|_| draw(4)).collect();
        let edits: Vec<Edit> = (0..1 + draw(4))
            .map(|_| {
                let (from, to) = (path(draw(3), draw(4)), path(draw(3), draw(5)));
                match draw(4) {
                    0 => insert(to.section, to.row),
                    1 => delete(from.section, from.row),
                    2 => set(from.section, from.row),
                    _ => moved(from, to),
                }
            })
            .collect();
        let plan = match Plan::new(&edits, &counts) {
            Ok(plan) => plan,
            Err(_) => continue,
        };
        possible += 1;
        // A row is named by its old path, or by the number of its edit.
        let mut model: Vec<Vec<Result<RowPath, usize>>> = Vec::new();
        for (section, count) in counts.iter().enumerate() {
            let rows = (0..*count).map(|row| path(section as u64, row));
            let leaves =
                |row: &RowPath| edits.iter().any(|e| e.row() == Some(*row) && !matches!(e, Edit::Set { .. }));
            model.push(rows.filter(|row| !leaves(row)).map(Ok).collect());
        }
        let mut arrivals: Vec<(RowPath, usize)> =
            edits.iter().enumerate().filter_map(|(number, edit)| Some((edit.target()?, number))).collect();
        arrivals.sort();
        for (target, number) in arrivals {
            let row = edits[number].row().map_or(Err(number), Ok);
            model[target.section as usize].insert(target.row as usize, row);
        }
        for (section, count) in counts.iter().enumerate() {
            let mut rows = Vec::new();
            for step in plan.steps(section as u64, *count) {
                match step {
                    Step::Keep { first, count } => {
                        rows.extend((first..first + count).map(|row| Ok(path(section as u64, row))))
                    }
                    Step::Leave { .. } => (),
                    Step::Arrive { edit } => rows.push(edits[edit].row().map_or(Err(edit), Ok)),
                }
            }
            assert_eq!(rows, model[section], "{:?} in {:?}", edits, counts);
        }
        for (number, position) in plan.positions(&edits, &counts).into_iter().enumerate() {
            let row = edits[number].row().map_or(Err(number), Ok);
            let found = position.map(|p| model[p.section as usize][p.row as usize]);
            let is_deleted = matches!(edits[number], Edit::Delete { .. });
            assert_eq!(found, if is_deleted { None } else { Some(row) }, "{:?} in {:?}", edits, counts);
        }
    }
    assert!(possible > 2000, "only {} batches were possible", possible);
}

/// The values are those of sha256sum: the first 32 digits.
#[test]
fn digests_are_the_first_half_of_sha256() {
    assert_eq!(ids::digest(&[b""]), "e3b0c44298fc1c149afbf4c8996fb924");
    assert_eq!(ids::digest(&[b"abc"]), "ba7816bf8f01cfea414140de5dae2223");
    assert_eq!(ids::digest(&["a".repeat(1_000_000).as_bytes()]), "cdc76e5c9914fb9281a1c7e284d73e67");
    assert_ne!(ids::digest(&[b"ab", b"c"]), ids::digest(&[b"a", b"bc"]));
    let lengths: Vec<String> = (0..200).map(|n| ids::digest(&["x".repeat(n).as_bytes()])).collect();
    assert_eq!(lengths.iter().collect::<std::collections::HashSet<_>>().len(), 200);
}

#[test]
fn ids_are_unique_and_lead_to_their_rows() {
    let row = |text: &str| ids::digest(&[text.as_bytes()]);
    let ids = Ids::new(vec![vec![row("a"), row("b"), row("a")], vec![], vec![row("a"), row("c")]]);
    let paths = [path(0, 0), path(0, 1), path(0, 2), path(2, 0), path(2, 1)];
    for path in paths {
        assert_eq!(ids.find(ids.id(path).as_bytes()).unwrap(), path);
    }
    assert_eq!(ids.id(path(0, 1)), row("b"));
    assert_eq!(ids.id(path(2, 0)), format!("{}.3.3", row("a")));
    for id in [row("a").as_bytes(), b"", b"\xff"] {
        assert_eq!(ids.find(id).unwrap_err().code, TABELLA_NOT_FOUND);
    }
}

#[test]
fn json_is_read_strictly() {
    for text in ["{\"a\":1}", " {\"a\" : [1,{\"b\":null}] , \"c\":\"\\u00fc\\n\"}\r", "{}", "{\"a\":-0.5e+3}"]
    {
        assert!(json::members(text.as_bytes()).is_ok(), "{}", text);
    }
    for text in
        ["", "{", "{\"a\"}", "{\"a\":01}", "{\"a\":1,}", "{\"a\":+1}", "{\"a\":'x'}", "{\"a\":\"\t\"}"]
    {
        assert!(json::members(text.as_bytes()).is_err(), "{}", text);
    }
    assert!(json::members(b"{\"a\":\"\xff\"}").is_err());
    let deep = "[".repeat(1_000_000);
    assert!(json::value(deep.as_bytes()).is_err());
    assert_eq!(json::value(b" 1e3 "), Ok(Form::Number));
    assert_eq!(json::text(b"\"\\ud83d\\ude00\""), Some("\u{1f600}".to_string()));
    assert_eq!(json::text(b"\"\\ud83d\""), None);
    let odd = "\u{0}\u{1f}\"\\/\n\u{fc}";
    assert_eq!(json::text(json::quoted(odd).as_bytes()).as_deref(), Some(odd));
}

#[test]
fn a_double_holds_a_number_only_if_it_is_the_same_number() {
    for number in ["0.1", "1.50", "3", "-0.0", "1e300", "123456.789e-3", "5e-324", "9007199254740993e0"] {
        let exact = number != "9007199254740993e0";
        assert_eq!(json::exact_real(number).is_some(), exact, "{}", number);
    }
    for number in ["1e999", "0.1000000000000000000001", "12345678901234567890.5"] {
        assert!(json::exact_real(number).is_none(), "{}", number);
    }
}

#[test]
fn pieces_and_their_inverse() {
    let old: Rc<dyn Bytes> = Rc::new(b"alpha beta gamma".to_vec());
    let mut new = Pieces::new(old.clone());
    new.push(Piece::Old { start: 11, end: 16 });
    new.push(Piece::New(b"!".to_vec()));
    new.push(Piece::Old { start: 0, end: 5 });
    assert_eq!(digest(&new).unwrap(), Digest::of(b"gamma!alpha"));
    assert_eq!((new.moved(12), new.moved(0), new.moved(6)), (Some(1), Some(6), None));
    let inverse = new.inverse().unwrap();
    let mut again = Pieces::new(Rc::new(b"gamma!alpha".to_vec()));
    inverse.into_iter().for_each(|piece| again.push(piece));
    assert_eq!(digest(&again).unwrap(), digest(&*old).unwrap());
}

#[test]
fn a_damaged_receipt_is_refused() {
    let pieces = vec![Piece::Old { start: 1, end: 9 }, Piece::New(b"x".to_vec())];
    let receipt = Receipt { path: b"/a".to_vec(), digest: 1, size: 9, pieces };
    let bytes = receipt.encode();
    assert_eq!(Receipt::decode(&bytes).unwrap(), receipt);
    for end in 0..bytes.len() {
        assert!(Receipt::decode(&bytes[..end]).is_err());
    }
    for at in 0..bytes.len() {
        let mut other = bytes.clone();
        other[at] ^= 1;
        assert!(Receipt::decode(&other).is_err());
    }
    // A digest that fits does not make a piece beyond the end possible.
    let beyond = Receipt { size: 8, ..Receipt::decode(&bytes).unwrap() };
    assert!(Receipt::decode(&beyond.encode()).is_err());
}

/// The last comparison of a save happens before the rename. Another program can write between these two.
#[test]
fn a_change_at_the_last_moment_is_a_conflict() {
    let folder = std::env::temp_dir().join(format!("jsonl-test-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let path = folder.join("data.jsonl");
    std::fs::write(&path, "old").unwrap();
    let status = Status::new(&std::fs::metadata(&path).unwrap());
    let new = |bytes: &str| {
        let mut temporary = Temporary::new(&folder).unwrap();
        temporary.file.write_all(bytes.as_bytes()).unwrap();
        temporary
    };
    save::replace(&mut new("first"), &path, &status).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "first");
    let status = Status::new(&std::fs::metadata(&path).unwrap());
    std::fs::write(&path, "theirs").unwrap();
    let failure = save::replace(&mut new("second"), &path, &status).unwrap_err();
    assert_eq!(failure.code, TABELLA_CONFLICT);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "theirs");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    std::fs::remove_dir_all(&folder).unwrap();
}
