//! Tests of signals, and of the protocol of epochs: every order in which the streams of an engine can execute a small program.

use super::*;

fn engine() -> EngineId {
    EngineId::of_tests()
}

/// A command that signals is submitted and executed.
fn signal(signal: &Signal) {
    let target = signal.submit_signal(engine());
    signal.complete(engine(), &target, Ok(Timestamps::default()));
}

#[test]
fn a_flag_is_signalled_until_it_is_reset() {
    let flag = Signal::flag();
    assert!(!flag.is_signalled());
    flag.raise();
    flag.raise();
    assert!(flag.is_signalled() && flag.wait(Deadline::after(0)).is_ok());
    flag.reset();
    assert!(!flag.is_signalled() && matches!(flag.wait(Deadline::after(0)), Err(Error::NotReady)));
    assert!(Signal::raised().is_signalled());
}

#[test]
fn a_completion_waits_for_the_latest_submission() {
    let completion = Signal::completion();
    assert!(!completion.is_signalled(), "it was appended, if not submitted");
    let epochs = [completion.submit_signal(engine()), completion.submit_signal(engine())];
    completion.complete(engine(), &epochs[0], Ok(Timestamps::default()));
    assert!(!completion.is_signalled());
    completion.complete(engine(), &epochs[1], Ok(Timestamps::default()));
    assert!(completion.is_signalled());
    completion.submit_signal(engine());
    assert!(!completion.is_signalled());
}

#[test]
fn a_target_is_that_of_its_time() {
    let completion = Signal::completion();
    let epoch = completion.submit_signal(engine());
    let first = completion.submit_wait(engine());
    completion.submit_signal(engine());
    completion.complete(engine(), &epoch, Ok(Timestamps::default()));
    assert!(completion.is_reached(engine(), &first) && !completion.is_signalled());
}

#[test]
fn submissions_from_many_threads_are_all_counted() {
    let completion = Signal::completion();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..1000).for_each(|_| drop(completion.submit_signal(engine()))));
        }
    });
    assert!(matches!(completion.submit_wait(engine()), Target::Signals(4000)));
}

#[test]
fn timestamps_are_those_of_the_command() {
    let flag = Signal::flag();
    assert!(matches!(flag.query(), Err(Error::NotReady)));
    let epoch = flag.submit_signal(engine());
    flag.complete(engine(), &epoch, Ok(Timestamps { start: 5, end: 9 }));
    assert_eq!(flag.query().expect("signalled"), Timestamps { start: 5, end: 9 });
}

#[test]
fn a_failure_ends_the_wait_and_is_told_until_the_next_signal() {
    let flag = Signal::flag();
    flag.complete(engine(), &Target::Flag, Err("no memory".into()));
    for _ in 0..2 {
        assert!(
            matches!(flag.wait(Deadline::Never), Err(Error::DeviceLost(reason)) if reason == "no memory")
        );
        assert!(matches!(flag.query(), Err(Error::DeviceLost(_))));
    }
    flag.reset();
    assert!(matches!(flag.query(), Err(Error::NotReady)));
    flag.raise();
    assert!(flag.wait(Deadline::Never).is_ok() && flag.query().is_ok());
}

#[test]
fn a_wait_behind_a_submitted_reset_does_not_see_an_older_signal() {
    let flag = Signal::raised();
    let reset = flag.submit_reset(engine());
    let target = flag.submit_wait(engine());
    assert!(flag.is_signalled() && !flag.is_reached(engine(), &target));
    flag.reset_by(engine(), &reset);
    assert!(!flag.is_signalled() && !flag.is_reached(engine(), &target));
    signal(&flag);
    assert!(flag.is_signalled() && flag.is_reached(engine(), &target));
}

#[test]
fn a_wait_sees_the_signal_of_its_epoch_after_the_next_reset() {
    let flag = Signal::flag();
    let epoch = flag.submit_signal(engine());
    let target = flag.submit_wait(engine());
    let reset = flag.submit_reset(engine());
    flag.complete(engine(), &epoch, Ok(Timestamps::default()));
    flag.reset_by(engine(), &reset);
    assert!(!flag.is_signalled() && flag.is_reached(engine(), &target));
}

