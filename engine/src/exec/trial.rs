//! Which of two codes of a kernel is faster, found out by launches: vectors of work-items, or one work-item after the other
//! (`analysis::alone`). Both give the same results.
//!
//! The second one is made once the first has run for long. A thread that has taken some work-groups then runs a few of them with
//! one code, twice as many with the other and some more with the first, and compares the shorter time of each: neighbours do much the
//! same, but whatever comes first finds nothing in the caches, and no code that ran just now. A few such pairs decide by
//! their sums, without the extremes: work-groups may differ. Where the second is several times as slow, a pair or two are enough: they are all that it costs.

use super::coroutine::STACK_RESERVE;
use super::launch::Code;
use super::promotion::Promotion;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// Time in the first code that the second one is made for, which takes some 20 to 50 ms.
const WORTH: Duration = Duration::from_millis(10);
/// Pairs that decide.
const PAIRS: usize = 9;
/// How often threads are asked to compare at most. Where work-groups take no time, it does not matter which way is faster.
const MOST_PLANS: u32 = 4 * PAIRS as u32 * 2 * TURNS;
/// A pair is not counted that took this part of the longest, or less.
const SHORT: u64 = 3;
/// One or two of these do, if the other way took this many times as long in each.
const FEW: usize = 2;
const MUCH_SLOWER: u64 = 3;
/// Ratios are compared in parts of this.
const ONE: u64 = 1 << 10;
/// One of so many parts of what a thread has taken is run and measured, four times. Short pieces would tell of caches and branch predictors that know
/// nothing yet.
const PART: u64 = 6;
/// Times that few work-groups are run in one way before the other one has its turn.
const TURNS: u32 = 4;
/// Time that a measurement takes at least: less tells nothing.
const LEAST: Duration = Duration::from_micros(2);

/// Which code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// The lanes of vectors are work-items.
    Lanes,
    /// One work-item after the other.
    Alone,
}

/// The times of a pair, in nanoseconds: of lanes in the lower half.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Pair(u64);

impl Pair {
    fn of(lanes: u32, alone: u32) -> Pair {
        Pair(u64::from(lanes) | u64::from(alone) << u32::BITS)
    }

    fn lanes(self) -> u64 {
        self.0 & u64::from(u32::MAX)
    }

    fn alone(self) -> u64 {
        self.0 >> u32::BITS
    }

    /// Whether one work-item after the other took this many times as long.
    fn is_slower(self, times: u64) -> bool {
        self.alone() >= times * self.lanes()
    }

    /// All times of lanes, and all others, but for the pairs that differ most in either way.
    fn sums_without_extremes(mut pairs: [Pair; PAIRS]) -> (u64, u64) {
        pairs.sort_unstable_by_key(|pair| pair.alone() * ONE / pair.lanes().max(1));
        let middle = &pairs[1..PAIRS - 1];
        (middle.iter().map(|pair| pair.lanes()).sum(), middle.iter().map(|pair| pair.alone()).sum())
    }
}

impl Form {
    pub fn other(self) -> Form {
        if self == Form::Lanes { Form::Alone } else { Form::Lanes }
    }
}

/// What has been found out.
pub struct Trial {
    /// Has the second code made, and has it then.
    promotion: Promotion,
    /// 0 until it is settled; else one more than the form.
    settled: AtomicU32,
    /// How often a thread has asked what to do since there was something to be compared.
    plans: AtomicU32,
    /// How many pairs have begun to be noted, and how many are.
    begun: AtomicU32,
    noted: AtomicU32,
    pairs: [AtomicU64; PAIRS],
    /// The longest time of lanes, in nanoseconds.
    longest: AtomicU64,
    /// Where threads take too few work-groups for both: how often they have, and the shortest time of a work-group in
    /// each form, in picoseconds, of this round.
    turn: AtomicU32,
    shortest: [AtomicU64; 2],
}

/// What a thread does with work-groups that it has taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Plan {
    /// All in one way, which is not measured.
    All(Form),
    /// So many in one way, twice as many in the other one and again so many in the first, to be compared, and the rest in lanes.
    Pair { of: u64, first: Form },
    /// All of them in one way, to be compared with others that are run in the other way, in this turn.
    One(Form, u32),
}

