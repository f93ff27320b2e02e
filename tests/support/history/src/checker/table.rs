//! Checks the store's orders at the end of a recording.

use super::findings::Findings;
use super::orders::{NEVER, Orders};
use crate::event::FinalTable;
use crate::violation::{Operation, Rule, Violation};
use std::sync::Arc;

impl Orders {
    /// Checks the final table:
    ///
    /// - Each order existed at the beginning or belongs to an import, and none is there twice.
    /// - Every order that was certainly in the store is there.
    /// - All orders of an import are there, or none of them.
    /// - Each order has a status that the recorded responses allow.
    pub fn check_table(&self, table: &FinalTable, findings: &mut Findings) {
        let FinalTable { pending, shipped, cancelled } = table;
        for ids in [pending, shipped, cancelled] {
            for id in ids.difference(&self.known) {
                impossible(findings, format!("order {id}, which was never imported"), None);
            }
        }
        for id in self.known.iter() {
            let Some(order) = self.orders.get(id) else { continue };
            let rows = [pending, shipped, cancelled].map(|rows| usize::from(rows.contains(id)));
            let rows = rows.into_iter().sum::<usize>();
            if rows > 1 || (rows == 0 && order.known_from < NEVER) {
                impossible(findings, format!("order {id} is there {rows} times"), None);
                continue;
            }
            if let Some(by) = order.cancelled.as_ref().filter(|_| !cancelled.contains(id)) {
                let text = format!("order {id}");
                findings.add(Violation::new(Rule::CancellationLost, text, &[by]));
                continue;
            }
            if order.shipped_from < NEVER && !shipped.contains(id) {
                let text = format!("order {id} had shipped, and is not shipped in the final table");
                let because: Vec<&Arc<Operation>> = order.shipped.iter().collect();
                findings.add(Violation::new(Rule::CameBack, text, &because));
                continue;
            }
            let can_be = |ships| order.changes.iter().any(|one| one.ships == ships);
            if cancelled.contains(id) && !can_be(false) {
                impossible(findings, format!("no request can have cancelled order {id}"), None);
            }
            if shipped.contains(id) && order.shipped_from == NEVER && !can_be(true) {
                impossible(findings, format!("no command can have shipped order {id}"), None);
            }
            let is_pending = pending.contains(id) && !order.is_reported;
            if let Some(gone) = order.gone.as_ref().filter(|_| is_pending) {
                let text = format!("order {id} is pending in the final table");
                findings.add(Violation::new(Rule::CameBack, text, &[gone]));
            }
        }
        for (first, last) in &self.imports {
            let is_there =
                |id: &usize| [pending, shipped, cancelled].iter().any(|rows| rows.contains(*id));
            let there = (*first..=*last).filter(is_there).count();
            if there != 0 && there != last - first + 1 {
                let text = format!("{there} orders of the import of {first}-{last} are there");
                impossible(findings, text, None);
            }
        }
    }
}

fn impossible(findings: &mut Findings, text: String, because: Option<&Arc<Operation>>) {
    let because: Vec<&Arc<Operation>> = because.into_iter().collect();
    findings.add(Violation::new(Rule::ImpossibleTable, text, &because));
}
