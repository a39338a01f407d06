//! Which code of a kernel is fastest, found out by launches: vectors of work-items, or one work-item after the other
//! (`analysis::alone`), with or without vectors of its iterations; several such vectors side by side, or one after the other (`analysis::waits`). All give the same results.
//!
//! The others are made one by one, once the kernel has run for long, and meet the best so far. A thread that has taken
//! some work-groups then runs a few of them with one code, a few with the other, and so on in the order of Thue and Morse, and compares the
//! sums: work-groups differ, those of a triangle by rows and along rows, and in this order what grows, and what comes again after a power of two,
//! is the same for both. A few such pairs decide by their sums, without the extremes. What counts is the time that the thread has computed. Where the challenger is several times as slow, a pair or two are
//! enough: they are all that it costs.

use super::coroutine::STACK_RESERVE;
use super::launch::Code;
use super::promotion::Promotion;
use crate::fork::OnceLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// Another code of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rival {
    /// One work-item after the other, as it is written.
    Alone,
    /// The same in vectors of iterations.
    Iterations,
    /// Sub-groups that are in no bundles.
    Unbundled,
}

/// Rivals in the order in which they meet the best so far, the time in codes that there are which each is made for, and how many sixteenths of the best
/// code's time a rival may take to win. One takes some 20 to 50 ms to make, one with vectors of iterations up to four times as long. Where bundles wait, they take
/// several times as long; where they do not, parts of an image differ more than codes.
const ROUNDS: [(Rival, Duration, u64); 3] = [
    (Rival::Alone, Duration::from_millis(10), 15),
    (Rival::Iterations, Duration::from_millis(50), 15),
    (Rival::Unbundled, Duration::from_millis(10), 12),
];
/// Pairs that decide.
const PAIRS: usize = 9;
/// How often threads are asked to compare two codes at most. Where work-groups take no time, it does not matter which way is faster.
const MOST_PLANS: u32 = 4 * PAIRS as u32 * 2 * TURNS;
/// A pair is not counted that took this part of the longest, or less.
const SHORT: u64 = 3;
/// One or two of these do, if the challenger took this many times as long in each.
const FEW: usize = 2;
const MUCH_SLOWER: u64 = 3;
/// Ratios are compared in parts of this.
const ONE: u64 = 1 << 10;
/// Whether it is the turn of the first code, in each piece of a pair: the sequence of Thue and Morse.
const PIECES: [bool; 8] = [true, false, false, true, false, true, true, false];
/// Pieces for which there is no time: what a thread has taken is run without being measured, too. Short pieces would tell of caches and branch predictors
/// that know nothing yet.
const NOT_MEASURED: usize = 2;
/// Times that few work-groups are run with one code before the other one has its turn.
const TURNS: u32 = 4;
/// Time that a measurement takes at least: less tells nothing.
const LEAST: Duration = Duration::from_micros(2);

/// A side of a round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The fastest code so far.
    Best,
    Challenger,
}

/// The times of a pair, in nanoseconds: of the best code in the lower half.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Pair(u64);

impl Pair {
    fn of(best: u32, challenger: u32) -> Pair {
        Pair(u64::from(best) | u64::from(challenger) << u32::BITS)
    }

    fn best(self) -> u64 {
        self.0 & u64::from(u32::MAX)
    }

    fn challenger(self) -> u64 {
        self.0 >> u32::BITS
    }

    /// Whether the challenger took this many times as long.
    fn is_slower(self, times: u64) -> bool {
        self.challenger() >= times * self.best()
    }

    /// All times of either side, but for the pairs that differ most in either way.
    fn sums_without_extremes(mut pairs: [Pair; PAIRS]) -> (u64, u64) {
        pairs.sort_unstable_by_key(|pair| pair.challenger() * ONE / pair.best().max(1));
        let middle = &pairs[1..PAIRS - 1];
        (middle.iter().map(|pair| pair.best()).sum(), middle.iter().map(|pair| pair.challenger()).sum())
    }
}

impl Side {
    pub fn other(self) -> Side {
        if self == Side::Best { Side::Challenger } else { Side::Best }
    }
}

