//! The parts by themselves: the word that threads wait on, the flag of the host, and the counters of busy engines.

use shuttle::thread;
use std::sync::Arc;
use std::time::Duration;
use ze_model::activity::{Activity, Work};
use ze_model::futex::{Counter, Deadline};
use ze_model::signal::Signal;
use ze_model::{below, explore, once_in};

#[test]
fn no_wake_up_of_a_counter_is_lost() {
    explore(3000, || {
        let counter = Arc::new(Counter::new(0));
        let waiters: Vec<_> = (0..3)
            .map(|_| {
                let (counter, target) = (Arc::clone(&counter), 1 + below(3) as u32);
                let timed = once_in(3);
                thread::spawn(move || {
                    if timed {
                        let reached = counter.wait(Deadline::after(1_000_000), |value| value >= target);
                        assert!(!reached || counter.get() >= target);
                    }
                    assert!(counter.wait(Deadline::Never, |value| value >= target));
                })
            })
            .collect();
        (0..3).for_each(|_| counter.advance());
        waiters.into_iter().for_each(|waiter| waiter.join().expect("no panic"));
    });
}

#[test]
fn one_wake_up_is_enough_where_each_takes_what_it_finds() {
    explore(2000, || {
        let (wake, left) = (Arc::new(Counter::new(0)), Arc::new(std::sync::atomic::AtomicU32::new(2)));
        let takers: Vec<_> = (0..2)
            .map(|_| {
                let (wake, left) = (Arc::clone(&wake), Arc::clone(&left));
                thread::spawn(move || {
                    assert!(wake.wait(Deadline::Never, |given| given
                        > 2 - left.load(std::sync::atomic::Ordering::SeqCst)));
                    left.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                })
            })
            .collect();
        (0..2).for_each(|_| wake.advance_one());
        takers.into_iter().for_each(|taker| taker.join().expect("no panic"));
    });
}

#[test]
fn a_host_that_waits_sees_the_hosts_signal() {
    explore(2000, || {
        let flag = Signal::flag();
        let waiters: Vec<_> = (0..2)
            .map(|_| {
                let flag = Arc::clone(&flag);
                thread::spawn(move || assert!(flag.wait(Deadline::Never).is_ok()))
            })
            .collect();
        flag.raise();
        waiters.into_iter().for_each(|waiter| waiter.join().expect("no panic"));
        flag.reset();
        assert!(!flag.is_signalled());
    });
}

#[test]
fn busy_time_never_runs_backwards_nor_faster_than_the_clock() {
    explore(3000, || {
        let activity = Arc::new(Activity::default());
        let workers: Vec<_> = (0..2)
            .map(|_| {
                let activity = Arc::clone(&activity);
                thread::spawn(move || {
                    for _ in 0..2 {
                        let _busy = activity.begin(if once_in(2) { Work::Compute } else { Work::Copy });
                        ze_model::clock::pass(1000 * below(3) as u64);
                    }
                })
            })
            .collect();
        let kinds = [None, Some(Work::Compute), Some(Work::Copy)];
        let mut before = kinds.map(|kind| activity.sample(kind));
        for _ in 0..3 {
            let now = kinds.map(|kind| activity.sample(kind));
            for (before, now) in before.iter().zip(now) {
                assert!(
                    now.active >= before.active && now.timestamp >= before.timestamp,
                    "{before:?} {now:?}"
                );
                let (active, elapsed) = (now.active - before.active, now.timestamp - before.timestamp);
                assert!(active <= elapsed + 1, "{before:?} {now:?}");
            }
            before = now;
        }
        workers.into_iter().for_each(|worker| worker.join().expect("no panic"));
        assert!(!activity.is_busy(Work::Compute) && !activity.is_busy(Work::Copy));
    });
}

#[test]
fn no_command_runs_in_a_pause() {
    explore(2000, || {
        let activity = Arc::new(Activity::default());
        let running = Arc::new(std::sync::atomic::AtomicU32::new(0));
        let workers: Vec<_> = (0..2)
            .map(|_| {
                let (activity, running) = (Arc::clone(&activity), Arc::clone(&running));
                thread::spawn(move || {
                    let _busy = activity.begin(Work::Compute);
                    running.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                    thread::yield_now();
                    running.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                })
            })
            .collect();
        let pauses = activity.pause(Duration::from_millis(10), || {
            for _ in 0..3 {
                assert_eq!(running.load(std::sync::atomic::Ordering::SeqCst), 0);
                thread::yield_now();
            }
        });
        workers.into_iter().for_each(|worker| worker.join().expect("no panic"));
        assert!(pauses.is_some() || !activity.is_busy(Work::Compute));
    });
}
