//! A page of metrics and its formats: OpenMetrics 1.0, by the library `prometheus-client`, or the text format 0.0.4 of Prometheus. In the
//! latter a counter has "_total" in the name of the metric and not only in those of its samples, and there are summaries.

use std::fmt;

use hyper::header::ACCEPT;
use hyper::http::request::Parts;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::exemplar::Exemplar;
use prometheus_client::registry::Registry;

/// Format of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// Text format 0.0.4 of Prometheus.
    Prometheus,
}

impl Format {
    /// The format for a client with this Accept header.
    pub(super) fn wanted(request: &Parts) -> Self {
        let accepts = request.headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
        match accepts.into_iter().any(|value| value.contains("application/openmetrics-text")) {
            true => Self::OpenMetrics,
            false => Self::Prometheus,
        }
    }

    pub(super) const fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}
/// A page under construction.
#[derive(Debug, Default)]
pub(super) struct Page(Vec<Family>);

/// A metric.
#[derive(Debug)]
struct Family {
    name: String,
    kind: Kind,
    help: String,
    samples: Vec<(Labels, Value)>,
}

type Labels = Vec<(String, String)>;

/// Type of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Gauge,
    /// The name of each sample ends with "_total".
    Counter,
    /// Quantiles of a summary.
    Summary,
    /// The sum or the count of the summary before it.
    SummaryPart,
    /// Its samples are [`Value::Histogram`].
    Histogram,
}

impl Kind {
    /// The library has no summaries.
    const fn in_open_metrics(self) -> MetricType {
        match self {
            Self::Gauge | Self::Summary => MetricType::Gauge,
            Self::Counter => MetricType::Counter,
            Self::SummaryPart => MetricType::Unknown,
            Self::Histogram => MetricType::Histogram,
        }
    }

    /// `None`: it belongs to the metric before, and has its type.
    const fn in_prometheus(self) -> Option<&'static str> {
        match self {
            Self::Gauge => Some("gauge"),
            Self::Counter => Some("counter"),
            Self::Summary => Some("summary"),
            Self::SummaryPart => None,
            Self::Histogram => Some("histogram"),
        }
    }
}

/// Value of a sample.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Count(u64),
    Real(f64),
    Histogram(Histogram),
}

/// A histogram.
#[derive(Clone, Debug, Default)]
pub(super) struct Histogram {
    /// The upper end of each bucket, ascending, and its own count. The last one has no end: infinity.
    pub(super) buckets: Vec<(f64, u64)>,
    /// Sum of all values.
    pub(super) sum: f64,
}

impl Histogram {
    fn count(&self) -> u64 {
        self.buckets.iter().map(|(_, count)| count).sum()
    }

    /// Each upper end as a label, and the cumulative count.
    fn cumulative(&self) -> impl Iterator<Item = (String, u64)> + '_ {
        self.buckets.iter().scan(0, |sum, &(end, count)| {
            *sum += count;
            Some((if end.is_finite() { end.to_string() } else { "+Inf".into() }, *sum))
        })
    }
}

impl Page {
    /// Begins a metric.
    pub(super) fn family(&mut self, name: &str, kind: Kind, help: &str) {
        self.0.push(Family { name: name.into(), kind, help: help.into(), samples: Vec::new() });
    }

    /// Adds a sample to the last metric.
    pub(super) fn sample(&mut self, labels: &[(&str, &str)], value: impl Into<Value>) {
        let labels = labels.iter().map(|&(label, text)| (label.to_owned(), text.to_owned())).collect();
        self.0.last_mut().expect("a metric was begun").samples.push((labels, value.into()));
    }

    /// Adds a metric with one sample.
    pub(super) fn single(&mut self, name: &str, kind: Kind, help: &str, value: impl Into<Value>) {
        self.family(name, kind, help);
        self.sample(&[], value);
    }

    pub(super) fn into_text(self, format: Format) -> String {
        match format {
            Format::OpenMetrics => self.into_open_metrics(),
            Format::Prometheus => self.to_string(),
        }
    }

    fn into_open_metrics(self) -> String {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(self));
        let mut text = String::new();
        encode(&mut text, &registry).expect("a string takes whatever is written");
        text
    }
}

/// In text format 0.0.4. A metric without samples is left out.
impl fmt::Display for Page {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Family { name, kind, help, samples } in self.0.iter().filter(|family| !family.samples.is_empty()) {
            if let Some(kind) = kind.in_prometheus() {
                let help = help.replace('\\', "\\\\").replace('\n', "\\n");
                writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}")?;
            }
            for (labels, value) in samples {
                match value {
                    Value::Count(count) => write_sample(out, name, labels, count)?,
                    Value::Real(value) => write_sample(out, name, labels, value)?,
                    Value::Histogram(histogram) => write_histogram(out, name, labels, histogram)?,
                }
            }
        }
        Ok(())
    }
}

