//! A measure over a varied key, as lines: the data of plots of many runs.

/// A measure over the first key of a sweep.
#[derive(Clone, Debug)]
pub struct Curves {
    /// Name of the picture's file, without ending.
    pub name: String,
    /// What the picture shows.
    pub title: String,
    /// Origin of the values.
    pub subtitle: String,
    /// The key at the x axis, with its unit.
    pub x_label: String,
    /// The measure, with its unit.
    pub y_label: String,
    /// Names of the values on the x axis if they are not numbers; x is then their number, from 1.
    pub categories: Option<Vec<String>>,
    /// A line for each setting of the other keys.
    pub curves: Vec<Curve>,
}

/// One line.
#[derive(Clone, Debug)]
pub struct Curve {
    /// The setting of the other keys; absent where there are none.
    pub name: Option<String>,
    /// x, mean, half-width of the confidence interval.
    pub points: Vec<(f64, f64, Option<f64>)>,
}
