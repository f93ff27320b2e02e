//! Constants and tables.

use crate::text::{comment, literal};
use crate::values::{Constant, Table};

/// The constants.
pub fn constants(constants: &[Constant]) -> String {
    let one = |constant: &Constant| {
        let Constant { name, about, value } = constant;
        format!("{}pub const {name}: &str = {};\n\n", comment(0, about), literal(value))
    };
    constants.iter().map(one).collect()
}

/// A table: an enum of its rows, and a method for each column.
pub fn table(table: &Table) -> String {
    let Table { name, key, rows, columns } = table;
    let arms = |value: &dyn Fn(usize) -> String| -> String {
        let arm = |(index, (variant, _)): (usize, &(String, String))| {
            format!("            {name}::{variant} => {},\n", value(index))
        };
        rows.iter().enumerate().map(arm).collect()
    };
    let variants: String =
        rows.iter().map(|(variant, row)| format!("    /// `{row}`.\n    {variant},\n")).collect();
    let all: Vec<_> = rows.iter().map(|(variant, _)| format!("{name}::{variant}")).collect();
    let titles = arms(&|index| literal(rows.get(index).map_or("", |(_, row)| row)));
    let columns: String = columns
        .iter()
        .map(|(method, column, values)| {
            let value = |index: usize| match values.get(index) {
                Some(Some(figure)) => format!("Some({figure})"),
                _ => "None".to_string(),
            };
            format!(
                "\n    /// Its `{column}`; `None` where the document has `null`.\n    \
                 pub const fn {method}(self) -> Option<u32> {{\n        match self {{\n{}        }}\n    }}\n",
                arms(&value)
            )
        })
        .collect();
    format!(
        "/// The rows of `{key}`.\n\
         #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]\n\
         pub enum {name} {{\n{variants}}}\n\n\
         impl {name} {{\n    /// Every row, in the document's order.\n    \
         pub const ALL: [{name}; {}] = [{}];\n\n    \
         /// The row's name in the document.\n    \
         pub const fn title(self) -> &'static str {{\n        match self {{\n{titles}        }}\n    }}\n\
         {columns}}}\n\n",
        rows.len(),
        all.join(", "),
    )
}