fn write_sample(
    out: &mut fmt::Formatter<'_>,
    name: &str,
    labels: &[(String, String)],
    value: impl fmt::Display,
) -> fmt::Result {
    let labels: Vec<_> = labels.iter().map(|(label, text)| format!("{label}=\"{}\"", escaped(text))).collect();
    match labels.is_empty() {
        true => writeln!(out, "{name} {value}"),
        false => writeln!(out, "{name}{{{}}} {value}", labels.join(",")),
    }
}

fn write_histogram(
    out: &mut fmt::Formatter<'_>,
    name: &str,
    labels: &[(String, String)],
    histogram: &Histogram,
) -> fmt::Result {
    for (end, count) in histogram.cumulative() {
        let labels = [labels, &[("le".into(), end)]].concat();
        write_sample(out, &format!("{name}_bucket"), &labels, count)?;
    }
    write_sample(out, &format!("{name}_sum"), labels, histogram.sum)?;
    write_sample(out, &format!("{name}_count"), labels, histogram.count())
}

/// A label's value in text format 0.0.4.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

impl Collector for Page {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for family in &self.0 {
            let kind = family.kind.in_open_metrics();
            // The library adds "_total" to each sample of a counter.
            let name = match kind {
                MetricType::Counter => family.name.trim_end_matches("_total"),
                _ => &family.name,
            };
            let mut metric = encoder.encode_descriptor(name, &family.help, None, kind)?;
            for (labels, value) in &family.samples {
                // Without labels there are no braces.
                match labels.is_empty() {
                    true => value.encode(&mut metric, kind)?,
                    false => value.encode(&mut metric.encode_family(labels)?, kind)?,
                }
            }
        }
        Ok(())
    }
}

impl Value {
    fn encode(&self, metric: &mut MetricEncoder<'_>, kind: MetricType) -> fmt::Result {
        let none = None::<&Exemplar<Labels, f64>>;
        match (kind, self) {
            (MetricType::Counter, Self::Count(count)) => metric.encode_counter(count, none),
            (MetricType::Counter, Self::Real(value)) => metric.encode_counter(value, none),
            (_, Self::Count(count)) => metric.encode_gauge(&i64::try_from(*count).unwrap_or(i64::MAX)),
            // Whole numbers are written as such.
            (_, Self::Real(value)) if value.fract() == 0.0 && value.abs() < 1e15 => {
                metric.encode_gauge(&(*value as i64))
            }
            (_, Self::Real(value)) => metric.encode_gauge(value),
            (_, Self::Histogram(histogram)) => {
                metric.encode_histogram::<Labels>(histogram.sum, histogram.count(), &histogram.buckets, None)
            }
        }
    }
}

impl From<u64> for Value {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<u32> for Value {
    fn from(count: u32) -> Self {
        Self::Count(count.into())
    }
}

impl From<usize> for Value {
    fn from(count: usize) -> Self {
        Self::Count(count as u64)
    }
}

impl From<bool> for Value {
    fn from(is_so: bool) -> Self {
        Self::Count(is_so.into())
    }
}

impl From<Histogram> for Value {
    fn from(histogram: Histogram) -> Self {
        Self::Histogram(histogram)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped() {
        let mut page = Page::default();
        page.family("x", Kind::Gauge, "X.");
        page.sample(&[("a", "quote \" and \\ and\nline")], 1.0);
        let expected = "# HELP x X.\n# TYPE x gauge\nx{a=\"quote \\\" and \\\\ and\\nline\"} 1\n";
        assert_eq!(page.to_string(), expected);
        assert_eq!(page.into_text(Format::OpenMetrics), format!("{expected}# EOF\n"));
    }

    #[test]
    fn a_histogram_is_written_alike_in_both_formats() {
        let mut page = Page::default();
        page.family("x_seconds", Kind::Histogram, "X.");
        let buckets = vec![(0.000_512, 2), (8.388_608, 3), (f64::INFINITY, 1)];
        page.sample(&[("hop", "box")], Histogram { buckets, sum: 20.5 });
        let text = page.to_string();
        for line in [
            "# TYPE x_seconds histogram",
            "x_seconds_bucket{hop=\"box\",le=\"0.000512\"} 2",
            "x_seconds_bucket{hop=\"box\",le=\"8.388608\"} 5",
            "x_seconds_bucket{hop=\"box\",le=\"+Inf\"} 6",
            "x_seconds_sum{hop=\"box\"} 20.5",
            "x_seconds_count{hop=\"box\"} 6",
        ] {
            assert!(text.lines().any(|other| other == line), "{line} is missing in {text}");
        }
        let in_open_metrics = page.into_text(Format::OpenMetrics);
        // The library has the label of the bucket first.
        for part in
            ["le=\"8.388608\"", "le=\"+Inf\"", "x_seconds_sum{hop=\"box\"} 20.5", "x_seconds_count{hop=\"box\"} 6"]
        {
            assert!(in_open_metrics.contains(part), "{part} is missing in {in_open_metrics}");
        }
    }
}
