//! Relays that falsify what they carry, for controls: what a damaged server would do, done from
//! outside.

use super::ReadAlong;

/// What a relay does to what it carries.
#[derive(Clone, Copy, Debug, Default)]
pub enum Tampering {
    /// Nothing.
    #[default]
    None,
    /// Texts that clients send, such as statements to prepare, are replaced by others that are
    /// not longer.
    Rewritten(&'static [(&'static str, &'static str)]),
}

impl ReadAlong for Tampering {
    /// Spaces fill what is shorter, so that no message has another length.
    fn request(&mut self, bytes: &mut Vec<u8>) {
        let Tampering::Rewritten(texts) = self else { return };
        for (from, to) in *texts {
            let found = bytes.windows(from.len()).position(|part| part == from.as_bytes());
            let Some(place) = found.and_then(|at| bytes.get_mut(at..at + from.len())) else {
                continue;
            };
            let filled = to.bytes().chain(std::iter::repeat(b' '));
            place.iter_mut().zip(filled).for_each(|(byte, new)| *byte = new);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_replaced_and_the_length_stays() {
        let mut sent = b"P\0SELECT FROM replicas FOR UPDATE\0".to_vec();
        Tampering::None.request(&mut sent);
        Tampering::Rewritten(&[("never sent", ""), ("replicas FOR UPDATE", "replicas")])
            .request(&mut sent);
        assert_eq!(sent, b"P\0SELECT FROM replicas           \0");
    }
}
