//! The list as one gzip member made of pages that were compressed apart, each
//! once (RFC 1951, RFC 1952).
//!
//! A page becomes raw deflate blocks that end in a full flush: on a byte, and
//! with nothing that the next page could refer back to. So the blocks of any
//! pages, laid end to end behind a header, and an empty last block, the CRC and
//! the length behind them, are a gzip file.

use super::pages::Snapshot;
use bytes::Bytes;
use flate2::{Compress, Compression, FlushCompress};

/// The magic number, deflate, no flags, no time, no extra flags, unknown system.
pub const HEADER: &[u8] = &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];

/// Up to one TCP segment nothing is saved by compressing.
pub const SHORT_LIST: u64 = 1_400;

/// A page's bytes as deflate blocks.
#[derive(Debug)]
pub struct Deflated {
    /// The blocks, ended by a full flush.
    pub blocks: Bytes,
    crc: u32,
    length: u64,
}

impl Deflated {
    /// Compresses these bytes.
    pub fn of(bytes: &[u8]) -> Deflated {
        let mut compress = Compress::new(Compression::default(), false);
        // What does not compress grows by 5 bytes for each 16 KiB at most, and a
        // flush adds 5; the loop takes care of whatever this underrates.
        let mut blocks = Vec::with_capacity(bytes.len() / 8 + 1_024);
        loop {
            let rest = bytes.get(compress.total_in() as usize..).unwrap_or_default();
            let before = blocks.len();
            // Only a stream that has ended can fail, and this one never ends.
            let _ = compress.compress_vec(rest, &mut blocks, FlushCompress::Full);
            if blocks.len() < blocks.capacity() || blocks.len() == before && rest.is_empty() {
                break;
            }
            blocks.reserve(blocks.capacity());
        }
        Deflated {
            blocks: Bytes::from(blocks.into_boxed_slice()),
            crc: crc32fast::hash(bytes),
            length: bytes.len() as u64,
        }
    }
}

/// What has been sent of a list, from which its end is computed.
#[derive(Clone, Debug, Default)]
pub struct Checksum {
    crc: crc32fast::Hasher,
    length: u64,
}

impl Checksum {
    /// Takes the next page in.
    pub fn add(&mut self, page: &Deflated) {
        self.crc.combine(&crc32fast::Hasher::new_with_initial_len(page.crc, page.length));
        self.length += page.length;
    }

    /// An empty last block, the CRC-32, and the length modulo 2^32.
    pub fn end(self) -> Bytes {
        let mut end = vec![3, 0];
        end.extend_from_slice(&self.crc.finalize().to_le_bytes());
        end.extend_from_slice(&(self.length as u32).to_le_bytes());
        Bytes::from(end)
    }
}

/// How many bytes come behind the last page.
const END_LENGTH: u64 = 10;

/// How many bytes the list has as gzip, if all of its pages are compressed.
pub fn length(snapshot: &Snapshot) -> Option<u64> {
    let pages = snapshot.pages().iter();
    let blocks: Option<u64> = pages.map(|page| Some(page.deflated()?.blocks.len() as u64)).sum();
    Some(HEADER.len() as u64 + blocks? + END_LENGTH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng, rngs::StdRng};
    use std::io::Read;

    fn unzipped(pages: &[Vec<u8>]) -> Vec<u8> {
        let mut file = HEADER.to_vec();
        let mut checksum = Checksum::default();
        for page in pages {
            let page = Deflated::of(page);
            assert!(page.blocks.ends_with(&[0, 0, 0xff, 0xff]));
            file.extend_from_slice(&page.blocks);
            checksum.add(&page);
        }
        let end = checksum.end();
        assert_eq!(end.len() as u64, END_LENGTH);
        file.extend_from_slice(&end);
        let mut text = Vec::new();
        flate2::read::GzDecoder::new(&file[..]).read_to_end(&mut text).unwrap();
        text
    }

    #[test]
    fn pages_compressed_apart_are_one_gzip_member() {
        let mut noise = vec![0; 300_000];
        StdRng::seed_from_u64(7).fill_bytes(&mut noise);
        let sample = br#"{"id":1,"petId":2,"quantity":3,"complete":true},"#.repeat(5_000);
        for pages in [
            vec![],
            vec![b"[]".to_vec()],
            vec![sample.clone(), sample.clone(), b"]".to_vec()],
            vec![noise.clone(), sample, noise, vec![]],
        ] {
            assert_eq!(unzipped(&pages), pages.concat());
        }
    }
}