impl Trial {
    /// `ask` has the second code made, without waiting for it, which is then [given](Self::give), if it is to be had.
    pub fn new(ask: impl Fn() + Send + Sync + 'static) -> Trial {
        Trial {
            promotion: Promotion::after(WORTH, ask),
            settled: AtomicU32::new(0),
            plans: AtomicU32::new(0),
            begun: AtomicU32::new(0),
            noted: AtomicU32::new(0),
            pairs: Default::default(),
            longest: AtomicU64::new(0),
            turn: AtomicU32::new(0),
            shortest: [const { AtomicU64::new(u64::MAX) }; 2],
        }
    }

    /// The second code of this one, if it runs with the memory that this one has.
    pub fn give(&self, of: &Code, rival: &Arc<Code>) {
        let (first, second) = (of.info(), rival.info());
        // What has a rival calls nothing, so that the stack that is kept for what is called is its own.
        let fits = second.private_bytes == 0
            && second.stack_bytes <= first.stack_bytes.max(STACK_RESERVE / 2)
            && second.strip_height == first.strip_height
            && !second.has_barrier;
        if fits {
            self.promotion.give(Arc::clone(rival));
        } else {
            self.settle(Form::Lanes);
        }
    }

    /// The second code, once it is there.
    pub fn rival(&self) -> Option<&Code> {
        self.promotion.better().map(|rival| &**rival)
    }

    /// Whether the first code is known to be the better one.
    pub fn is_over(&self) -> bool {
        self.settled.load(Ordering::Relaxed) == Form::Lanes as u32 + 1
    }

    /// Counts time that a thread has run the first code for, while there is no second one.
    pub fn spend(&self, time: Duration) {
        self.promotion.spend(time);
    }

    pub fn plan(&self, groups: u64) -> Plan {
        match self.settled.load(Ordering::Relaxed) {
            // Nothing that was measured told anything.
            0 if self.plans.fetch_add(1, Ordering::Relaxed) >= MOST_PLANS => {
                self.settle(Form::Lanes);
                Plan::All(Form::Lanes)
            }
            0 if groups >= PART => {
                let is_odd = self.begun.load(Ordering::Relaxed) % 2 == 1;
                let first = if is_odd { Form::Alone } else { Form::Lanes };
                Plan::Pair { of: groups / PART, first }
            }
            0 => {
                let turn = self.turn.fetch_add(1, Ordering::Relaxed) % (2 * TURNS);
                Plan::One(if turn < TURNS { Form::Lanes } else { Form::Alone }, turn)
            }
            2 => Plan::All(Form::Alone),
            _ => Plan::All(Form::Lanes),
        }
    }

    /// Notes how long as many work-groups took in one way and in the other.
    pub fn note(&self, form: Form, own: Duration, other: Duration) {
        if own.max(other) < LEAST {
            return;
        }
        let [own, other] = [own, other].map(|time| u32::try_from(time.as_nanos()).unwrap_or(u32::MAX).max(1));
        let pair = if form == Form::Lanes { Pair::of(own, other) } else { Pair::of(other, own) };
        // Of what is left at the end of a launch, threads take little: that stands for less than what they took before.
        let longest = self.longest.fetch_max(pair.lanes(), Ordering::Relaxed);
        if pair.lanes() < longest / SHORT {
            return;
        }
        let at = self.begun.fetch_add(1, Ordering::Relaxed) as usize;
        let Some(place) = self.pairs.get(at) else { return };
        place.store(pair.0, Ordering::Relaxed);
        let noted = self.noted.fetch_add(1, Ordering::AcqRel) as usize + 1;
        let pairs = self.pairs.each_ref().map(|pair| Pair(pair.load(Ordering::Relaxed)));
        if noted == PAIRS {
            let (lanes, alone) = Pair::sums_without_extremes(pairs);
            tracing::debug!("one work-item after the other takes {alone} ns, work-items in lanes {lanes} ns");
            self.settle(if 16 * alone < 15 * lanes { Form::Alone } else { Form::Lanes });
        } else if noted <= FEW && pair.is_slower(MUCH_SLOWER) {
            let all = pairs.into_iter().filter(|pair| pair.0 != 0).all(|pair| pair.is_slower(MUCH_SLOWER));
            if all && (noted == FEW || pair.is_slower(2 * MUCH_SLOWER)) {
                self.settle(Form::Lanes);
            }
        }
    }