#[test]
fn a_signal_that_overtakes_its_reset_stays() {
    let flag = Signal::raised();
    let reset = flag.submit_reset(engine());
    let epoch = flag.submit_signal(engine());
    let target = flag.submit_wait(engine());
    flag.complete(engine(), &epoch, Ok(Timestamps { start: 3, end: 4 }));
    assert!(flag.is_reached(engine(), &target));
    flag.reset_by(engine(), &reset);
    assert!(flag.is_signalled() && flag.is_reached(engine(), &target));
    assert_eq!(flag.query().expect("signalled"), Timestamps { start: 3, end: 4 });
}

#[test]
fn a_signal_that_the_next_reset_overtook_changes_nothing() {
    let flag = Signal::flag();
    let epoch = flag.submit_signal(engine());
    let reset = flag.submit_reset(engine());
    let target = flag.submit_wait(engine());
    flag.reset_by(engine(), &reset);
    flag.complete(engine(), &epoch, Ok(Timestamps::default()));
    assert!(!flag.is_signalled() && !flag.is_reached(engine(), &target));
}

#[test]
fn the_host_acts_at_once() {
    let flag = Signal::flag();
    let reset = flag.submit_reset(engine());
    flag.reset_by(engine(), &reset);
    let target = flag.submit_wait(engine());
    flag.raise();
    assert!(flag.is_reached(engine(), &target));
    flag.reset();
    assert!(!flag.is_signalled() && !flag.is_reached(engine(), &target));
}

#[test]
fn another_engines_reset_counts_from_when_it_is_executed() {
    let (flag, other) = (Signal::raised(), EngineId(u32::MAX - 1));
    let of_other = flag.submit_reset(other);
    let reset = flag.submit_reset(engine());
    flag.reset_by(engine(), &reset);
    signal(&flag);
    let target = flag.submit_wait(engine());
    assert!(flag.is_reached(engine(), &target), "the other engine's reset is not executed");
    flag.reset_by(other, &of_other);
    assert!(!flag.is_signalled() && !flag.is_reached(engine(), &target));
    signal(&flag);
    let waits = flag.submit_wait(other);
    assert!(flag.is_reached(other, &waits) && flag.is_reached(engine(), &target));
}

struct Count(AtomicU32);

impl Waiter for Count {
    fn look_again(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn waiters_are_told_once_of_the_next_change_unless_it_is_there() {
    let (flag, waiter) = (Signal::flag(), Arc::new(Count(AtomicU32::new(0))));
    let dynamic: Arc<dyn Waiter> = waiter.clone();
    assert!(flag.notify(engine(), &Target::Flag, &dynamic));
    flag.raise();
    flag.raise();
    assert_eq!(waiter.0.load(Ordering::Relaxed), 1);
    assert!(!flag.notify(engine(), &Target::Flag, &dynamic), "it is there");
    assert_eq!(waiter.0.load(Ordering::Relaxed), 1);
}

/// What the commands of the model do with one of its flags.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Act {
    Signal(usize),
    Wait(usize),
    Reset(usize),
}

/// A command of the model, and the stream that it goes to.
type Step = (usize, Act);

const STREAMS: usize = 3;
const FLAGS: usize = 2;

/// For each wait of a program, the signals of its epoch that it may see; `None` if a real engine would wait for ever.
fn seen(program: &[Step]) -> Option<Vec<Vec<usize>>> {
    program
        .iter()
        .enumerate()
        .map(|(at, (_, act))| {
            let Act::Wait(flag) = *act else { return Some(Vec::new()) };
            let begin =
                program[..at].iter().rposition(|(_, act)| *act == Act::Reset(flag)).map_or(0, |at| at + 1);
            let end = program[at..].iter().position(|(_, act)| *act == Act::Reset(flag));
            let end = end.map_or(program.len(), |end| at + end);
            let signals: Vec<usize> = (begin..end).filter(|&at| program[at].1 == Act::Signal(flag)).collect();
            signals.first().is_some_and(|first| *first < at).then_some(signals)
        })
        .collect()
}

/// Flags on which commands of one engine act, submitted and executed one by one.
struct Model<'p> {
    program: &'p [Step],
    flags: Vec<Arc<Signal>>,
    /// What each submitted command waits for, or its epoch.
    targets: Vec<Target>,
    executed: Vec<bool>,
}

