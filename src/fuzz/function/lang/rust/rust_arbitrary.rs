//! Values from bytes: what harnesses use of the crate `arbitrary`, so that they are built without a network. Numbers are taken
//! from the end of the input, texts and bytes from its beginning, so that a text in an input is the same in the argument.
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::hash::{BuildHasher, Hash};
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;

#[cfg(hotcell_derive)]
pub use derive_arbitrary::Arbitrary;

#[cfg(hotcell_document)]
#[path = "rust_document.rs"]
pub mod document;

const DEPTH_MAX: u32 = 64; // of values in values
const DEPTH_EMPTY: u32 = 8; // where there are no bytes left to choose by
const ITEMS_MAX: usize = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    EmptyChoose,
    NotEnoughData,
    IncorrectFormat,
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self)
    }
}

impl std::error::Error for Error {}

pub type Result<T, E = Error> = std::result::Result<T, E>;

pub trait Arbitrary<'a>: Sized {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self>;
    fn arbitrary_take_rest(mut u: Unstructured<'a>) -> Result<Self> {
        Self::arbitrary(&mut u)
    }
    fn size_hint(_depth: usize) -> (usize, Option<usize>) {
        (0, None)
    }
}

pub struct Unstructured<'a> {
    data: &'a [u8],
    depth: u32,
}

pub trait Number: Copy + PartialOrd {
    fn within(start: Self, end: Self, u: &mut Unstructured<'_>) -> Self;
}

impl<'a> Unstructured<'a> {
    pub fn new(data: &'a [u8]) -> Self {
        Unstructured { data, depth: 0 }
    }

    pub fn len(&self) -> usize {
        self.data.len()
    }

    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    pub fn arbitrary<T: Arbitrary<'a>>(&mut self) -> Result<T> {
        T::arbitrary(self)
    }

