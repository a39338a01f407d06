//! Tests of what a forked child finds. The tests fork with other tests' threads at work: a child calls nothing but what is
//! tested, and `_exit`.

use super::*;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

/// Runs a child, which an alarm ends where it hangs, and says whether it did what it should.
fn child(work: impl FnOnce() -> bool) -> bool {
    watch();
    // SAFETY: the child calls the closure and ends without returning.
    unsafe {
        let child = libc::fork();
        assert!(child >= 0, "the process cannot fork");
        if child == 0 {
            libc::alarm(20);
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or(false);
            libc::_exit(if done { 0 } else { 1 });
        }
        let mut status = -1;
        assert_eq!(libc::waitpid(child, &mut status, 0), child);
        status == 0
    }
}

/// A test that forks, or that has sections which do not end at once, until this is dropped. A fork in the middle of a section waits for
/// another thread's fork, which waits for the section and gives up after a while: there is nothing that could be at rest for both.
#[allow(clippy::disallowed_types, reason = "the driver's own is a section, and forks wait for it")]
fn one_at_a_time() -> std::sync::MutexGuard<'static, ()> {
    static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Runs `work` again and again in other threads while `test` runs, to its end or until it panics.
fn beside(work: impl Fn() + Sync, test: impl FnOnce()) {
    struct Stop<'a>(&'a AtomicBool);
    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _stop = Stop(&stop);
        for _ in 0..3 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    work();
                }
            });
        }
        test();
    });
}

#[test]
fn locks_are_free_and_what_they_guard_is_whole_in_a_child() {
    let _alone = one_at_a_time();
    let (pair, list) = (Mutex::new((0u64, 0u64)), RwLock::new(Vec::<u64>::new()));
    let work = || {
        let mut pair = pair.lock();
        pair.0 += 1;
        std::hint::black_box(&*pair);
        pair.1 += 1;
        drop(pair);
        let mut list = list.write();
        list.push(1);
        list.truncate(100);
    };
    beside(work, || {
        for _ in 0..100 {
            assert!(child(|| {
                let whole = { *pair.lock() };
                whole.0 == whole.1 && list.read().len() <= 100 && list.write().iter().all(|one| *one == 1)
            }));
        }
    });
}

#[test]
fn what_is_unlocked_for_a_while_can_be_locked_in_a_child() {
    let _alone = one_at_a_time();
    let lock = Mutex::new(7);
    let (entered, stop) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut guard = lock.lock();
            MutexGuard::unlocked(&mut guard, || {
                entered.store(true, Ordering::Relaxed);
                while !stop.load(Ordering::Relaxed) {
                    std::thread::yield_now();
                }
            });
        });
        while !entered.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        let done = child(|| *lock.lock() == 7);
        stop.store(true, Ordering::Relaxed);
        assert!(done);
    });
}

#[test]
fn a_value_that_the_parent_is_making_is_made_again_in_a_child() {
    let _alone = one_at_a_time();
    let slow = Slow::default();
    let (making, go_on) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let maker = scope.spawn(|| {
            *slow.get_or_init(|| {
                making.store(true, Ordering::Relaxed);
                while !go_on.load(Ordering::Relaxed) {
                    std::thread::yield_now();
                }
                1
            })
        });
        while !making.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        let done = child(|| *slow.get_or_init(|| 2) == 2 && *slow.get_or_init(|| 3) == 2);
        go_on.store(true, Ordering::Relaxed);
        assert!(done);
        assert_eq!(maker.join().expect("no panic"), 1);
    });
    assert_eq!(slow.get(), Some(&1));
}

#[test]
fn a_slow_value_is_made_once_and_again_after_a_panic() {
    let (slow, made) = (Arc::new(Slow::default()), Arc::new(AtomicUsize::new(0)));
    let panicked = {
        let slow = Arc::clone(&slow);
        std::thread::spawn(move || {
            slow.get_or_init(|| panic!("expected by this test"));
        })
    };
    assert!(panicked.join().is_err());
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                slow.get_or_init(|| {
                    made.fetch_add(1, Ordering::Relaxed);
                    std::thread::sleep(Duration::from_millis(2));
                    5
                })
            });
        }
    });
    assert_eq!((slow.get(), made.load(Ordering::Relaxed)), (Some(&5), 1));
}

#[test]
fn a_child_makes_its_own_of_what_belongs_to_a_process() {
    let _alone = one_at_a_time();
    let value = PerProcess::default();
    assert_eq!((value.get(), *value.get_or_init(|| 1)), (None, 1));
    assert!(child(|| value.get().is_none() && *value.get_or_init(|| 2) == 2 && value.get() == Some(&2)));
    assert_eq!((value.get(), *value.get_or_init(|| 3)), (Some(&1), 1));
}

