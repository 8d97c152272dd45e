//! Records of many senders or flows: histograms of times, and rows of series.
//!
//! A record is some kilobytes. With many records, each sample would cause cache misses. So samples go to a sequential log
//! first. When the log is full, it is applied record by record, in the order of the samples, so that the processor overlaps
//! the misses of several samples. The log has a fixed size for a number of records. With few records, samples are applied
//! at once.

/// Number of records from which on there is a log. The histograms of fewer fit into the caches.
const MANY: usize = 128;
/// How many records ahead are prefetched.
const AHEAD: usize = 2;
/// No sample: end of a chain.
const NONE: u32 = u32::MAX;

/// A record that takes samples.
pub(crate) trait Record {
    type Sample: Copy;

    /// Samples in the log for each record, on average.
    const DEPTH: usize = 8;

    fn enter(&mut self, sample: Self::Sample);

    /// Prefetches what a sample updates.
    fn prefetch(&self, sample: Self::Sample);
}

/// Records by number.
#[derive(Debug)]
pub(crate) struct Records<R: Record> {
    records: Vec<R>,
    log: Option<Log<R::Sample>>,
}

#[derive(Debug)]
struct Log<S> {
    samples: Vec<S>,
    /// Capacity of the log, in samples.
    most: usize,
    /// For each sample, the previous one of the same record. Apart from the samples, so that following a chain touches
    /// little memory.
    before: Vec<u32>,
    /// The latest sample of each record.
    latest: Vec<u32>,
    /// Scratch buffer, kept for its memory.
    chain: Vec<u32>,
}

impl<R: Record> Records<R> {
    pub(crate) fn new(records: impl Iterator<Item = R>) -> Self {
        let records: Vec<R> = records.collect();
        let log = (records.len() >= MANY).then(|| Log::new(records.len(), R::DEPTH));
        Self { records, log }
    }

    #[inline]
    pub(crate) fn enter(&mut self, number: usize, sample: R::Sample) {
        match &mut self.log {
            None => self.records[number].enter(sample),
            Some(log) => {
                log.push(number, sample);
                if log.is_full() {
                    log.empty_into(&mut self.records);
                }
            }
        }
    }

    /// One record, perhaps without its latest samples.
    pub(crate) fn get_mut(&mut self, number: usize) -> &mut R {
        &mut self.records[number]
    }

    /// All records, with all samples in them.
    pub(crate) fn all(&mut self) -> &mut [R] {
        if let Some(log) = &mut self.log {
            log.empty_into(&mut self.records);
        }
        &mut self.records
    }
}

impl<S: Copy> Log<S> {
    fn new(records: usize, depth: usize) -> Self {
        let most = records * depth;
        Self {
            samples: Vec::with_capacity(most),
            most,
            before: Vec::with_capacity(most),
            latest: vec![NONE; records],
            chain: Vec::new(),
        }
    }

    fn push(&mut self, number: usize, sample: S) {
        let place = self.samples.len() as u32;
        self.samples.push(sample);
        self.before.push(std::mem::replace(&mut self.latest[number], place));
    }

    fn is_full(&self) -> bool {
        self.samples.len() == self.most
    }

    #[inline(never)]
    fn empty_into<R: Record<Sample = S>>(&mut self, records: &mut [R]) {
        for number in 0..records.len() {
            // The latest sample of an upcoming record usually tells which part of the record its other samples touch.
            if let Some(&place) = self.latest.get(number + AHEAD).filter(|&&place| place != NONE) {
                records[number + AHEAD].prefetch(self.samples[place as usize]);
            }
            let mut place = std::mem::replace(&mut self.latest[number], NONE);
            self.chain.clear();
            while place != NONE {
                self.chain.push(place);
                place = self.before[place as usize];
            }
            let record = &mut records[number];
            self.chain.iter().rev().for_each(|&place| record.enter(self.samples[place as usize]));
        }
        self.samples.clear();
        self.before.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Record for Vec<u64> {
        type Sample = u64;

        fn enter(&mut self, sample: u64) {
            self.push(sample);
        }

        fn prefetch(&self, _: u64) {}
    }

    /// Each record gets its own samples in order, whether they are few or many.
    #[test]
    fn samples_reach_their_records_in_order() {
        for many in [1, 7, MANY - 1, MANY, 3 * MANY] {
            let mut records = Records::new((0..many).map(|_| Vec::new()));
            let mut expected = vec![Vec::new(); many];
            for k in 0..5_000u64 {
                let number = (k * k + k / 3) as usize % many;
                records.enter(number, k);
                expected[number].push(k);
                if k == 1_234 {
                    assert_eq!(records.all(), expected);
                }
            }
            assert_eq!(records.all(), expected);
        }
    }

    #[test]
    fn a_log_keeps_its_size() {
        let mut records = Records::new((0..MANY).map(|_| Vec::new()));
        (0..100_000).for_each(|k| records.enter(k as usize % 3, k));
        let log = records.log.as_ref().unwrap();
        assert_eq!((log.samples.capacity(), log.before.capacity()), (MANY * 8, MANY * 8));
    }
}