    /// Notes how long work-groups took in one way, after [`Plan::One`].
    pub fn note_one(&self, form: Form, turn: u32, time: Duration, groups: u64) {
        let each = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).saturating_mul(1000) / groups.max(1);
        if time >= LEAST {
            self.shortest[form as usize].fetch_min(each, Ordering::Relaxed);
        }
        let [lanes, alone] = self.shortest.each_ref().map(|shortest| shortest.load(Ordering::Relaxed));
        if lanes == u64::MAX || alone == u64::MAX {
            return;
        }
        let is_much_slower = alone / (2 * MUCH_SLOWER) >= lanes;
        if turn == 2 * TURNS - 1 || is_much_slower {
            self.shortest.iter().for_each(|shortest| shortest.store(u64::MAX, Ordering::Relaxed));
            let of_all = |each: u64| Duration::from_nanos(each.saturating_mul(groups) / 1000);
            let [lanes, alone] = [lanes, alone].map(of_all);
            self.note(Form::Lanes, lanes, alone);
        }
    }

    fn settle(&self, form: Form) {
        tracing::debug!("work-items are executed as {form:?}");
        self.settled.store(form as u32 + 1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: Duration = Duration::from_micros(100);

    #[test]
    fn what_takes_less_time_in_most_pairs_is_settled_on() {
        for (ratios, form) in [
            ([50; PAIRS], Form::Alone),
            ([99; PAIRS], Form::Lanes),
            ([150; PAIRS], Form::Lanes),
            ([50, 900, 50, 50, 70, 50, 60, 50, 90], Form::Alone),
            ([80, 180, 80, 80, 180, 10, 80, 80, 180], Form::Lanes),
        ] {
            let trial = Trial::new(|| ());
            for ratio in ratios {
                assert!(matches!(trial.plan(64), Plan::Pair { of: 10, .. }), "not settled yet");
                trial.note(Form::Lanes, UNIT, UNIT * ratio / 100);
            }
            assert_eq!(trial.plan(64), Plan::All(form), "{ratios:?}");
        }
    }

    #[test]
    fn what_is_much_slower_is_not_tried_again() {
        let trial = Trial::new(|| ());
        trial.note(Form::Lanes, UNIT, UNIT * 8);
        assert_eq!(trial.plan(1), Plan::All(Form::Lanes));
        let trial = Trial::new(|| ());
        trial.note(Form::Lanes, UNIT, UNIT * 4);
        assert_eq!(trial.plan(100), Plan::Pair { of: 16, first: Form::Alone });
        trial.note(Form::Lanes, UNIT, UNIT * 4);
        assert_eq!(trial.plan(100), Plan::All(Form::Lanes));
        let trial = Trial::new(|| ());
        trial.note(Form::Lanes, UNIT, UNIT);
        trial.note(Form::Lanes, UNIT, UNIT * 4);
        assert_eq!(trial.plan(100), Plan::Pair { of: 16, first: Form::Lanes }, "the first was not");
    }

    #[test]
    fn few_work_groups_are_compared_with_others() {
        let trial = Trial::new(|| ());
        for turn in (0..2 * TURNS).cycle().take(PAIRS * 2 * TURNS as usize) {
            let form = if turn < TURNS { Form::Lanes } else { Form::Alone };
            assert_eq!(trial.plan(2), Plan::One(form, turn));
            // The first of a turn takes longer.
            let time = if turn % TURNS == 0 { 3 * UNIT } else { UNIT };
            let (time, groups) = if form == Form::Lanes { (time, 2) } else { (time / 4, 1) };
            trial.note_one(form, turn, time, groups);
        }
        assert_eq!(trial.plan(2), Plan::All(Form::Alone));
    }

    #[test]
    fn few_work_groups_that_take_much_longer_are_not_tried_again() {
        let trial = Trial::new(|| ());
        for turn in 0..TURNS {
            trial.note_one(Form::Lanes, turn, UNIT, 1);
        }
        trial.note_one(Form::Alone, TURNS, 20 * UNIT, 1);
        assert_eq!(trial.plan(2), Plan::All(Form::Lanes));
    }

    #[test]
    fn what_takes_no_time_tells_nothing() {
        let trial = Trial::new(|| ());
        for turn in 0..100 {
            trial.note(Form::Lanes, LEAST / 2, LEAST / 4);
            trial.note_one(Form::Lanes, turn % TURNS, LEAST / 2, 1);
        }
        assert_eq!(trial.plan(64), Plan::Pair { of: 10, first: Form::Lanes });
        assert_eq!(trial.plan(1), Plan::One(Form::Lanes, 0));
        (0..MOST_PLANS).for_each(|_| _ = trial.plan(1));
        assert_eq!(trial.plan(1), Plan::All(Form::Lanes), "it was tried often enough");
    }
}
