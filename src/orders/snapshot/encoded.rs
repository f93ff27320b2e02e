//! The JSON of consecutive orders in one version of the API. A separator, `[` or `,`, precedes each
//! order.

use serde::Serialize;
use std::ops::Range;

#[derive(Clone, Debug, Default)]
pub struct Encoded {
    pub bytes: Vec<u8>,
    /// The byte offsets where the orders end.
    pub ends: Vec<u32>,
}

/// A view of encoded orders. The fields are those of [`Encoded`].
#[derive(Clone, Copy, Debug)]
pub struct EncodedOrders<'a> {
    pub bytes: &'a [u8],
    pub ends: &'a [u32],
}

impl Encoded {
    pub fn new<T: Serialize>(orders: impl Iterator<Item = T>) -> Encoded {
        let mut encoded = Encoded::default();
        orders.for_each(|order| encoded.encode(b',', &order));
        // The clone uses less memory than the original, because its vectors have no spare capacity.
        encoded.clone()
    }

    pub fn encode(&mut self, separator: u8, order: &impl Serialize) {
        self.bytes.push(separator);
        append_json(&mut self.bytes, order);
        self.ends.push(self.bytes.len() as u32);
    }

    pub fn push(&mut self, separator: u8, json: &[u8]) {
        self.bytes.push(separator);
        self.bytes.extend_from_slice(json);
        self.ends.push(self.bytes.len() as u32);
    }

    /// Appends a range of `orders`. `separator` precedes the first order of the range.
    pub fn push_run(&mut self, separator: u8, orders: EncodedOrders<'_>, range: Range<usize>) {
        let (start, ends) = (orders.start(range.start), orders.ends.get(range.clone()));
        let (Some(run), Some(start), Some(ends)) = (orders.run(range), start, ends) else { return };
        self.bytes.push(separator);
        let shift = self.bytes.len().wrapping_sub(start);
        self.bytes.extend_from_slice(run);
        self.ends.extend(ends.iter().map(|end| (*end as usize).wrapping_add(shift) as u32));
    }

    /// Removes all orders. The buffers stay allocated for the next page.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    pub fn orders(&self) -> EncodedOrders<'_> {
        EncodedOrders { bytes: &self.bytes, ends: &self.ends }
    }

    /// Does not count the spare capacity of the buffers.
    pub fn held_bytes(&self) -> usize {
        self.bytes.len() + size_of_val(self.ends.as_slice())
    }
}

pub fn append_json(bytes: &mut Vec<u8>, order: &impl Serialize) {
    // Serializing numbers, booleans and strings to memory cannot fail.
    let _ = serde_json::to_writer(bytes, order);
}

impl<'a> EncodedOrders<'a> {
    /// Returns the JSON of the order with this index, without its separator.
    pub fn order(self, number: usize) -> Option<&'a [u8]> {
        self.run(number..number + 1)
    }

    /// Returns the JSON of consecutive orders, without the separator before the first.
    pub fn run(self, range: Range<usize>) -> Option<&'a [u8]> {
        let last = self.ends.get(range.end.checked_sub(1)?)?;
        self.bytes.get(self.start(range.start)?..*last as usize)
    }

    /// Returns the offset of an order's JSON. One separator byte precedes the JSON of each order.
    fn start(self, number: usize) -> Option<usize> {
        let before = number.checked_sub(1).map(|before| self.ends.get(before));
        let end = before.map_or(Some(0), |end| end.map(|end| *end as usize))?;
        Some(end + 1)
    }
}