impl<'p> Model<'p> {
    fn new(program: &'p [Step]) -> Self {
        let flags = (0..FLAGS).map(|_| Signal::flag()).collect();
        Self { program, flags, targets: Vec::new(), executed: vec![false; program.len()] }
    }

    /// The commands that can be executed next: the first of each stream, if it waits for nothing.
    fn ready(&self) -> Vec<usize> {
        (0..STREAMS).filter_map(|stream| self.front(stream)).filter(|&at| self.is_ready(at)).collect()
    }

    fn front(&self, stream: usize) -> Option<usize> {
        (0..self.targets.len()).find(|&at| self.program[at].0 == stream && !self.executed[at])
    }

    fn is_ready(&self, at: usize) -> bool {
        match self.program[at].1 {
            Act::Wait(flag) => self.flags[flag].is_reached(engine(), &self.targets[at]),
            _ => true,
        }
    }

    fn submit(&mut self) {
        let target = match self.program[self.targets.len()].1 {
            Act::Signal(flag) => self.flags[flag].submit_signal(engine()),
            Act::Wait(flag) => self.flags[flag].submit_wait(engine()),
            Act::Reset(flag) => self.flags[flag].submit_reset(engine()),
        };
        self.targets.push(target);
    }

    fn execute(&mut self, at: usize, seen: &[Vec<usize>]) {
        match self.program[at].1 {
            Act::Signal(flag) => {
                self.flags[flag].complete(engine(), &self.targets[at], Ok(Timestamps::default()));
            }
            Act::Wait(_) => assert!(
                seen[at].iter().any(|&signal| self.executed[signal]),
                "{:?}: {at} did not wait",
                self.program
            ),
            Act::Reset(flag) => self.flags[flag].reset_by(engine(), &self.targets[at]),
        }
        self.executed[at] = true;
    }

    /// Whether each flag is as a real engine leaves it.
    fn is_final(&self) -> bool {
        (0..FLAGS).all(|flag| {
            let last = self
                .program
                .iter()
                .rev()
                .find(|(_, act)| *act == Act::Signal(flag) || *act == Act::Reset(flag));
            self.flags[flag].is_signalled() == last.is_some_and(|(_, act)| *act == Act::Signal(flag))
        })
    }
}

/// Executes a program in every order that its streams allow, submissions in between too; how many there are.
fn explore(program: &[Step], seen: &[Vec<usize>]) -> usize {
    // Choices made so far: how many there were, and which was taken. Flags cannot be copied, so each order starts anew.
    let mut path: Vec<(usize, usize)> = Vec::new();
    let mut orders = 0;
    loop {
        let mut model = Model::new(program);
        let mut depth = 0;
        loop {
            let ready = model.ready();
            let can_submit = model.targets.len() < program.len();
            let choices = ready.len() + usize::from(can_submit);
            if choices == 0 {
                break;
            }
            if depth == path.len() {
                path.push((choices, 0));
            }
            match ready.get(path[depth].1) {
                Some(&at) => model.execute(at, seen),
                None => model.submit(),
            }
            depth += 1;
        }
        assert!(model.executed.iter().all(|done| *done), "{program:?}: waits for ever");
        assert!(model.is_final(), "{program:?}: the flags are not as the last commands left them");
        orders += 1;
        while let Some((choices, taken)) = path.pop() {
            if taken + 1 < choices {
                path.push((choices, taken + 1));
                break;
            }
        }
        if path.is_empty() {
            return orders;
        }
    }
}

/// A linear congruential generator: programs are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

