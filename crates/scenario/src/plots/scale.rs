//! Axes: from values to pixels, and round numbers to mark.

/// A linear axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    /// The value at `pixels.0`; the other end is at `pixels.1`.
    values: (f64, f64),
    pixels: (f64, f64),
    step: f64,
}

impl Scale {
    /// An axis from zero to a round number that is not below `top`, with about `marks` marks.
    pub fn round(top: f64, pixels: (f64, f64), marks: u32) -> Self {
        let top = if top.is_finite() && top > 0.0 { top } else { 1.0 };
        let step = nice_step(top / f64::from(marks));
        Self { values: (0.0, (top / step).ceil() * step), pixels, step }
    }

    /// An axis from zero to exactly `top`.
    pub fn exact(top: f64, pixels: (f64, f64), marks: u32) -> Self {
        let round = Self::round(top, pixels, marks);
        let top = if top.is_finite() && top > 0.0 { top } else { round.values.1 };
        Self { values: (0.0, top), ..round }
    }

    /// Where a value is, inside of the axis.
    pub fn at(&self, value: f64) -> f64 {
        let (low, high) = self.values;
        let part = ((value - low) / (high - low)).clamp(0.0, 1.0);
        self.pixels.0 + part * (self.pixels.1 - self.pixels.0)
    }

    /// Marks with their labels.
    pub fn marks(&self) -> Vec<(f64, String)> {
        let decimals = (-self.step.log10().floor()).max(0.0) as usize;
        let count = (self.values.1 / self.step + 1e-9).floor() as u32;
        (0..=count).map(|i| f64::from(i) * self.step).map(|value| (value, format!("{value:.decimals$}"))).collect()
    }
}

/// The nearest of 1, 2, 5 times a power of ten that is not below `step`.
fn nice_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    let nice = [1.0, 2.0, 5.0].into_iter().find(|nice| nice * power >= step * 0.999);
    nice.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round_and_cover_the_data() {
        let labels = |top| Scale::round(top, (0.0, 100.0), 5).marks().into_iter().map(|m| m.1).collect::<Vec<_>>();
        assert_eq!(labels(4.8), ["0", "1", "2", "3", "4", "5"]);
        assert_eq!(labels(0.97), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(110.0), ["0", "50", "100", "150"]);
        assert_eq!(labels(0.0), labels(1.0));
        assert_eq!(labels(f64::NAN), labels(1.0));
    }

    #[test]
    fn values_map_to_pixels_and_stay_inside() {
        let scale = Scale::round(5.0, (300.0, 0.0), 5);
        assert_eq!(scale.at(0.0), 300.0);
        assert_eq!(scale.at(2.5), 150.0);
        assert_eq!(scale.at(50.0), 0.0);
        assert_eq!(Scale::exact(110.0, (0.0, 110.0), 6).at(55.0), 55.0);
    }
}
