//! The package of a client for anyone's document.