/// What has been found out of a code, the challenger, and of the best before it.
struct Round<C> {
    /// Has the challenger made.
    promotion: Promotion,
    /// The challenger, once it is there, or that there is none.
    challenger: OnceLock<Option<C>>,
    /// 0 until it is settled; else one more than the side.
    settled: AtomicU32,
    /// How often a thread has asked what to do.
    plans: AtomicU32,
    /// How many pairs have begun to be noted, and how many are.
    begun: AtomicU32,
    noted: AtomicU32,
    pairs: [AtomicU64; PAIRS],
    /// Sixteenths of the best code's time that the challenger may take to win.
    most: u64,
    /// The longest time of the best code, in nanoseconds.
    longest: AtomicU64,
    /// Where threads take too few work-groups for both: how often they have, and the shortest time of a work-group on
    /// each side, in picoseconds, of this turn.
    turn: AtomicU32,
    shortest: [AtomicU64; 2],
}

/// What finds out which code of a kernel is fastest.
pub struct Trial(Rounds<Arc<Code>>);

struct Rounds<C>([Round<C>; ROUNDS.len()]);

/// What a thread does with work-groups that it has taken. Codes are numbered: 0 is the kernel's own, others are its rivals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Plan {
    /// All with this code, which is not measured.
    All(usize),
    /// All with this code, until there is the challenger of a round. How long they take is [spent](Trial::spend).
    Until { code: usize, round: usize },
    /// So many with one code or the other in each of these pieces, to be compared in this round, and the rest with the best.
    Pair { of: u64, first: Side, pieces: &'static [bool], round: usize },
    /// All of them with one code, to be compared with others that are run with the other, in this turn of a round.
    One { side: Side, turn: u32, round: usize },
}

impl Trial {
    /// `ask` has a rival made, one of those that there may be, without waiting for it, which is then [given](Self::give).
    pub fn new(may_be: impl Fn(Rival) -> bool, ask: impl Fn(Rival) + Clone + Send + Sync + 'static) -> Trial {
        let rounds = Rounds::new(move |number| ask(ROUNDS[number - 1].0));
        for (round, (rival, ..)) in rounds.0.iter().zip(ROUNDS) {
            if !may_be(rival) {
                round.challenger.get_or_init(|| None);
            }
        }
        Trial(rounds)
    }

    /// A rival, if it is to be had. It stays if it runs with the memory that this one has.
    pub fn give(&self, rival: Rival, of: &Code, code: Option<Arc<Code>>) {
        let first = of.info();
        // What has a rival calls nothing, so that the stack that is kept for what is called is its own.
        let fits = |code: &Arc<Code>| {
            let second = code.info();
            second.private_bytes == 0
                && second.stack_bytes <= first.stack_bytes.max(STACK_RESERVE / 2)
                && second.strip_height == first.strip_height
                && !second.has_barrier
        };
        let round = ROUNDS.iter().position(|(of, ..)| *of == rival).expect("each rival has its round");
        self.0.0[round].challenger.get_or_init(|| code.filter(fits));
    }

    /// Whether the first code is known to be the best one.
    pub fn is_over(&self) -> bool {
        self.0.is_over()
    }

    pub fn plan(&self, groups: u64) -> Plan {
        self.0.plan(groups)
    }

    /// The code of this number.
    pub fn code<'a>(&'a self, number: usize, own: &'a Code) -> &'a Code {
        let round = number.checked_sub(1).and_then(|round| self.0.0.get(round));
        round.and_then(|round| round.challenger.get()?.as_deref()).unwrap_or(own)
    }

    /// The number of the code of a side.
    pub fn number(&self, round: usize, side: Side) -> usize {
        if side == Side::Best { self.0.best_before(round) } else { round + 1 }
    }

    /// Counts time that a thread has run the best code for, while there is no challenger.
    pub fn spend(&self, round: usize, time: Duration) {
        self.0.0[round].promotion.spend(time);
    }

    /// Notes how long as many work-groups took on one side and on the other.
    pub fn note(&self, round: usize, side: Side, own: Duration, other: Duration) {
        self.0.0[round].note(side, own, other);
    }

    /// Notes how long work-groups took on one side, after [`Plan::One`].
    pub fn note_one(&self, round: usize, side: Side, turn: u32, time: Duration, groups: u64) {
        self.0.0[round].note_one(side, turn, time, groups);
    }
}

