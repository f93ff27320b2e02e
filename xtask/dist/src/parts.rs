//! What a release is made of, before it is packed.

use crate::target::Target;

/// What a release is made of.
pub struct Parts {
    /// The version of the program.
    pub version: String,
    /// The machine it is for.
    pub target: Target,
    /// The program.
    pub program: Vec<u8>,
    /// The program's own licence.
    pub licence: Vec<u8>,
    /// The licences of what it contains.
    pub licences: String,
}