    pub fn bytes(&mut self, size: usize) -> Result<&'a [u8]> {
        if size > self.data.len() {
            return Err(Error::NotEnoughData);
        }
        let (taken, left) = self.data.split_at(size);
        self.data = left;
        Ok(taken)
    }

    pub fn peek_bytes(&self, size: usize) -> Option<&'a [u8]> {
        self.data.get(..size)
    }

    pub fn take_rest(self) -> &'a [u8] {
        self.data
    }

    /// What is not there is zero.
    pub fn fill_buffer(&mut self, buffer: &mut [u8]) -> Result<()> {
        let size = buffer.len().min(self.data.len());
        let (left, taken) = self.data.split_at(self.data.len() - size);
        buffer[..size].copy_from_slice(taken);
        buffer[size..].fill(0);
        self.data = left;
        Ok(())
    }

    pub fn arbitrary_len<T>(&mut self) -> Result<usize> {
        self.some_len()
    }

    /// Of a part of the bytes that are left.
    pub fn some_len(&mut self) -> Result<usize> {
        let len = if self.data.len() > 256 { u16::arbitrary(self)? as usize } else { u8::arbitrary(self)? as usize };
        Ok(len.min(self.data.len()))
    }

    pub fn int_in_range<T: Number>(&mut self, range: std::ops::RangeInclusive<T>) -> Result<T> {
        let (start, end) = (*range.start(), *range.end());
        assert!(start <= end, "a range that is empty");
        Ok(T::within(start, end, self))
    }

    pub fn choose_index(&mut self, len: usize) -> Result<usize> {
        if len == 0 {
            return Err(Error::EmptyChoose);
        }
        self.int_in_range(0..=len - 1)
    }

    pub fn choose<'b, T>(&mut self, choices: &'b [T]) -> Result<&'b T> {
        let index = self.choose_index(choices.len())?;
        Ok(&choices[index])
    }

    pub fn choose_iter<T, I: IntoIterator<Item = T>>(&mut self, choices: I) -> Result<T>
    where
        I::IntoIter: ExactSizeIterator,
    {
        let mut choices = choices.into_iter();
        let index = self.choose_index(choices.len())?;
        choices.nth(index).ok_or(Error::EmptyChoose)
    }

    pub fn ratio<T: Number + From<u8>>(&mut self, numerator: T, denominator: T) -> Result<bool> {
        Ok(self.int_in_range(T::from(1)..=denominator)? <= numerator)
    }

    pub fn arbitrary_iter<'b, T: Arbitrary<'a>>(&'b mut self) -> Result<Items<'a, 'b, T>> {
        Ok(Items { u: self, count: 0, kind: std::marker::PhantomData })
    }

    pub fn arbitrary_take_rest_iter<T: Arbitrary<'a>>(self) -> Result<std::vec::IntoIter<Result<T>>> {
        let mut u = self;
        let mut all = Vec::new();
        while !u.is_empty() && all.len() < ITEMS_MAX {
            all.push(T::arbitrary(&mut u));
        }
        Ok(all.into_iter())
    }

    pub fn arbitrary_loop(
        &mut self,
        min: Option<u32>,
        max: Option<u32>,
        mut body: impl FnMut(&mut Self) -> Result<ControlFlow<(), ()>>,
    ) -> Result<()> {
        let min = min.unwrap_or(0);
        for turn in 0..max.unwrap_or(u32::MAX) {
            if turn >= min && !bool::arbitrary(self)? {
                break;
            }
            if let ControlFlow::Break(()) = body(self)? {
                break;
            }
        }
        Ok(())
    }

    /// A value in a value: those that hold themselves end somewhere.
    pub fn deeper<T>(&mut self, make: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= DEPTH_MAX || (self.data.is_empty() && self.depth >= DEPTH_EMPTY) {
            return Err(Error::NotEnoughData);
        }
        self.depth += 1;
        let made = make(self);
        self.depth -= 1;
        made
    }

    fn items<T: Arbitrary<'a>, C: Default>(&mut self, mut add: impl FnMut(&mut C, T)) -> Result<C> {
        let mut all = C::default();
        let count = (u8::arbitrary(self)? as usize).min(self.data.len());
        self.deeper(|u| {
            for _ in 0..count.min(ITEMS_MAX) {
                add(&mut all, T::arbitrary(u)?);
            }
            Ok(())
        })?;
        Ok(all)
    }
}

pub struct Items<'a, 'b, T> {
    u: &'b mut Unstructured<'a>,
    count: usize,
    kind: std::marker::PhantomData<T>,
}

impl<'a, 'b, T: Arbitrary<'a>> Iterator for Items<'a, 'b, T> {
    type Item = Result<T>;
    fn next(&mut self) -> Option<Result<T>> {
        self.count += 1;
        match bool::arbitrary(self.u) {
            Ok(true) if self.count <= ITEMS_MAX && !self.u.is_empty() => Some(T::arbitrary(self.u)),
            _ => None,
        }
    }
}

/// The bytes as a text: every input means something, and what is UTF-8 in it is the same.
pub fn text_of(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|&byte| byte as char).collect(),
    }
}

macro_rules! integers {
    ($($kind:ty, $wide:ty;)*) => {$(
        impl<'a> Arbitrary<'a> for $kind {
            fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
                let mut bytes = [0; std::mem::size_of::<$kind>()];
                u.fill_buffer(&mut bytes)?;
                Ok(<$kind>::from_le_bytes(bytes))
            }
            fn size_hint(_depth: usize) -> (usize, Option<usize>) {
                (std::mem::size_of::<$kind>(), Some(std::mem::size_of::<$kind>()))
            }
        }
        impl Number for $kind {
            fn within(start: Self, end: Self, u: &mut Unstructured<'_>) -> Self {
                let span = (end as $wide).wrapping_sub(start as $wide);
                let mut drawn: $wide = 0;
                let mut left = span;
                while left > 0 { // no more bytes than it needs
                    drawn = (drawn.checked_shl(8).unwrap_or(0)) | u8::arbitrary(u).unwrap_or(0) as $wide;
                    left = left.checked_shr(8).unwrap_or(0);
                }
                let drawn = if span == <$wide>::MAX { drawn } else { drawn % (span + 1) };
                (start as $wide).wrapping_add(drawn) as $kind
            }
        }
    )*};
}
integers! {
    u16, u32; u32, u64; u64, u64; u128, u128; usize, u64;
    i8, u64; i16, u64; i32, u64; i64, u64; i128, u128; isize, u64;
}

