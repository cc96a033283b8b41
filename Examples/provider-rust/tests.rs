//! Tests of the parts: `make test` builds and runs them.
use crate::bytes::{digest, Bytes, Digest, Piece, Pieces};
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
    fn row_count(&mut self, at_least: u64) -> Outcome<(u64, bool)> {
        panic!("row_count {}", at_least)
    }
    fn rows(&mut self, _: &Request, _: &mut Batch) -> Outcome<()> {
        panic!("rows")
    }
    fn find(&mut self, _: &[u8]) -> Outcome<u64> {
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
        let code = table.row_count.unwrap()(source.source, 0, 7, &mut count, &mut error);
        assert_eq!(code, TABELLA_INTERNAL);
        let bytes =
            std::slice::from_raw_parts(error.message.bytes as *const u8, error.message.length as usize);
        assert_eq!(std::str::from_utf8(bytes), Ok("the provider panicked: row_count 7"));
        error.release.unwrap()(&mut error);
        assert!(error.release.is_none());
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

#[test]
fn a_plan_has_the_rows_in_their_new_order() {
    let edits = [
        Edit::Delete { row: 1 },
        Edit::Set { row: 4, cells: Vec::new() },
        Edit::Move { row: 4, target: 0 },
        Edit::Insert { target: 2, cells: Vec::new() },
    ];
    let plan = Plan::new(&edits, 6).unwrap();
    let steps = [
        Step::Arrive { edit: 2 },
        Step::Keep { first: 0, count: 1 },
        Step::Arrive { edit: 3 },
        Step::Leave { row: 1 },
        Step::Keep { first: 2, count: 2 },
        Step::Leave { row: 4 },
        Step::Keep { first: 5, count: 1 },
    ];
    assert_eq!(plan.steps, steps);
}

#[test]
fn a_plan_refuses_what_the_rules_forbid() {
    let code = |edits: &[Edit]| Plan::new(edits, 3).unwrap_err().code;
    let set = |row| Edit::Set { row, cells: Vec::new() };
    let insert = |target| Edit::Insert { target, cells: Vec::new() };
    let delete = |row| Edit::Delete { row };
    assert_eq!(code(&[set(0), set(0)]), TABELLA_INVALID_ARGUMENT);
    assert_eq!(code(&[delete(0), set(0)]), TABELLA_INVALID_ARGUMENT);
    assert_eq!(code(&[delete(0), Edit::Move { row: 0, target: 1 }]), TABELLA_INVALID_ARGUMENT);
    assert_eq!(code(&[insert(1), Edit::Move { row: 0, target: 1 }]), TABELLA_INVALID_ARGUMENT);
    assert_eq!(code(&[delete(3)]), TABELLA_NOT_FOUND);
    assert_eq!(code(&[insert(4)]), TABELLA_NOT_FOUND);
    assert_eq!(code(&[Edit::Move { row: 0, target: 3 }]), TABELLA_NOT_FOUND);
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
