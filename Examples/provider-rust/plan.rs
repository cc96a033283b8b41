//! The order of the rows after a batch of edits, by the rules of docs/editing.md, for one section.
use crate::provider::{Edit, Failure, Outcome};
use crate::tabella::*;
use std::collections::BTreeMap;

/// A step on the way through the rows after the batch, in order.
#[derive(Debug, PartialEq)]
pub enum Step {
    /// These rows stay, in their old order.
    Keep { first: u64, count: u64 },
    /// This row is deleted, or moved away.
    Leave { row: u64 },
    /// The row of this edit comes here: it is inserted or moved.
    Arrive { edit: usize },
}

#[derive(Debug, Default)]
pub struct Plan {
    pub steps: Vec<Step>,
    /// The edit that sets cells of a row.
    pub sets: BTreeMap<u64, usize>,
}

fn twice(row: u64) -> Failure {
    let message = format!("row {} occurs twice; a batch can only combine a set and a move of it", row);
    Failure::new(TABELLA_INVALID_ARGUMENT, message)
}

impl Plan {
    /// Checks the batch. `count` is the exact number of rows before it.
    pub fn new(edits: &[Edit], count: u64) -> Outcome<Plan> {
        let mut leaving: BTreeMap<u64, usize> = BTreeMap::new();
        let mut deleted: Vec<u64> = Vec::new();
        let mut arriving: BTreeMap<u64, usize> = BTreeMap::new();
        let mut plan = Plan::default();
        for (number, edit) in edits.iter().enumerate() {
            let (row, target) = match edit {
                Edit::Insert { target, .. } => (None, Some(*target)),
                Edit::Move { row, target } => (Some(*row), Some(*target)),
                Edit::Delete { row } | Edit::Set { row, .. } => (Some(*row), None),
            };
            if let Some(row) = row.filter(|row| *row >= count) {
                let message = format!("there is no row {}; there are {}", row, count);
                return Err(Failure::new(TABELLA_NOT_FOUND, message));
            }
            let named = match edit {
                Edit::Set { row, .. } => plan.sets.insert(*row, number).map(|_| *row),
                Edit::Delete { row } => {
                    deleted.push(*row);
                    leaving.insert(*row, number).map(|_| *row)
                }
                Edit::Move { row, .. } => leaving.insert(*row, number).map(|_| *row),
                Edit::Insert { .. } => None,
            };
            if let Some(row) = named {
                return Err(twice(row));
            }
            if let Some(target) = target {
                if arriving.insert(target, number).is_some() {
                    let message = format!("two edits have the target row {}", target);
                    return Err(Failure::new(TABELLA_INVALID_ARGUMENT, message));
                }
            }
        }
        if let Some(row) = deleted.iter().find(|row| plan.sets.contains_key(row)) {
            return Err(twice(*row));
        }
        let after = count - leaving.len() as u64 + arriving.len() as u64;
        if let Some((target, _)) = arriving.iter().next_back().filter(|(target, _)| **target >= after) {
            let message = format!("row {} does not exist after the edits; there are {}", target, after);
            return Err(Failure::new(TABELLA_NOT_FOUND, message));
        }
        plan.walk(count, leaving.keys().copied(), &arriving);
        Ok(plan)
    }

    fn walk(&mut self, count: u64, leaving: impl Iterator<Item = u64>, arriving: &BTreeMap<u64, usize>) {
        let mut leaving = leaving.peekable();
        let mut old = 0;
        let mut new = 0;
        let mut targets = arriving.iter();
        loop {
            let arrival = targets.next();
            // The rows that stay in front of the next arrival. At the end, all others.
            let mut staying = arrival.map_or(u64::MAX, |(target, _)| target - new);
            while staying > 0 && old < count {
                let next = leaving.peek().copied().unwrap_or(count);
                if next == old {
                    self.steps.push(Step::Leave { row: old });
                    leaving.next();
                    old += 1;
                    continue;
                }
                let run = staying.min(next - old);
                self.steps.push(Step::Keep { first: old, count: run });
                old += run;
                new += run;
                staying -= run;
            }
            match arrival {
                Some((_, edit)) => self.steps.push(Step::Arrive { edit: *edit }),
                None => return,
            }
            new += 1;
        }
    }
}
