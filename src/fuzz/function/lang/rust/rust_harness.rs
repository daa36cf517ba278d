//! What harnesses use of the crate `libfuzzer_sys`, and what calls them. Runs inside a cell.
//!
//!     harness FLAG...                    as an engine: libFuzzer's flags and folders
//!     harness replay FLAG... FILE        one input; ends with 77 where it does what it must not
//!     harness minimise FILE OUT SECONDS
//!     harness DIR                        (built to measure) all files of a folder, once
//!     harness                            (built to serve) JSON documents, a line each, on stdin; an answer a line on stdout
//!
//! It goes on after a panic: each new one, told apart by its kind and the innermost frames of the target's code, is left in
//! crashes/ as NAME.txt, then NAME.input. What the target does to this process is judged outside: an input counts when it does
//! the same in a fresh cell.
#![feature(backtrace)]
#![allow(stable_features)]
pub use arbitrary;
#[cfg(hotcell_document)]
pub use arbitrary::document;
use arbitrary::{Arbitrary, Unstructured};
use std::backtrace::Backtrace;
use std::cell::RefCell;
use std::collections::hash_map::DefaultHasher;
use std::collections::HashSet;
use std::ffi::CStr;
use std::hash::{Hash, Hasher};
use std::io::{Read, Write};
use std::os::raw::{c_char, c_int, c_void};
use std::os::unix::io::FromRawFd;
use std::panic::{catch_unwind, set_hook, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Mutex;
use std::time::{Duration, Instant};

const WORK: &str = "/fuzz";
const EXIT_FOUND: c_int = 77;
const KEY_FRAMES: usize = 3;
const CRASHES_MAX: usize = 1000;
const QUICK_MAX: usize = 100_000;
const QUICK_FRAMES: usize = 24;
const TEXT_MAX: usize = 32768;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Corpus {
    Keep,
    Reject,
}

impl From<()> for Corpus {
    fn from(_: ()) -> Corpus {
        Corpus::Keep
    }
}

#[doc(hidden)]
pub fn kept(corpus: impl Into<Corpus>) -> i32 {
    if corpus.into() == Corpus::Keep {
        0
    } else {
        -1
    }
}

/// One symbol is all that the target's crate gives: it may be in a module that nobody else sees.
#[macro_export]
macro_rules! hotcell_entry {
    (|$data:ident| $body:block) => {
        #[doc(hidden)]
        #[no_mangle]
        pub fn hotcell_fuzz_one($data: &[u8]) -> i32 {
            $body
        }
        #[doc(hidden)]
        #[no_mangle]
        pub fn hotcell_fuzz_init() {}
    };
}

#[macro_export]
macro_rules! fuzz_target {
    (init: $init:expr, |$data:ident: &[u8]| -> $result:ty $body:block) => {
        $crate::fuzz_target!(@whole $init, $data, &[u8], { let made: $result = (move || $body)(); $crate::kept(made) });
    };
    (init: $init:expr, |$data:ident: &[u8]| $body:expr) => {
        $crate::fuzz_target!(@whole $init, $data, &[u8], { let _ = (|| { $body; })(); 0 });
    };
    (init: $init:expr, |$data:ident| $body:expr) => {
        $crate::fuzz_target!(@whole $init, $data, &[u8], { let _ = (|| { $body; })(); 0 });
    };
    (init: $init:expr, |$data:ident: $kind:ty| -> $result:ty $body:block) => {
        $crate::fuzz_target!(@made $init, $data, $kind, { let made: $result = (move || $body)(); $crate::kept(made) });
    };
    (init: $init:expr, |$data:ident: $kind:ty| $body:expr) => {
        $crate::fuzz_target!(@made $init, $data, $kind, { let _ = (move || { $body; })(); 0 });
    };
    (@whole $init:expr, $data:ident, $kind:ty, $body:block) => {
        #[doc(hidden)]
        #[no_mangle]
        pub fn hotcell_fuzz_one($data: &[u8]) -> i32 $body
        #[doc(hidden)]
        #[no_mangle]
        pub fn hotcell_fuzz_init() { $init; }
    };
    (@made $init:expr, $data:ident, $kind:ty, $body:block) => {
        #[doc(hidden)]
        #[no_mangle]
        pub fn hotcell_fuzz_one(bytes: &[u8]) -> i32 {
            let $data: $kind = match $crate::made(bytes) { Some(made) => made, None => return -1 };
            $body
        }
        #[doc(hidden)]
        #[no_mangle]
        pub fn hotcell_fuzz_init() { $init; }
    };
    ($($rest:tt)*) => { $crate::fuzz_target!(init: (), $($rest)*); };
}

#[doc(hidden)]
pub fn made<'a, T: Arbitrary<'a>>(bytes: &'a [u8]) -> Option<T> {
    T::arbitrary_take_rest(Unstructured::new(bytes)).ok()
}

/// Arguments of a function, from one input.
pub struct Input<'a>(Unstructured<'a>);

