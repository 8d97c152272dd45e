//! The controller of releases, and the parameters of CoDel.

use evenair_manager::{CodelConfig, Config, Controller};
use evenair_reader::{OrDefault, Permille, Problems};
use evenair_units::Span;

use super::{Aqm, ControllerKind, ManagerSpec, RATES, is_rate};

impl ManagerSpec {
    pub(super) fn aqm(&self, problems: &mut Problems) -> Option<Option<CodelConfig>> {
        if self.aqm.get_or(Aqm::Codel, problems)? == Aqm::None {
            return Some(None);
        }
        let (shortest, longest) = (Span::from_micros(100), Span::from_secs(10));
        let interval = self.aqm_interval.get_or_if(
            Config::AQM.interval,
            problems,
            |span| (shortest..=longest).contains(span),
            "0.1 ms to 10 s",
        )?;
        let target = self.aqm_target.get_or_if(
            Config::AQM.target.min(interval),
            problems,
            |span| (shortest..=interval).contains(span),
            "0.1 ms up to aqm_interval",
        )?;
        Some(Some(CodelConfig { target, interval }))
    }

    pub(super) fn controller(&self, problems: &mut Problems) -> Option<Controller> {
        use ControllerKind::{Fixed, None as Open, Pi, Published, Queue};
        let kind = self.controller.get_or(Queue, problems)?;
        match kind {
            Queue => {
                let Controller::Queue { target } = Controller::default() else {
                    unreachable!("the default controller is by the queue");
                };
                let targets = Span::from_micros(100)..=Span::from_secs(1);
                let target =
                    self.latency_target.get_or_if(target, problems, |span| targets.contains(span), "0.1 ms to 1 s")?;
                Some(Controller::Queue { target })
            }
            Published => self.published(problems),
            Pi => self.shaped(problems),
            Open => Some(Controller::None),
            Fixed => self.service_rate.as_ref()?.get_if(problems, is_rate, RATES).map(Controller::Fixed),
        }
    }

    fn shaped(&self, problems: &mut Problems) -> Option<Controller> {
        let Controller::Pi { interval, target } = Controller::PI else { unreachable!("its name says so") };
        let (targets, intervals) =
            (Span::from_micros(100)..=Span::from_secs(1), Span::from_millis(10)..=Span::from_secs(10));
        let target = self.load_target.get_or_if(target, problems, |span| targets.contains(span), "0.1 ms to 1 s");
        let interval =
            self.load_interval.get_or_if(interval, problems, |span| intervals.contains(span), "10 ms to 10 s");
        Some(Controller::Pi { interval: interval?, target: target? })
    }

    fn published(&self, problems: &mut Problems) -> Option<Controller> {
        let Controller::Published { interval, delta, tolerance_permille, start_permille } = Controller::PUBLISHED
        else {
            unreachable!("its name says so");
        };
        let intervals = Span::from_millis(10)..=Span::from_secs(60);
        let interval = self.interval.get_or_if(interval, problems, |span| intervals.contains(span), "10 ms to 60 s");
        let delta = self.step.get_or_if(delta, problems, is_rate, RATES);
        let tolerance =
            self.tolerance.get_or_if(Permille(tolerance_permille), problems, |p| p.0 < 1000, "0 % to 99.9 %");
        let starts = Permille(1)..=Permille(1000);
        let start = self.start.get_or_if(Permille(start_permille), problems, |p| starts.contains(p), "0.1 % to 100 %");
        Some(Controller::Published {
            interval: interval?,
            delta: delta?,
            tolerance_permille: tolerance?.0,
            start_permille: start?.0,
        })
    }
}
