//! Client of the Store Orders API.