impl<'a> Input<'a> {
    pub fn new(data: &'a [u8]) -> Self {
        Input(Unstructured::new(data))
    }

    pub fn make<T: Arbitrary<'a>>(&mut self) -> Option<T> {
        T::arbitrary(&mut self.0).ok()
    }

    pub fn bytes(&mut self, last: bool) -> &'a [u8] {
        let len = if last { self.0.len() } else { self.0.some_len().unwrap_or(0) };
        self.0.bytes(len).unwrap_or(b"")
    }

    pub fn text(&mut self, last: bool) -> String {
        arbitrary::text_of(self.bytes(last))
    }
}

// ---- panics ----

extern "Rust" {
    fn hotcell_fuzz_one(data: &[u8]) -> i32;
    fn hotcell_fuzz_init();
}

extern "C" {
    fn _Unwind_Backtrace(each: extern "C" fn(*mut c_void, *mut c_void) -> c_int, data: *mut c_void) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
    fn _exit(code: c_int) -> !;
    fn fork() -> c_int;
    fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn alarm(seconds: u32) -> u32;
    fn signal(number: c_int, action: usize) -> usize;
    fn pipe(fds: *mut c_int) -> c_int;
    fn close(fd: c_int) -> c_int;
    #[cfg(hotcell_document)]
    fn dup(fd: c_int) -> c_int;
    #[cfg(hotcell_document)]
    fn dup2(fd: c_int, other: c_int) -> c_int;
}

struct Panic {
    message: String,
    place: String,
    trace: Option<Backtrace>,
    quick: u64, // of where it was: a panic that was told is known by it before anything has a name
}

thread_local!(static LAST: RefCell<Option<Panic>> = RefCell::new(None));
static REPLAYS: AtomicBool = AtomicBool::new(false);
static PANICS: AtomicUsize = AtomicUsize::new(0);
static ABORT_AT: AtomicUsize = AtomicUsize::new(usize::MAX);

struct Known {
    quick: HashSet<u64>,
    keys: HashSet<u64>,
    expected: Vec<String>,
}

static KNOWN: Mutex<Option<Known>> = Mutex::new(None);

extern "C" fn add_frame(context: *mut c_void, data: *mut c_void) -> c_int {
    let frames = unsafe { &mut *(data as *mut (usize, DefaultHasher)) };
    unsafe { _Unwind_GetIP(context) }.hash(&mut frames.1);
    frames.0 += 1;
    (frames.0 >= QUICK_FRAMES) as c_int * 5
}

fn payload_text(payload: &(dyn std::any::Any + Send)) -> String {
    payload
        .downcast_ref::<&str>()
        .map(|text| text.to_string())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a value that is no text".into())
}

fn take_panics() {
    set_hook(Box::new(|info| {
        let mut frames = (0usize, DefaultHasher::new());
        unsafe { _Unwind_Backtrace(add_frame, &mut frames as *mut _ as *mut c_void) };
        let quick = frames.1.finish();
        let told_before =
            KNOWN.try_lock().map_or(false, |known| known.as_ref().map_or(false, |known| known.quick.contains(&quick)));
        let panic = Panic {
            message: payload_text(info.payload()),
            place: info.location().map(|at| at.to_string()).unwrap_or_default(),
            trace: if told_before { None } else { Some(Backtrace::force_capture()) },
            quick,
        };
        if PANICS.fetch_add(1, Ordering::Relaxed) + 1 == ABORT_AT.load(Ordering::Relaxed) {
            std::process::abort(); // nothing is unwound yet
        }
        if panic.message.starts_with("panic in a ") {
            // it aborts now: what led to it is told
            let before = LAST.try_with(|last| last.borrow_mut().take()).ok().flatten();
            say(&told(before.as_ref().unwrap_or(&panic)));
        }
        let _ = LAST.try_with(|last| *last.borrow_mut() = Some(panic));
    }));
}