impl<C> Rounds<C> {
    fn new(ask: impl Fn(usize) + Clone + Send + Sync + 'static) -> Rounds<C> {
        Rounds(std::array::from_fn(|round| {
            let ask = ask.clone();
            let (_, worth, most) = ROUNDS[round];
            Round::new(Promotion::after(worth, move || ask(round + 1)), most)
        }))
    }

    /// The number of the best code of those that have met before this round.
    fn best_before(&self, round: usize) -> usize {
        let is_won = |round: &Round<C>| round.winner() == Some(Side::Challenger);
        self.0[..round].iter().rposition(is_won).map_or(0, |round| round + 1)
    }

    fn is_over(&self) -> bool {
        self.0.iter().all(|round| round.winner() == Some(Side::Best))
    }

    fn plan(&self, groups: u64) -> Plan {
        let unsettled = self.0.iter().position(|round| round.winner().is_none());
        let Some(at) = unsettled else { return Plan::All(self.best_before(self.0.len())) };
        let round = &self.0[at];
        if round.challenger.get().is_none() {
            return Plan::Until { code: self.best_before(at), round: at };
        }
        // Nothing that was measured told anything.
        if round.plans.fetch_add(1, Ordering::Relaxed) >= MOST_PLANS {
            round.settle(Side::Best);
            return Plan::All(self.best_before(at));
        }
        for pieces in [&PIECES[..], &PIECES[..PIECES.len() / 2]] {
            let of = groups / (pieces.len() + NOT_MEASURED) as u64;
            if of > 0 {
                let is_odd = round.begun.load(Ordering::Relaxed) % 2 == 1;
                let first = if is_odd { Side::Challenger } else { Side::Best };
                return Plan::Pair { of, first, pieces, round: at };
            }
        }
        let turn = round.turn.fetch_add(1, Ordering::Relaxed) % (2 * TURNS);
        Plan::One { side: if turn < TURNS { Side::Best } else { Side::Challenger }, turn, round: at }
    }
}