#[test]
fn every_order_of_streams_keeps_the_order_of_the_engine() {
    let mut random = Random(1);
    let (mut programs, mut orders) = (0, 0);
    while programs < 200 {
        let length = 3 + random.below(4);
        let program: Vec<Step> = (0..length)
            .map(|_| {
                let (stream, flag) = (random.below(STREAMS), random.below(FLAGS));
                let act = [Act::Signal(flag), Act::Wait(flag), Act::Reset(flag)][random.below(3)];
                (stream, act)
            })
            .collect();
        let resets = program.iter().filter(|(_, act)| matches!(act, Act::Reset(_))).count();
        let Some(seen) = seen(&program).filter(|seen| resets > 0 && seen.iter().any(|seen| !seen.is_empty()))
        else {
            continue;
        };
        orders += explore(&program, &seen);
        programs += 1;
    }
    assert!(orders > 10 * programs, "{orders} orders of {programs} programs");
}

/// What a replayed SYCL graph does: each time a list on a queue resets an event, one signals it, and an immediate list
/// waits for it.
#[test]
fn replays_whose_waits_are_in_another_stream_stay_in_step() {
    let replay = [(0, Act::Reset(0)), (0, Act::Signal(0)), (1, Act::Wait(0))];
    let program: Vec<Step> = replay.iter().cycle().take(3 * replay.len()).copied().collect();
    let seen = seen(&program).expect("an engine executes it");
    assert!(explore(&program, &seen) > 1);
}

#[test]
fn urgent_waiters_are_told_first() {
    struct Told(u32, Priority, Arc<Mutex<Vec<u32>>>);
    impl Waiter for Told {
        fn priority(&self) -> Priority {
            self.1
        }
        fn look_again(self: Arc<Self>) {
            self.2.lock().push(self.0);
        }
    }
    let (signal, told) = (Signal::flag(), Arc::new(Mutex::new(Vec::new())));
    let target = signal.submit_wait(EngineId::of_tests());
    let priorities = [Priority::Low, Priority::High, Priority::Normal, Priority::High, Priority::Low];
    for (number, priority) in (0..).zip(priorities) {
        let waiter: Arc<dyn Waiter> = Arc::new(Told(number, priority, Arc::clone(&told)));
        assert!(signal.notify(EngineId::of_tests(), &target, &waiter));
    }
    signal.raise();
    assert_eq!(*told.lock(), [1, 3, 2, 0, 4]);
}

/// Others whose change takes a while to be taken over.
struct Slow {
    changed: AtomicBool,
    is_set: AtomicBool,
    begun: std::sync::mpsc::SyncSender<()>,
}

impl Outside for Slow {
    fn has_changed(&self) -> bool {
        self.changed.load(Ordering::Acquire)
    }

    fn take(&self) -> Option<Option<Outcome>> {
        if !self.changed.swap(false, Ordering::AcqRel) {
            return None;
        }
        self.begun.send(()).expect("the test listens");
        std::thread::sleep(std::time::Duration::from_millis(50));
        Some(self.is_set.load(Ordering::Acquire).then(|| Ok(Timestamps::default())))
    }

    fn publish(&self, outcome: Option<&Outcome>) -> bool {
        outcome.is_some()
    }

    fn watch(&self) {}
}

#[test]
fn what_another_thread_is_about_to_take_over_is_seen() {
    let (begun, begins) = std::sync::mpsc::sync_channel(1);
    let others = Arc::new(Slow { changed: AtomicBool::new(false), is_set: AtomicBool::new(false), begun });
    let outside: Arc<dyn Outside> = others.clone();
    let flag = Signal::linked(|_| outside);
    for is_set in [true, false, true] {
        others.is_set.store(is_set, Ordering::Release);
        others.changed.store(true, Ordering::Release);
        let listener = std::thread::spawn({
            let flag = Arc::clone(&flag);
            move || flag.refresh()
        });
        begins.recv().expect("the listener takes it over");
        assert_eq!(flag.is_signalled(), is_set, "the listener is not done");
        listener.join().expect("it ends");
    }
}
