//! Defines the fields of each stored row, with their columns and SQL types. Both engines build
//! statements and parse rows from these definitions, so the columns have the same order in both.

use super::error::StoreError;
use super::value::{FromValue, Parameter, StoredDate, Value};
use chrono::{DateTime, Utc};
use std::fmt::Display;
use std::str::FromStr;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredColumn {
    pub name: &'static str,
    /// The column's type in PostgreSQL.
    pub sql_type: &'static str,
}

/// A struct whose fields are columns of a table. The macro [`row!`](row) implements this trait.
pub trait StoredRow: Sized {
    /// The columns, in the order in which [`StoredRow::read`] reads them.
    const COLUMNS: &'static [StoredColumn];

    /// Reads the columns of [`StoredRow::COLUMNS`], which begin at the index `first` of `row`.
    fn read(row: &impl Cells, first: usize) -> Result<Self, StoreError>;

    fn values(&self) -> Vec<Value>;

    fn names() -> String {
        join(Self::COLUMNS, |column| column.name.to_string())
    }

    /// Like `names`, but qualified with the table's name, for joins.
    fn names_in(table: &str) -> String {
        join(Self::COLUMNS, |column| format!("{table}.{}", column.name))
    }
}

pub fn join(columns: &[StoredColumn], text: impl FnMut(&StoredColumn) -> String) -> String {
    columns.iter().map(text).collect::<Vec<_>>().join(", ")
}

/// Defines a struct that is stored as a row. Each field names its columns: `field: Type = [column
/// sql_type, ...]`. The type must implement [`Field`], which reads and writes all columns of the
/// field.
macro_rules! row {
    (
        $(#[$meta:meta])*
        $visibility:vis struct $row:ident {$(
            $(#[$field_meta:meta])*
            $field_visibility:vis $field:ident: $type:ty = [$($column:ident $sql_type:ident),+],
        )+}
    ) => {
        $(#[$meta])*
        $visibility struct $row {$(
            $(#[$field_meta])*
            $field_visibility $field: $type,
        )+}

        impl $crate::store::row::StoredRow for $row {
            const COLUMNS: &'static [$crate::store::row::StoredColumn] = {
                $(assert!(
                    <$type as $crate::store::row::Field>::COLUMNS
                        == [$(stringify!($column)),+].len(),
                    concat!("the type of ", stringify!($field), " has a different number of columns"),
                );)+
                &[$($($crate::store::row::StoredColumn {
                    name: stringify!($column),
                    sql_type: stringify!($sql_type),
                }),+),+]
            };

            fn read(
                row: &impl $crate::store::row::Cells,
                first: usize,
            ) -> Result<$row, $crate::store::StoreError> {
                let mut cells = $crate::store::row::Cursor::new(row, first);
                Ok($row { $($field: $crate::store::row::Field::read(&mut cells)?),+ })
            }

            fn values(&self) -> Vec<$crate::store::value::Value> {
                let $row { $($field),+ } = self;
                let mut values = Vec::with_capacity(Self::COLUMNS.len());
                $($crate::store::row::Field::write($field, &mut values);)+
                values
            }
        }
    };
}

pub(crate) use row;

/// A type that both engines can read from a column.
pub trait Cell:
    FromValue + rusqlite::types::FromSql + for<'a> tokio_postgres::types::FromSql<'a>
{
}

impl<T> Cell for T where
    T: FromValue + rusqlite::types::FromSql + for<'a> tokio_postgres::types::FromSql<'a>
{
}

pub trait Cells {
    fn cell<T: Cell>(&self, column: usize) -> Result<T, StoreError>;

    fn text(&self, column: usize) -> Result<Option<&str>, StoreError>;

    /// Creates the error for a value in this column that the schema does not allow.
    fn damaged(&self, column: usize, why: impl Display) -> StoreError;
}

pub struct Cursor<'a, R> {
    row: &'a R,
    column: usize,
}

impl<'a, R: Cells> Cursor<'a, R> {
    pub fn new(row: &'a R, column: usize) -> Cursor<'a, R> {
        Cursor { row, column }
    }

    pub fn cell<T: Cell>(&mut self) -> Result<T, StoreError> {
        self.row.cell(self.skip(1))
    }

    pub fn parse_optional<T: FromStr<Err: Display>>(&mut self) -> Result<Option<T>, StoreError> {
        let column = self.skip(1);
        let parsed = self.row.text(column)?.map(str::parse).transpose();
        parsed.map_err(|error| self.row.damaged(column, error))
    }

    pub fn parse<T: FromStr<Err: Display>>(&mut self) -> Result<T, StoreError> {
        let column = self.column;
        self.parse_optional()?.ok_or_else(|| self.row.damaged(column, "it is NULL"))
    }

    /// Skips this many columns, and returns the index of the first skipped column.
    pub fn skip(&mut self, columns: usize) -> usize {
        let column = self.column;
        self.column += columns;
        column
    }
}

/// The type of a field of a stored row. A field may need several columns.
pub trait Field: Sized {
    const COLUMNS: usize;

    /// Reads the field from its columns. On success, all of its columns are consumed.
    fn read<R: Cells>(cells: &mut Cursor<'_, R>) -> Result<Self, StoreError>;

    fn write(&self, values: &mut Vec<Value>);
}

macro_rules! fields {
    ($($type:ty),+) => {$(
        impl Field for $type {
            const COLUMNS: usize = 1;

            fn read<R: Cells>(cells: &mut Cursor<'_, R>) -> Result<$type, StoreError> {
                cells.cell()
            }

            fn write(&self, values: &mut Vec<Value>) {
                values.push(Parameter::value(self));
            }
        }
    )+};
}

fields!(i64, i32, bool, Option<i64>, Option<bool>, Box<str>, Option<Box<str>>);

/// A date is stored in the format in which the API sends it.
impl Field for DateTime<Utc> {
    const COLUMNS: usize = 1;

    fn read<R: Cells>(cells: &mut Cursor<'_, R>) -> Result<DateTime<Utc>, StoreError> {
        let StoredDate(date) = cells.parse()?;
        Ok(date)
    }

    fn write(&self, values: &mut Vec<Value>) {
        values.push(StoredDate(*self).value());
    }
}

impl Field for Option<DateTime<Utc>> {
    const COLUMNS: usize = 1;

    fn read<R: Cells>(cells: &mut Cursor<'_, R>) -> Result<Option<DateTime<Utc>>, StoreError> {
        let stored = cells.parse_optional::<StoredDate>()?;
        Ok(stored.map(|StoredDate(date)| date))
    }

    fn write(&self, values: &mut Vec<Value>) {
        values.push(self.map(StoredDate).value());
    }
}