impl<C> Round<C> {
    fn new(promotion: Promotion, most: u64) -> Round<C> {
        Round {
            promotion,
            most,
            challenger: OnceLock::new(),
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

    fn winner(&self) -> Option<Side> {
        match self.settled.load(Ordering::Relaxed) {
            0 => self.challenger.get().and_then(|there| there.is_none().then_some(Side::Best)),
            1 => Some(Side::Best),
            _ => Some(Side::Challenger),
        }
    }

    fn note(&self, side: Side, own: Duration, other: Duration) {
        if own.max(other) < LEAST {
            return;
        }
        let [own, other] = [own, other].map(|time| u32::try_from(time.as_nanos()).unwrap_or(u32::MAX).max(1));
        let pair = if side == Side::Best { Pair::of(own, other) } else { Pair::of(other, own) };
        // Of what is left at the end of a launch, threads take little: that stands for less than what they took before.
        let longest = self.longest.fetch_max(pair.best(), Ordering::Relaxed);
        if pair.best() < longest / SHORT {
            return;
        }
        let at = self.begun.fetch_add(1, Ordering::Relaxed) as usize;
        let Some(place) = self.pairs.get(at) else { return };
        place.store(pair.0, Ordering::Relaxed);
        let noted = self.noted.fetch_add(1, Ordering::AcqRel) as usize + 1;
        let pairs = self.pairs.each_ref().map(|pair| Pair(pair.load(Ordering::Relaxed)));
        if noted == PAIRS {
            let (best, challenger) = Pair::sums_without_extremes(pairs);
            tracing::debug!("the challenger takes {challenger} ns, the best code so far {best} ns");
            self.settle(if 16 * challenger < self.most * best { Side::Challenger } else { Side::Best });
        } else if noted <= FEW && pair.is_slower(MUCH_SLOWER) {
            let all = pairs.into_iter().filter(|pair| pair.0 != 0).all(|pair| pair.is_slower(MUCH_SLOWER));
            if all && (noted == FEW || pair.is_slower(2 * MUCH_SLOWER)) {
                self.settle(Side::Best);
            }
        }
    }

    fn note_one(&self, side: Side, turn: u32, time: Duration, groups: u64) {
        let each = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).saturating_mul(1000) / groups.max(1);
        if time >= LEAST {
            self.shortest[side as usize].fetch_min(each, Ordering::Relaxed);
        }
        let [best, challenger] = self.shortest.each_ref().map(|shortest| shortest.load(Ordering::Relaxed));
        if best == u64::MAX || challenger == u64::MAX {
            return;
        }
        let is_much_slower = challenger / (2 * MUCH_SLOWER) >= best;
        if turn == 2 * TURNS - 1 || is_much_slower {
            self.shortest.iter().for_each(|shortest| shortest.store(u64::MAX, Ordering::Relaxed));
            let of_all = |each: u64| Duration::from_nanos(each.saturating_mul(groups) / 1000);
            let [best, challenger] = [best, challenger].map(of_all);
            self.note(Side::Best, best, challenger);
        }
    }

    fn settle(&self, side: Side) {
        tracing::debug!(
            "of two codes, the {} one stays",
            if side == Side::Best { "first" } else { "second" }
        );
        self.settled.store(side as u32 + 1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: Duration = Duration::from_micros(100);

    /// Rounds whose challengers are there, but for those behind these.
    fn rounds(count: usize) -> Rounds<()> {
        let rounds = Rounds::new(|_| ());
        for (at, round) in rounds.0.iter().enumerate() {
            round.challenger.get_or_init(|| (at < count).then_some(()));
        }
        rounds
    }

    /// A plan of the first round, in which a side comes first.
    fn pair(of: u64, first: Side) -> Plan {
        Plan::Pair { of, first, pieces: &PIECES, round: 0 }
    }

    /// What grows along the pieces of a pair, and what comes again, is as much for one code as for the other.
    #[test]
    fn pieces_share_what_grows_and_what_comes_again() {
        let difference = |pieces: &[bool], of: &dyn Fn(i64) -> i64| -> i64 {
            (0..).zip(pieces).map(|(at, is_own)| if *is_own { of(at) } else { -of(at) }).sum()
        };
        for pieces in [&PIECES[..], &PIECES[..4]] {
            assert_eq!(difference(pieces, &|_| 1), 0);
            assert_eq!(difference(pieces, &|at| at), 0, "a triangle");
            for phase in 0..2 {
                assert_eq!(difference(pieces, &|at| (at + phase) % 2), 0);
            }
        }
        assert_eq!(difference(&PIECES, &|at| at * at), 0, "rows of a triangle");
        for phase in 0..4 {
            assert_eq!(difference(&PIECES, &|at| i64::from((at + phase) % 4 < 2)), 0, "half of each row");
        }
        let rounds = rounds(1);
        let pieces = |groups: u64| match rounds.plan(groups) {
            Plan::Pair { of, pieces, .. } => Some((of, pieces.len())),
            _ => None,
        };
        assert_eq!(
            [100, 10, 9, 6, 5].map(pieces),
            [Some((10, 8)), Some((1, 8)), Some((1, 4)), Some((1, 4)), None]
        );
    }

    #[test]
    fn what_takes_less_time_in_most_pairs_is_settled_on() {
        for (ratios, best) in [
            ([50; PAIRS], 1),
            ([99; PAIRS], 0),
            ([150; PAIRS], 0),
            ([50, 900, 50, 50, 70, 50, 60, 50, 90], 1),
            ([80, 180, 80, 80, 180, 10, 80, 80, 180], 0),
        ] {
            let rounds = rounds(1);
            for ratio in ratios {
                assert!(matches!(rounds.plan(64), Plan::Pair { of: 6, .. }), "not settled yet");
                rounds.0[0].note(Side::Best, UNIT, UNIT * ratio / 100);
            }
            assert_eq!(rounds.plan(64), Plan::All(best), "{ratios:?}");
            assert_eq!(rounds.is_over(), best == 0, "{ratios:?}");
        }
    }

    #[test]
    fn who_wins_a_round_meets_the_next_one() {
        for (first, second, best) in [(50, 50, 2), (50, 150, 1), (150, 50, 2), (150, 150, 0)] {
            let rounds = rounds(2);
            for (round, ratio) in [first, second].into_iter().enumerate() {
                for _ in 0..PAIRS {
                    let plan = rounds.plan(64);
                    assert!(matches!(plan, Plan::Pair { round: of, .. } if of == round), "{plan:?}");
                    rounds.0[round].note(Side::Best, UNIT, UNIT * ratio / 100);
                }
            }
            assert_eq!(rounds.plan(64), Plan::All(best), "{first} {second}");
            assert_eq!(rounds.best_before(1), usize::from(first == 50));
        }
        assert!(rounds(0).is_over(), "nobody to meet");
    }

    #[test]
    fn challengers_are_made_one_by_one() {
        let asked = Arc::new(AtomicU32::new(0));
        let of = Arc::clone(&asked);
        let rounds: Rounds<()> = Rounds::new(move |number| of.store(number as u32, Ordering::Relaxed));
        assert_eq!(rounds.plan(64), Plan::Until { code: 0, round: 0 });
        rounds.0[0].promotion.spend(ROUNDS[0].1);
        assert_eq!(asked.load(Ordering::Relaxed), 1);
        rounds.0[0].challenger.get_or_init(|| Some(()));
        (0..PAIRS).for_each(|_| rounds.0[0].note(Side::Best, UNIT, UNIT / 2));
        assert_eq!(rounds.plan(64), Plan::Until { code: 1, round: 1 });
        rounds.0[1].promotion.spend(ROUNDS[1].1);
        assert_eq!(asked.load(Ordering::Relaxed), 2);
        rounds.0[1].challenger.get_or_init(|| None);
        assert_eq!(rounds.plan(64), Plan::Until { code: 1, round: 2 }, "it could not be made");
        rounds.0[2].challenger.get_or_init(|| None);
        assert_eq!(rounds.plan(64), Plan::All(1));
    }

    #[test]
    fn what_is_much_slower_is_not_tried_again() {
        let first = rounds(1);
        first.0[0].note(Side::Best, UNIT, UNIT * 8);
        assert_eq!(first.plan(1), Plan::All(0));
        let second = rounds(1);
        second.0[0].note(Side::Best, UNIT, UNIT * 4);
        assert_eq!(second.plan(100), pair(10, Side::Challenger));
        second.0[0].note(Side::Best, UNIT, UNIT * 4);
        assert_eq!(second.plan(100), Plan::All(0));
        let third = rounds(1);
        third.0[0].note(Side::Best, UNIT, UNIT);
        third.0[0].note(Side::Best, UNIT, UNIT * 4);
        assert_eq!(third.plan(100), pair(10, Side::Best), "the first was not");
    }

    #[test]
    fn few_work_groups_are_compared_with_others() {
        let rounds = rounds(1);
        for turn in (0..2 * TURNS).cycle().take(PAIRS * 2 * TURNS as usize) {
            let side = if turn < TURNS { Side::Best } else { Side::Challenger };
            assert_eq!(rounds.plan(2), Plan::One { side, turn, round: 0 });
            // The first of a turn takes longer.
            let time = if turn % TURNS == 0 { 3 * UNIT } else { UNIT };
            let (time, groups) = if side == Side::Best { (time, 2) } else { (time / 4, 1) };
            rounds.0[0].note_one(side, turn, time, groups);
        }
        assert_eq!(rounds.plan(2), Plan::All(1));
    }

    #[test]
    fn few_work_groups_that_take_much_longer_are_not_tried_again() {
        let rounds = rounds(1);
        for turn in 0..TURNS {
            rounds.0[0].note_one(Side::Best, turn, UNIT, 1);
        }
        rounds.0[0].note_one(Side::Challenger, TURNS, 20 * UNIT, 1);
        assert_eq!(rounds.plan(2), Plan::All(0));
    }

    #[test]
    fn what_takes_no_time_tells_nothing() {
        let rounds = rounds(1);
        for turn in 0..100 {
            rounds.0[0].note(Side::Best, LEAST / 2, LEAST / 4);
            rounds.0[0].note_one(Side::Best, turn % TURNS, LEAST / 2, 1);
        }
        assert_eq!(rounds.plan(64), pair(6, Side::Best));
        assert_eq!(rounds.plan(1), Plan::One { side: Side::Best, turn: 0, round: 0 });
        (0..MOST_PLANS).for_each(|_| _ = rounds.plan(1));
        assert_eq!(rounds.plan(1), Plan::All(0), "it was tried often enough");
    }
}