fn say(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

enum Outcome {
    Done(i32), // what libFuzzer is told
    Expected,
    Panicked(Panic), // nobody caught and nobody expects it
    #[cfg(hotcell_document)]
    Rejected(String),
}

fn outcome(data: &[u8]) -> Outcome {
    match catch_unwind(AssertUnwindSafe(|| unsafe { hotcell_fuzz_one(data) })) {
        Ok(kept) => Outcome::Done(kept),
        Err(payload) => {
            #[cfg(hotcell_document)]
            let payload = match payload.downcast::<document::Rejected>() {
                Ok(rejected) => return Outcome::Rejected(rejected.0),
                Err(other) => other,
            };
            let said = payload_text(&*payload);
            let panic = LAST.with(|last| last.borrow_mut().take()).filter(|last| last.message == said);
            if panic.is_none() {
                // the target has a hook of its own
                take_panics();
            }
            let quick = said.len() as u64;
            let panic = panic.unwrap_or(Panic { message: said, place: String::new(), trace: None, quick });
            let _ = catch_unwind(AssertUnwindSafe(|| drop(payload)));
            let known = KNOWN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            let expected = known
                .as_ref()
                .map_or(false, |known| known.expected.iter().any(|each| panic.message.contains(each.as_str())));
            if expected {
                Outcome::Expected
            } else {
                Outcome::Panicked(panic)
            }
        }
    }
}

/// The panic of this input, if it is a finding; and what libFuzzer is told.
fn call(data: &[u8]) -> (Option<Panic>, i32) {
    match outcome(data) {
        Outcome::Done(kept) => (None, kept),
        Outcome::Panicked(panic) => (Some(panic), 0),
        _ => (None, 0),
    }
}

/// What the compiler and the library say is a kind of its own; what a target says is one kind: it has values in it.
fn kind_of(message: &str) -> &str {
    const KINDS: &[&str] = &[
        "index out of bounds",
        "called `Option::unwrap()` on a `None` value",
        "called `Result::unwrap()` on an `Err` value",
        "called `Result::unwrap_err()` on an `Ok` value",
        "assertion failed",
        "assertion `left == right` failed",
        "assertion `left != right` failed",
        "range end index",
        "range start index",
        "slice index starts at",
        "byte index",
        "end byte index",
        "start byte index",
        "explicit panic",
        "not yet implemented",
        "not implemented",
        "internal error",
        "capacity overflow",
        "already borrowed",
        "already mutably borrowed",
        "RefCell already borrowed",
        "unsafe precondition",
        "misaligned pointer",
    ];

    if message.starts_with("attempt to ") {
        return message;
    }
    KINDS.iter().find(|kind| message.starts_with(**kind)).copied().unwrap_or("panic")
}

/// A crate that the target depends on.
fn is_other(file: &str) -> bool {
    ["/packages/", "/vendor/", "/fuzz/build/"].iter().any(|part| file.contains(part))
}

fn is_runtime(function: &str, file: &str) -> bool {
    ["/rustc/", "/usr/src/rustc", "/library/std/src/", "/library/core/src/", "/library/alloc/src/"]
        .iter()
        .any(|part| file.contains(part))
        || [
            "std::",
            "core::",
            "alloc::",
            "<std::",
            "<core::",
            "<alloc::",
            "__rust",
            "rust_begin_unwind",
            "rust_panic",
            "_start",
            "__libc",
            "fuzzer::",
            "libfuzzer_sys::",
        ]
        .iter()
        .any(|begin| function.starts_with(begin))
}

/// Its frames as "function", "file:line:column", innermost first: the target's own; or those of other crates, and the harness's; or all.
fn frames_of(panic: &Panic) -> Vec<(String, String)> {
    let whole = panic.trace.as_ref().map(|trace| trace.to_string()).unwrap_or_default();
    let here = std::env::current_dir().map(|path| path.display().to_string()).unwrap_or_default();
    let mut all: Vec<(String, String)> = Vec::new();
    for line in whole.lines() {
        let line = line.trim();
        let number = line.bytes().take_while(u8::is_ascii_digit).count();
        if let Some(place) = line.strip_prefix("at ") {
            if let Some(last) = all.last_mut() {
                last.1 = match place.strip_prefix("./") {
                    Some(rest) => format!("{}/{}", here.trim_end_matches('/'), rest),
                    None => place.to_string(),
                };
            }
        } else if number > 0 && line[number..].starts_with(": ") {
            all.push((line[number + 2..].trim().to_string(), String::new()));
        }
    }
    let end = all.iter().position(|each| each.0.contains("hotcell_fuzz_one")).unwrap_or(all.len());
    let harness = all.get(end).cloned();
    all.truncate(end);
    let mut known: Vec<_> = all.iter().filter(|each| !is_runtime(&each.0, &each.1)).cloned().collect();
    let own: Vec<_> = known.iter().filter(|each| !is_other(&each.1)).cloned().collect();
    if !own.is_empty() {
        return own;
    }
    known.extend(harness.filter(|each| each.1.starts_with("/target/")).map(|each| ("fuzz_target".into(), each.1)));
    if known.is_empty() {
        all
    } else {
        known
    }
}

fn told(panic: &Panic) -> String {
    let kind = kind_of(&panic.message);
    let named = panic.message == kind || panic.message.starts_with(&format!("{}:", kind));
    let message: String = panic.message.chars().take(2000).collect();
    let mut text = format!(
        "\nthread '{}' panicked at {}:\n{}{}{}\nstack backtrace:\n",
        std::thread::current().name().unwrap_or("main"),
        panic.place,
        if named { "" } else { kind },
        if named { "" } else { ": " },
        message.replace('\n', " ")
    );
    for (place, (function, file)) in frames_of(panic).iter().enumerate() {
        if text.len() > TEXT_MAX {
            break;
        }
        text.push_str(&format!("{:4}: {}\n             at {}\n", place, function, file));
    }
    text
}

fn key_of(panic: &Panic) -> u64 {
    let mut hasher = DefaultHasher::new();
    kind_of(&panic.message).hash(&mut hasher);
    for (function, _) in frames_of(panic).iter().take(KEY_FRAMES) {
        function.hash(&mut hasher);
    }
    hasher.finish()
}

/// Whole or not at all; whoever was first keeps the name.
fn leave(name: &str, data: &[u8]) {
    let path = format!("{}/crashes/{}", WORK, name);
    let part = format!("{}.{}.part", path, std::process::id());
    if std::fs::write(&part, data).is_ok() {
        let _ = std::fs::hard_link(&part, &path);
    }
    let _ = std::fs::remove_file(&part);
}

fn note(panic: &Panic, data: &[u8]) {
    {
        let mut known = KNOWN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let known = match known.as_mut() {
            Some(known) => known,
            None => return,
        };
        if known.keys.len() >= CRASHES_MAX || known.quick.contains(&panic.quick) {
            return;
        }
        if known.quick.len() < QUICK_MAX {
            known.quick.insert(panic.quick);
        }
    }
    let key = key_of(panic);
    let mut known = KNOWN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if known.as_mut().map_or(false, |known| known.keys.insert(key)) {
        leave(&format!("{:016x}.txt", key), told(panic).as_bytes());
        leave(&format!("{:016x}.input", key), data);
    }
}

// ---- libFuzzer ----

#[no_mangle]
pub extern "C" fn LLVMFuzzerTestOneInput(data: *const u8, size: usize) -> c_int {
    let data = if size == 0 { &[][..] } else { unsafe { std::slice::from_raw_parts(data, size) } };
    if REPLAYS.load(Ordering::Relaxed) && std::env::var_os("HOTCELL_CORE").is_some() {
        ABORT_AT.store(fatal_panic(data), Ordering::Relaxed);
    }
    let (panic, kept) = call(data);
    if let Some(panic) = panic {
        if REPLAYS.load(Ordering::Relaxed) {
            say(&told(&panic));
            unsafe { _exit(EXIT_FOUND) }
        }
        note(&panic, data);
    }
    kept
}

/// For whoever wants a core of the panic that nobody catches: which one that is, by trying it in another process first. A
/// target may catch some of its own.
fn fatal_panic(data: &[u8]) -> usize {
    let mut fds: [c_int; 2] = [0; 2];
    unsafe {
        if pipe(fds.as_mut_ptr()) != 0 {
            return usize::MAX;
        }
        let pid = fork();
        if pid == 0 {
            alarm(10);
            if call(data).0.is_some() {
                let count = PANICS.load(Ordering::Relaxed).to_string();
                let _ = std::fs::File::from_raw_fd(fds[1]).write_all(count.as_bytes());
            }
            _exit(0);
        }
        close(fds[1]);
        let mut said = String::new();
        let _ = std::fs::File::from_raw_fd(fds[0]).take(64).read_to_string(&mut said);
        waitpid(pid, std::ptr::null_mut(), 0);
        said.parse().unwrap_or(usize::MAX)
    }
}

fn begin() {
    let expected = std::fs::read_to_string(format!("{}/expect", WORK)).unwrap_or_default();
    *KNOWN.lock().unwrap() = Some(Known {
        quick: HashSet::new(),
        keys: HashSet::new(),
        expected: expected.lines().filter(|line| !line.is_empty()).map(String::from).collect(),
    });
    take_panics();
    unsafe { hotcell_fuzz_init() };
}

#[no_mangle]
pub extern "C" fn LLVMFuzzerInitialize(argc: *mut c_int, argv: *mut *mut *mut c_char) -> c_int {
    let words: Vec<String> = unsafe {
        (0..*argc as usize).map(|i| CStr::from_ptr(*(*argv).add(i)).to_string_lossy().into_owned()).collect()
    };
    begin();
    match words.get(1).map(String::as_str) {
        Some("replay") => unsafe {
            REPLAYS.store(true, Ordering::Relaxed);
            for i in 1..*argc as usize {
                // the word is no flag of libFuzzer's
                *(*argv).add(i) = *(*argv).add(i + 1);
            }
            *argc -= 1;
        },
        Some("minimise") if words.len() == 5 => minimise(&words[2], &words[3], words[4].parse().unwrap_or(1.0)),
        _ => {}
    }
    0
}

// ---- smaller inputs, each tried in a process of its own ----

/// What became of it: "" nothing, "panic", or how the process ended.
fn trial(data: &[u8]) -> String {
    let mut fds: [c_int; 2] = [0; 2];
    let mut status: c_int = 0;
    unsafe {
        if pipe(fds.as_mut_ptr()) != 0 {
            return "?".into();
        }
        let pid = fork();
        if pid == 0 {
            alarm(2);
            let said = match call(data).0 {
                Some(_) => "panic",
                None => "-",
            };
            let _ = std::fs::File::from_raw_fd(fds[1]).write_all(said.as_bytes());
            _exit(0);
        }
        close(fds[1]);
        let mut said = String::new();
        let _ = std::fs::File::from_raw_fd(fds[0]).take(64).read_to_string(&mut said);
        if pid < 0 {
            return "?".into();
        }
        waitpid(pid, &mut status, 0);
        match said.as_str() {
            "" => format!("status {}", status),
            "-" => String::new(),
            _ => said,
        }
    }
}

fn minimise(from: &str, out: &str, seconds: f64) -> ! {
    let mut best = std::fs::read(from).unwrap_or_default();
    for number in [4, 6, 7, 8, 11] {
        // as the system treats them: how it ended is all that is asked
        unsafe { signal(number, 0) };
    }
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let wanted = trial(&best);
    if wanted.is_empty() || wanted == "?" || wanted == "status 14" {
        unsafe { _exit(1) }
    }
    // A panic needs no process of its own; one that ends this one leaves what was kept. Names of frames take long to find, so
    // that a panic at the very place is known by that.
    let first = if wanted == "panic" { call(&best).0.map(|panic| (panic.quick, key_of(&panic))) } else { None };
    let same = |data: &[u8]| match first {
        None => trial(data) == wanted,
        Some((place, key)) => call(data).0.map_or(false, |panic| panic.quick == place || key_of(&panic) == key),
    };
    let keep = |data: &[u8]| {
        let part = format!("{}.part", out);
        if std::fs::write(&part, data).is_ok() {
            let _ = std::fs::rename(&part, out);
        }
    };
    let mut size = (best.len() / 2).max(1);
    while size > 0 && !best.is_empty() && Instant::now() < end {
        let (mut at, mut shorter) = (0, false);
        while at < best.len() && Instant::now() < end {
            let less = [&best[..at], &best[(at + size).min(best.len())..]].concat();
            if same(&less) {
                best = less;
                keep(&best);
                shorter = true;
            } else {
                at += size;
            }
        }
        size = if size > 1 { size / 2 } else { shorter as usize };
    }
    for at in 0..best.len() {
        for plain in *b"0a A" {
            if best[at] == plain || Instant::now() >= end {
                break;
            }
            let mut other = best.clone();
            other[at] = plain;
            if same(&other) {
                best = other;
                keep(&best);
                break;
            }
        }
    }
    unsafe { _exit(0) }
}

// ---- coverage ----

/// What ends the process would take with it what was counted: those that do are left out.
#[cfg(hotcell_cover)]
#[no_mangle]
pub extern "C" fn main(_argc: c_int, _argv: *mut *mut c_char) -> c_int {
    let folder = std::env::args().nth(1).unwrap_or_default();
    begin();
    for number in [4, 6, 7, 8, 11] {
        unsafe { signal(number, 0) };
    }
    let mut names: Vec<_> =
        std::fs::read_dir(folder).map(|all| all.flatten().map(|each| each.path()).collect()).unwrap_or_default();
    names.sort();
    for name in names {
        let plain = std::fs::symlink_metadata(&name).map_or(false, |meta| meta.is_file() && meta.len() <= 1 << 20);
        let data = if plain { std::fs::read(&name).ok() } else { None };
        if let Some(data) = data.filter(|data| !trial(data).starts_with(['s', '?'])) {
            call(&data);
        }
    }
    std::process::exit(0)
}

// ---- by a schema ----

#[cfg(hotcell_document)]
const ANSWER_MAX: usize = 4000; // of a text in one

#[cfg(hotcell_document)]
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars().take(ANSWER_MAX) {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            '\n' => out.push_str("\\n"),
            _ if (letter as u32) < 0x20 => out.push_str(&format!("\\u{:04x}", letter as u32)),
            _ => out.push(letter),
        }
    }
    out + "\""
}