impl<'a> Arbitrary<'a> for u8 {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let mut bytes = [0];
        u.fill_buffer(&mut bytes)?;
        Ok(bytes[0])
    }
}

impl Number for u8 {
    fn within(start: Self, end: Self, u: &mut Unstructured<'_>) -> Self {
        u32::within(start as u32, end as u32, u) as u8
    }
}

macro_rules! made {
    ($(impl [$($generic:tt)*] $kind:ty: |$u:ident| $body:expr;)*) => {$(
        impl<'a, $($generic)*> Arbitrary<'a> for $kind {
            fn arbitrary($u: &mut Unstructured<'a>) -> Result<Self> {
                $body
            }
        }
    )*};
}
made! {
    impl [] bool: |u| Ok(u8::arbitrary(u)? & 1 == 1);
    impl [] f32: |u| Ok(f32::from_bits(u32::arbitrary(u)?));
    impl [] f64: |u| Ok(f64::from_bits(u64::arbitrary(u)?));
    impl [] char: |u| {
        let number = u32::arbitrary(u)?;
        Ok(char::from_u32(if number & 0xff00 == 0 { number & 0x7f } else { number % 0x110000 }).unwrap_or('\u{fffd}'))
    };
    impl [] (): |_u| Ok(());
    impl [] &'a [u8]: |u| { let len = u.some_len()?; u.bytes(len) };
    impl [] &'a str: |u| {
        let len = u.some_len()?;
        let bytes = u.bytes(len)?;
        Ok(match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or(""),
        })
    };
    impl [] String: |u| { let len = u.some_len()?; Ok(text_of(u.bytes(len)?)) };
    impl [] Box<str>: |u| Ok(String::arbitrary(u)?.into());
    impl [] std::path::PathBuf: |u| Ok(String::arbitrary(u)?.into());
    impl [] std::ffi::OsString: |u| Ok(String::arbitrary(u)?.into());
    impl [] std::time::Duration: |u| Ok(std::time::Duration::new(u64::arbitrary(u)?, u32::arbitrary(u)? % 1_000_000_000));
    impl [] Cow<'a, str>: |u| Ok(Cow::Borrowed(<&str>::arbitrary(u)?));
    impl [] Cow<'a, [u8]>: |u| Ok(Cow::Borrowed(<&[u8]>::arbitrary(u)?));
    impl [T: Arbitrary<'a>] Option<T>: |u| Ok(if bool::arbitrary(u)? { Some(u.deeper(T::arbitrary)?) } else { None });
    impl [T: Arbitrary<'a>, E: Arbitrary<'a>] std::result::Result<T, E>: |u| {
        Ok(if bool::arbitrary(u)? { Ok(u.deeper(T::arbitrary)?) } else { Err(u.deeper(E::arbitrary)?) })
    };
    impl [T: Arbitrary<'a>] Box<T>: |u| Ok(Box::new(u.deeper(T::arbitrary)?));
    impl [T: Arbitrary<'a>] Rc<T>: |u| Ok(Rc::new(u.deeper(T::arbitrary)?));
    impl [T: Arbitrary<'a>] Arc<T>: |u| Ok(Arc::new(u.deeper(T::arbitrary)?));
    impl [T: Arbitrary<'a>] std::cell::Cell<T>: |u| Ok(std::cell::Cell::new(u.deeper(T::arbitrary)?));
    impl [T: Arbitrary<'a>] std::cell::RefCell<T>: |u| Ok(std::cell::RefCell::new(u.deeper(T::arbitrary)?));
    impl [T: Arbitrary<'a>] std::num::Wrapping<T>: |u| Ok(std::num::Wrapping(T::arbitrary(u)?));
    impl [T: Arbitrary<'a>] Vec<T>: |u| u.items(|all: &mut Vec<T>, each| all.push(each));
    impl [T: Arbitrary<'a>] Box<[T]>: |u| Ok(Vec::<T>::arbitrary(u)?.into());
    impl [T: Arbitrary<'a>] VecDeque<T>: |u| u.items(|all: &mut VecDeque<T>, each| all.push_back(each));
    impl [T: Arbitrary<'a>] LinkedList<T>: |u| u.items(|all: &mut LinkedList<T>, each| all.push_back(each));
    impl [T: Arbitrary<'a> + Ord] BinaryHeap<T>: |u| u.items(|all: &mut BinaryHeap<T>, each| all.push(each));
    impl [T: Arbitrary<'a> + Ord] BTreeSet<T>: |u| u.items(|all: &mut BTreeSet<T>, each| { all.insert(each); });
    impl [T: Arbitrary<'a> + Eq + Hash, S: BuildHasher + Default] HashSet<T, S>: |u| {
        u.items(|all: &mut HashSet<T, S>, each| { all.insert(each); })
    };
    impl [K: Arbitrary<'a> + Ord, V: Arbitrary<'a>] BTreeMap<K, V>: |u| {
        u.items(|all: &mut BTreeMap<K, V>, (key, value): (K, V)| { all.insert(key, value); })
    };
    impl [K: Arbitrary<'a> + Eq + Hash, V: Arbitrary<'a>, S: BuildHasher + Default] HashMap<K, V, S>: |u| {
        u.items(|all: &mut HashMap<K, V, S>, (key, value): (K, V)| { all.insert(key, value); })
    };
    impl [T: Arbitrary<'a> + PartialOrd] std::ops::Range<T>: |u| {
        let (a, b) = (T::arbitrary(u)?, T::arbitrary(u)?);
        Ok(if a <= b { a..b } else { b..a })
    };
}

impl<'a, T: Arbitrary<'a>, const N: usize> Arbitrary<'a> for [T; N] {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let mut all = Vec::with_capacity(N.min(ITEMS_MAX));
        for _ in 0..N {
            all.push(T::arbitrary(u)?);
        }
        all.try_into().map_err(|_| Error::IncorrectFormat)
    }
}

macro_rules! tuples {
    ($(($($kind:ident)*);)*) => {$(
        impl<'a, $($kind: Arbitrary<'a>),*> Arbitrary<'a> for ($($kind,)*) {
            fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
                Ok(($($kind::arbitrary(u)?,)*))
            }
        }
    )*};
}
tuples! { (A); (A B); (A B C); (A B C D); (A B C D E); (A B C D E F); (A B C D E F G); (A B C D E F G H); }

/// For implementations by hand: sizes are not used.
pub mod size_hint {
    pub type Hint = (usize, Option<usize>);

    pub fn and(a: Hint, b: Hint) -> Hint {
        (a.0 + b.0, a.1.and_then(|a| b.1.map(|b| a + b)))
    }

    pub fn or(a: Hint, b: Hint) -> Hint {
        (a.0.min(b.0), a.1.and_then(|a| b.1.map(|b| a.max(b))))
    }

    pub fn and_all(hints: &[Hint]) -> Hint {
        hints.iter().copied().fold((0, Some(0)), and)
    }

    pub fn or_all(hints: &[Hint]) -> Hint {
        hints.iter().copied().reduce(or).unwrap_or((0, Some(0)))
    }

    pub fn recursion_guard(depth: usize, f: impl FnOnce(usize) -> Hint) -> Hint {
        if depth > 20 {
            (0, None)
        } else {
            f(depth + 1)
        }
    }
}