#[test]
fn a_fork_waits_for_compilations_and_they_for_it() {
    let _alone = one_at_a_time();
    let (inside, forks) = (AtomicU32::new(0), AtomicU32::new(0));
    let work = || {
        let _compilation = compilation();
        inside.fetch_add(1, Ordering::SeqCst);
        drop(section());
        std::hint::black_box(std::time::Instant::now());
        inside.fetch_sub(1, Ordering::SeqCst);
    };
    beside(work, || {
        for _ in 0..100 {
            assert!(child(|| {
                let at_rest = inside.load(Ordering::SeqCst) == 0 && !is_restless();
                drop(compilation());
                at_rest
            }));
            forks.fetch_add(1, Ordering::Relaxed);
        }
    });
    assert_eq!(forks.load(Ordering::Relaxed), 100);
}

#[test]
fn a_child_that_is_forked_inside_of_a_section_goes_on_with_it() {
    let _alone = one_at_a_time();
    let lock = Mutex::new(1);
    let mut guard = lock.lock();
    *guard = 2;
    assert!(child(|| {
        drop(guard);
        *lock.lock() == 2
    }));
}

#[test]
fn what_is_retired_is_given_back_when_no_section_can_use_it() {
    let _alone = one_at_a_time();
    static GIVEN_BACK: AtomicUsize = AtomicUsize::new(0);
    /// Retires and has looked what can be given back.
    fn retire_many() {
        for address in 0..1000 {
            // SAFETY: a counter may be advanced at any time.
            unsafe { retire(address, |_| _ = GIVEN_BACK.fetch_add(1, Ordering::Relaxed)) };
        }
    }
    watch();
    let (inside, end) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _section = section();
            inside.store(true, Ordering::SeqCst);
            while !end.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
        });
        while !inside.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        retire_many();
        assert_eq!(GIVEN_BACK.load(Ordering::Relaxed), 0, "a section is open that may use it");
        end.store(true, Ordering::SeqCst);
    });
    // Sections of other tests hold it back for a moment.
    let late = Instant::now() + Duration::from_secs(20);
    while GIVEN_BACK.load(Ordering::Relaxed) < 1000 && Instant::now() < late {
        retire_many();
    }
    assert!(GIVEN_BACK.load(Ordering::Relaxed) >= 1000);
}

#[test]
fn what_sections_read_stays_whole_while_others_retire_it() {
    use std::sync::atomic::AtomicPtr;
    watch();
    let current = AtomicPtr::new(Box::into_raw(Box::new([7u64; 32])));
    let read = || {
        let _section = section();
        // SAFETY: what can be reached in a section lives as long as that.
        let seen = unsafe { *current.load(Ordering::Acquire) };
        assert!(seen.iter().all(|&word| word == seen[0] && (word == 7 || word < 20_000)));
    };
    beside(read, || {
        for round in 0..20_000 {
            let old = current.swap(Box::into_raw(Box::new([round; 32])), Ordering::AcqRel);
            let give_back = |old| {
                let old = old as *mut [u64; 32];
                // SAFETY: from `Box::into_raw`, and nobody reads it any more.
                unsafe {
                    *old = std::array::from_fn(|at| u64::MAX - at as u64);
                    drop(Box::from_raw(old));
                }
            };
            // SAFETY: only this thread takes it out, and nothing leads to it any more.
            unsafe { retire(old as usize, give_back) };
        }
    });
}

#[test]
fn sections_of_threads_that_end_leave_their_places_to_others() {
    struct AtEnd;
    impl Drop for AtEnd {
        fn drop(&mut self) {
            // Perhaps behind the end of what the thread gives its place back with.
            drop(section());
        }
    }
    thread_local!(static AT_END: AtEnd = const { AtEnd });
    let count = || sections::places_taken();
    for _ in 0..50 {
        let threads: Vec<_> = (0..20)
            .map(|_| {
                std::thread::spawn(|| {
                    AT_END.with(|_| ());
                    drop(section());
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    }
    // Other tests have some, too.
    assert!(count() < 500, "{} of the 1,000 threads' places are taken", count());
}

#[test]
fn no_thread_is_started_while_the_process_forks() {
    let _alone = one_at_a_time();
    static STARTED: AtomicBool = AtomicBool::new(false);
    let asked = AtomicBool::new(false);
    std::thread::scope(|scope| {
        prepare();
        let starter = scope.spawn(|| {
            asked.store(true, Ordering::SeqCst);
            spawn(thread::Builder::new(), || STARTED.store(true, Ordering::SeqCst))
        });
        while !asked.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_millis(20));
        let early = STARTED.load(Ordering::SeqCst);
        in_parent();
        starter.join().expect("no panic").expect("a thread").join().expect("no panic");
        assert!(!early);
    });
    assert!(STARTED.load(Ordering::SeqCst));
}