#[cfg(hotcell_document)]
fn answer(line: &[u8]) -> String {
    match outcome(line) {
        Outcome::Done(_) => "{}\n".into(),
        Outcome::Expected => "{\"rejected\":\"by a panic that is declared\"}\n".into(),
        Outcome::Rejected(why) => format!("{{\"rejected\":{}}}\n", quoted(&why)),
        Outcome::Panicked(panic) => {
            let said = format!("panic: {}", panic.message.chars().take(300).collect::<String>().replace('\n', " "));
            let trace = format!("{}\n{}", said, told(&panic).trim_start()); // the line that names it comes first
            format!("{{\"exception\":{},\"traceback\":{}}}\n", quoted(&said), quoted(&trace))
        }
    }
}

/// What the target prints goes nowhere: answers are alone on stdout.
#[cfg(hotcell_document)]
#[no_mangle]
pub extern "C" fn main(_argc: c_int, _argv: *mut *mut c_char) -> c_int {
    use std::io::BufRead;
    use std::os::unix::io::AsRawFd;

    begin();
    let answers = unsafe { dup(1) };
    let null = std::fs::OpenOptions::new().write(true).open("/dev/null");
    if answers < 0 || !null.map_or(false, |null| unsafe { dup2(null.as_raw_fd(), 1) } >= 0) {
        return 3;
    }
    let (mut answers, mut lines) = (unsafe { std::fs::File::from_raw_fd(answers) }, std::io::BufReader::new(std::io::stdin()));
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line).unwrap_or(0) > 0 {
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        if answers.write_all(answer(&line).as_bytes()).is_err() {
            return 3;
        }
        line.clear();
    }
    unsafe { _exit(0) }
}
