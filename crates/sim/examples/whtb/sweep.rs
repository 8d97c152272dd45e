//! All runs of a setting, and how far it is from the published tables.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::Failure;
use crate::published::{Discipline, PLACES, Pair, TABLES, error};
use crate::settings::{Job, Setting};

/// One cell of the two tables: which table, place and discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    pub table: usize,
    pub place: usize,
    pub of: Discipline,
}

/// The cells of these disciplines.
pub fn cells(disciplines: &[Discipline]) -> Vec<Cell> {
    let places = (0..TABLES.len()).flat_map(|table| (0..PLACES.len()).map(move |place| (table, place)));
    places.flat_map(|(table, place)| disciplines.iter().map(move |&of| Cell { table, place, of })).collect()
}

/// Published goodputs of a cell.
pub fn published(cell: Cell) -> Pair {
    TABLES[cell.table].column(cell.of)[cell.place]
}

/// How the places of the second station are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Places {
    /// By the column of DRR, for all.
    ByDrr,
    /// By the column of the discipline itself.
    ByItself,
}

impl Places {
    /// By whose column the places of a discipline are known.
    pub fn of(self, discipline: Discipline) -> Discipline {
        match self {
            Self::ByDrr => Discipline::Drr,
            Self::ByItself => discipline,
        }
    }
}

/// How long and how often is run.
#[derive(Clone, Copy, Debug)]
pub struct Runs {
    pub places: Places,
    pub seconds: f64,
    pub seeds: u64,
}

/// Goodputs of a setting in each cell, means over its runs.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub setting: Setting,
    pub cells: Vec<(Cell, Pair)>,
}

impl Outcome {
    /// The cell that is furthest from the published one, of those that are asked for, and how far.
    pub fn worst(&self, is_asked: impl Fn(Cell) -> bool) -> (f64, Cell) {
        let asked = self.cells.iter().filter(|(cell, _)| is_asked(*cell));
        let errors = asked.map(|&(cell, pair)| (error(pair, published(cell)), cell));
        errors.max_by(|a, b| a.0.total_cmp(&b.0)).expect("a cell is asked for")
    }

    /// The goodputs in a cell.
    pub fn at(&self, cell: Cell) -> Pair {
        self.cells.iter().find(|(known, _)| *known == cell).expect("all cells were run").1
    }
}

/// Runs these settings in these cells.
pub fn run(settings: &[Setting], cells: &[Cell], runs: Runs) -> Result<Vec<Outcome>, Failure> {
    let Runs { places, seconds, seeds } = runs;
    let mut jobs = Vec::new();
    for (&setting, &Cell { table, place, of: discipline }) in
        settings.iter().flat_map(|s| cells.iter().map(move |c| (s, c)))
    {
        let (table, by) = (&TABLES[table], places.of(discipline));
        let of_seed = |seed| Job { table, place, discipline, setting, seconds, seed, estimate_kbps: None, by };
        jobs.extend((1..=seeds).map(of_seed));
    }
    let pairs = run_all(&jobs)?;
    let means: Vec<Pair> = pairs.chunks(seeds as usize).map(mean).collect();
    let outcome = |(setting, pairs): (&Setting, &[Pair])| Outcome {
        setting: *setting,
        cells: cells.iter().copied().zip(pairs.iter().copied()).collect(),
    };
    Ok(settings.iter().zip(means.chunks(cells.len())).map(outcome).collect())
}

/// The mean of each station's goodput.
pub fn mean(pairs: &[Pair]) -> Pair {
    [0, 1].map(|station| pairs.iter().map(|pair| pair[station]).sum::<f64>() / pairs.len() as f64)
}

/// Runs all, on all cores, and returns their goodputs in the same order.
pub fn run_all(jobs: &[Job]) -> Result<Vec<Pair>, Failure> {
    let next = AtomicUsize::new(0);
    let done: Vec<Mutex<Option<Result<Pair, Failure>>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(at) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|at| *at < jobs.len()) {
                    if at % 1000 == 999 {
                        eprintln!("{} of {} runs", at + 1, jobs.len());
                    }
                    *done[at].lock().expect("no panic") = Some(jobs[at].run());
                }
            });
        }
    });
    done.into_iter().map(|result| result.into_inner().expect("no panic").expect("all were done")).collect()
}
