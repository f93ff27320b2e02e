//! Builds one gzip member from parts that are compressed independently (RFC 1951, RFC 1952).
//!
//! Each part ends with a full flush. So its blocks end on a byte boundary, and later blocks do not
//! refer back to them. Therefore any number of parts, with a header and an end, form a valid gzip
//! file.

use bytes::Bytes;
use flate2::{Compress, Compression, FlushCompress};

/// Magic number, deflate method, no flags, no time, no extra flags, unknown operating system.
pub const HEADER: &[u8] = &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];

/// The number of bytes at the end of the file: an empty last block, the CRC and the length.
const END_BYTES: usize = 10;

/// Returns the length of a gzip file whose deflate blocks have this total length.
pub fn length(blocks: usize) -> usize {
    HEADER.len() + blocks + END_BYTES
}

#[derive(Clone, Debug)]
pub struct Deflated {
    /// Raw deflate blocks. They end with a full flush.
    pub blocks: Bytes,
    crc: u32,
    length: u64,
}

impl Deflated {
    pub fn compress(bytes: &[u8]) -> Deflated {
        let mut blocks = Vec::new();
        deflate(bytes, &mut blocks);
        Deflated {
            blocks: blocks.into_boxed_slice().into(),
            crc: crc32fast::hash(bytes),
            length: bytes.len() as u64,
        }
    }
}

pub fn compress_file(bytes: &[u8]) -> Vec<u8> {
    let mut file = HEADER.to_vec();
    deflate(bytes, &mut file);
    let crc = crc32fast::Hasher::new_with_initial(crc32fast::hash(bytes));
    file.extend_from_slice(&Checksum { crc, length: bytes.len() as u64 }.end());
    file.shrink_to_fit();
    file
}

/// Compresses bytes and appends the deflate blocks, which end with a full flush.
fn deflate(bytes: &[u8], blocks: &mut Vec<u8>) {
    let mut compress = Compress::new(Compression::default(), false);
    // This capacity is a guess. The loop reserves more if necessary.
    blocks.reserve(bytes.len() / 8 + 1_024);
    loop {
        let rest = bytes.get(compress.total_in() as usize..).unwrap_or_default();
        let before = blocks.len();
        // Compression fails only after the end of the stream, and this stream is never ended.
        let _ = compress.compress_vec(rest, blocks, FlushCompress::Full);
        if blocks.len() < blocks.capacity() || blocks.len() == before && rest.is_empty() {
            break;
        }
        blocks.reserve(blocks.capacity());
    }
}

/// The CRC and length of the parts so far, for the end of the gzip file.
#[derive(Clone, Debug, Default)]
pub struct Checksum {
    crc: crc32fast::Hasher,
    length: u64,
}

impl Checksum {
    /// Adds the next part. The caller must add the parts in the order in which the file contains
    /// them.
    pub fn add(&mut self, part: &Deflated) {
        self.crc.combine(&crc32fast::Hasher::new_with_initial_len(part.crc, part.length));
        self.length += part.length;
    }

    /// Returns the end of the gzip file: an empty last block, the CRC-32, and the length modulo
    /// 2^32.
    pub fn end(self) -> Bytes {
        let mut end = vec![3, 0];
        end.extend_from_slice(&self.crc.finalize().to_le_bytes());
        end.extend_from_slice(&(self.length as u32).to_le_bytes());
        Bytes::from(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng, rngs::StdRng};
    use std::io::Read;

    fn compress_and_unzip(parts: &[Vec<u8>]) -> Vec<u8> {
        let mut file = HEADER.to_vec();
        let mut checksum = Checksum::default();
        let mut blocks = 0;
        for part in parts {
            let part = Deflated::compress(part);
            assert!(part.blocks.ends_with(&[0, 0, 0xff, 0xff]));
            file.extend_from_slice(&part.blocks);
            blocks += part.blocks.len();
            checksum.add(&part);
        }
        file.extend_from_slice(&checksum.end());
        assert_eq!(file.len(), length(blocks));
        let mut text = Vec::new();
        flate2::read::GzDecoder::new(&file[..]).read_to_end(&mut text).unwrap();
        text
    }

    #[test]
    fn a_compressed_file_unzips_to_its_content() {
        let mut noise = vec![0; 5_000];
        StdRng::seed_from_u64(7).fill_bytes(&mut noise);
        for bytes in [vec![], b"[]".to_vec(), b"abc".repeat(50_000), noise] {
            let (file, mut text) = (compress_file(&bytes), Vec::new());
            flate2::read::GzDecoder::new(&file[..]).read_to_end(&mut text).unwrap();
            assert_eq!(text, bytes);
        }
    }

    #[test]
    fn independently_compressed_parts_form_one_gzip_member() {
        let mut noise = vec![0; 300_000];
        StdRng::seed_from_u64(7).fill_bytes(&mut noise);
        let sample = br#"{"id":1,"petId":2,"quantity":3,"complete":true},"#.repeat(5_000);
        for parts in [
            vec![],
            vec![b"[]".to_vec()],
            vec![sample.clone(), sample.clone(), b"]".to_vec()],
            vec![noise.clone(), sample, noise, vec![]],
        ] {
            assert_eq!(compress_and_unzip(&parts), parts.concat());
        }
    }
}
