//! The order of the rows after a batch of edits, by the rules of the page editing.md. Sections themselves stay.
use crate::provider::{Edit, Failure, Outcome, RowPath};
use crate::tabella::*;
use std::collections::BTreeMap;

/// A step on the way through the rows of a section after the batch, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// These rows stay, in their old order.
    Keep { first: u64, count: u64 },
    /// This row is deleted, or moved away.
    Leave { row: u64 },
    /// The row of this edit comes here: it is inserted or moved.
    Arrive { edit: usize },
}

/// The numbers of the edits with a target in a section, by their targets; and the rows that leave it.
#[derive(Debug, Default)]
struct Traffic {
    arriving: BTreeMap<u64, usize>,
    leaving: BTreeMap<u64, usize>,
}

/// The plan of a batch.
#[derive(Debug, Default)]
pub struct Plan {
    sections: BTreeMap<u64, Traffic>,
    /// The edit that sets cells of a row.
    pub sets: BTreeMap<RowPath, usize>,
}

fn twice(path: RowPath) -> Failure {
    let message = format!("row {} occurs twice; a batch can only combine a set and a move of it", path);
    Failure::new(TABELLA_INVALID_ARGUMENT, message)
}

impl Plan {
    /// Checks the batch. `counts` has the exact number of rows of each section before it.
    pub fn new(edits: &[Edit], counts: &[u64]) -> Outcome<Plan> {
        let mut plan = Plan::default();
        for (number, edit) in edits.iter().enumerate() {
            if let Some(path) = edit.row() {
                let count = counts.get(path.section as usize).copied().unwrap_or(0);
                if path.row >= count {
                    let message = format!("there is no row {}; section {} has {}", path, path.section, count);
                    return Err(Failure::new(TABELLA_NOT_FOUND, message));
                }
                let before = match edit {
                    Edit::Set { .. } => plan.sets.insert(path, number),
                    _ => plan.traffic(path.section).leaving.insert(path.row, number),
                };
                if before.is_some() {
                    return Err(twice(path));
                }
            }
            if let Some(target) = edit.target() {
                if plan.traffic(target.section).arriving.insert(target.row, number).is_some() {
                    let message = format!("two edits have the target row {}", target);
                    return Err(Failure::new(TABELLA_INVALID_ARGUMENT, message));
                }
            }
        }
        let is_deleted = |edit: &&Edit| matches!(edit, Edit::Delete { row } if plan.sets.contains_key(row));
        if let Some(path) = edits.iter().find(is_deleted).and_then(Edit::row) {
            return Err(twice(path));
        }
        for (section, traffic) in &plan.sections {
            let count = counts.get(*section as usize).copied().unwrap_or(0);
            let after = count - traffic.leaving.len() as u64 + traffic.arriving.len() as u64;
            if let Some((row, _)) = traffic.arriving.iter().next_back().filter(|(row, _)| **row >= after) {
                let message = format!(
                    "row {}:{} does not exist after the edits; section {} has {} rows then",
                    section, row, section, after
                );
                return Err(Failure::new(TABELLA_NOT_FOUND, message));
            }
        }
        Ok(plan)
    }

    fn traffic(&mut self, section: u64) -> &mut Traffic {
        self.sections.entry(section).or_default()
    }

    /// The way through the rows of a section after the batch. `count` is the number of its rows before it.
    pub fn steps(&self, section: u64, count: u64) -> Vec<Step> {
        let none = Traffic::default();
        let traffic = self.sections.get(&section).unwrap_or(&none);
        let mut steps = Vec::new();
        let mut leaving = traffic.leaving.keys().copied().peekable();
        let mut targets = traffic.arriving.iter();
        let (mut old, mut new) = (0, 0);
        loop {
            let arrival = targets.next();
            // The rows that stay in front of the next arrival. At the end, all others.
            let mut staying = arrival.map_or(u64::MAX, |(target, _)| target - new);
            while staying > 0 && old < count {
                let next = leaving.peek().copied().unwrap_or(count);
                if next == old {
                    steps.push(Step::Leave { row: old });
                    leaving.next();
                    old += 1;
                    continue;
                }
                let run = staying.min(next - old);
                steps.push(Step::Keep { first: old, count: run });
                old += run;
                new += run;
                staying -= run;
            }
            match arrival {
                Some((_, edit)) => steps.push(Step::Arrive { edit: *edit }),
                None => return steps,
            }
            new += 1;
        }
    }

    /// The position of the row of each edit after the batch; `None` for a deleted row. `counts` is that of `new`.
    pub fn positions(&self, edits: &[Edit], counts: &[u64]) -> Vec<Option<RowPath>> {
        let mut positions: Vec<_> = edits.iter().map(Edit::target).collect();
        for (path, edit) in &self.sets {
            let moved = self.sections.get(&path.section).and_then(|traffic| traffic.leaving.get(&path.row));
            positions[*edit] = match moved {
                Some(moved) => edits[*moved].target(),
                None => self.stay(*path, counts[path.section as usize]),
            };
        }
        positions
    }

    /// The position of a row that neither leaves nor arrives.
    fn stay(&self, path: RowPath, count: u64) -> Option<RowPath> {
        let mut new = 0;
        for step in self.steps(path.section, count) {
            match step {
                Step::Keep { first, count } if (first..first + count).contains(&path.row) => {
                    return Some(RowPath { row: new + path.row - first, ..path });
                }
                Step::Keep { count, .. } => new += count,
                Step::Arrive { .. } => new += 1,
                Step::Leave { .. } => (),
            }
        }
        None
    }

    /// The changes that the batch makes, for `Commit`. If the id of a row is derived from its content, `set` is
    /// `TABELLA_CHANGE_RELOAD`: another row is there then. Otherwise it is `TABELLA_CHANGE_RECONFIGURE`.
    pub fn changes(&self, edits: &[Edit], set: i32) -> Vec<tabella_change> {
        let is_moved =
            |path: &RowPath| edits.iter().any(|e| matches!(e, Edit::Move { row, .. } if row == path));
        let mut changes = Vec::new();
        for edit in edits {
            match edit {
                Edit::Insert { target, .. } => {
                    changes.push(change(TABELLA_CHANGE_INSERT, None, Some(*target)));
                }
                Edit::Delete { row } => changes.push(change(TABELLA_CHANGE_DELETE, Some(*row), None)),
                // A row that also moves is a new row at its target.
                Edit::Set { row, .. } if is_moved(row) => (),
                Edit::Set { row, .. } => changes.push(change(set, Some(*row), None)),
                Edit::Move { row, target } if self.sets.contains_key(row) => {
                    changes.push(change(TABELLA_CHANGE_DELETE, Some(*row), None));
                    changes.push(change(TABELLA_CHANGE_INSERT, None, Some(*target)));
                }
                Edit::Move { row, target } => {
                    changes.push(change(TABELLA_CHANGE_MOVE, Some(*row), Some(*target)));
                }
            }
        }
        changes
    }
}

fn change(kind: i32, from: Option<RowPath>, to: Option<RowPath>) -> tabella_change {
    let path = |path: Option<RowPath>| match path {
        Some(path) => tabella_index_path { section: path.section as i64, row: path.row as i64 },
        None => tabella_index_path { section: -1, row: -1 },
    };
    tabella_change { kind, reserved: 0, from: path(from), to: path(to) }
}
