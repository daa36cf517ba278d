//! Values from JSON documents, for functions that are called by a schema: a reader that is bounded, and what a document may
//! become. What it cannot become is a rejection, and never a panic.
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::hash::{BuildHasher, Hash};
use std::num::Wrapping;
use std::rc::Rc;
use std::sync::Arc;

const DEPTH_MAX: u32 = 1000; // of values in values: calls of ours
const SHOWN_MAX: usize = 60;

pub enum Value {
    Null,
    Bool(bool),
    Number(String), // as it is written
    Text(String),
    List(Vec<Value>),
    Map(Vec<(Value, Value)>), // keys are texts
}

pub type Result<T> = std::result::Result<T, String>;

pub trait Document<'a>: Sized {
    fn from_document(value: &'a Value) -> Result<Self>;
    fn from_key(key: &'a Value) -> Result<Self> {
        Self::from_document(key)
    }
    /// Bytes may be a text.
    fn list_from_text(_text: &'a str) -> Option<Vec<Self>> {
        None
    }
    /// Where there is none.
    fn missing() -> Option<Self> {
        None
    }
}

fn shown(value: &Value) -> String {
    let text: String = match value {
        Value::Null => "null".into(),
        Value::Bool(truth) => truth.to_string(),
        Value::Number(text) => text.clone(),
        Value::Text(_) => "a text".into(),
        Value::List(_) => "a list".into(),
        Value::Map(_) => "an object".into(),
    };
    text.chars().take(SHOWN_MAX).collect()
}

fn no<T>(value: &Value, what: &str) -> Result<T> {
    Err(format!("{} is no {}", shown(value), what))
}

// ---- reading ----

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&mut self) -> u8 {
        while self.at < self.text.len() && b" \t\r\n".contains(&self.text[self.at]) {
            self.at += 1;
        }
        self.text.get(self.at).copied().unwrap_or(0)
    }

    fn take(&mut self, mark: u8) -> bool {
        let there = self.peek() == mark && self.at < self.text.len();
        self.at += there as usize;
        there
    }

    fn wrong<T>(&self) -> Result<T> {
        Err(format!("the document is no JSON at byte {}", self.at))
    }

    fn value(&mut self, depth: u32) -> Result<Value> {
        if depth > DEPTH_MAX {
            return Err(format!("the document nests more than {} values", DEPTH_MAX));
        }
        match self.peek() {
            b'{' => self.map(depth),
            b'[' => self.list(depth),
            b'"' => Ok(Value::Text(self.text()?)),
            b'-' | b'0'..=b'9' => self.number(),
            _ => self.word(),
        }
    }

    fn word(&mut self) -> Result<Value> {
        for (word, value) in [("null", Value::Null), ("true", Value::Bool(true)), ("false", Value::Bool(false))] {
            if self.text[self.at..].starts_with(word.as_bytes()) {
                self.at += word.len();
                return Ok(value);
            }
        }
        self.wrong()
    }

    fn number(&mut self) -> Result<Value> {
        let rest = &self.text[self.at..];
        let len = rest.iter().take_while(|each| b"+-.eE0123456789".contains(each)).count();
        let text = String::from_utf8_lossy(&rest[..len]).into_owned();
        if text.parse::<f64>().is_err() {
            return self.wrong();
        }
        self.at += len;
        Ok(Value::Number(text))
    }

    fn list(&mut self, depth: u32) -> Result<Value> {
        let mut all = Vec::new();
        self.at += 1;
        if self.take(b']') {
            return Ok(Value::List(all));
        }
        loop {
            all.push(self.value(depth + 1)?);
            if self.take(b']') {
                return Ok(Value::List(all));
            }
            if !self.take(b',') {
                return self.wrong();
            }
        }
    }

    fn map(&mut self, depth: u32) -> Result<Value> {
        let mut all = Vec::new();
        self.at += 1;
        if self.take(b'}') {
            return Ok(Value::Map(all));
        }
        loop {
            if self.peek() != b'"' {
                return self.wrong();
            }
            let key = Value::Text(self.text()?);
            if !self.take(b':') {
                return self.wrong();
            }
            all.push((key, self.value(depth + 1)?));
            if self.take(b'}') {
                return Ok(Value::Map(all));
            }
            if !self.take(b',') {
                return self.wrong();
            }
        }
    }

    fn text(&mut self) -> Result<String> {
        let mut all = Vec::new();
        self.at += 1;
        loop {
            match self.text.get(self.at) {
                None => return self.wrong(),
                Some(b'"') => break,
                Some(b'\\') => {
                    self.at += 1;
                    let letter = self.escaped()?;
                    all.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
                }
                Some(byte) => {
                    all.push(*byte);
                    self.at += 1;
                }
            }
        }
        self.at += 1;
        String::from_utf8(all).map_err(|_| "a text that is no UTF-8".into())
    }

    fn escaped(&mut self) -> Result<char> {
        let mark = self.text.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        Ok(match mark {
            b'"' | b'\\' | b'/' => mark as char,
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let mut code = self.digits()?;
                if code & 0xfc00 == 0xd800 && self.text[self.at..].starts_with(b"\\u") {
                    self.at += 2;
                    let low = self.digits()?;
                    code = if low & 0xfc00 == 0xdc00 { 0x10000 + ((code & 0x3ff) << 10) + (low & 0x3ff) } else { 0xd800 };
                }
                return char::from_u32(code).ok_or_else(|| "a text with half of a letter, which Rust's have not".into());
            }
            _ => return self.wrong(),
        })
    }

    fn digits(&mut self) -> Result<u32> {
        let digits = self.text.get(self.at..self.at + 4).and_then(|four| std::str::from_utf8(four).ok());
        let code = digits.filter(|four| !four.contains('+')).and_then(|four| u32::from_str_radix(four, 16).ok());
        self.at += 4;
        code.map_or_else(|| Err(format!("the document is no JSON at byte {}", self.at)), Ok)
    }
}

// ---- what is called ----

/// Why it is not called. It unwinds without a panic, so that nobody takes it for one.
pub struct Rejected(pub String);

fn reject(why: String) -> ! {
    std::panic::resume_unwind(Box::new(Rejected(why)))
}

pub fn read(text: &[u8]) -> Value {
    let mut reader = Reader { text, at: 0 };
    let value = reader.value(0).unwrap_or_else(|why| reject(why));
    reader.peek();
    if reader.at < text.len() {
        reject(format!("the document goes on at byte {}", reader.at));
    }
    value
}

/// Arguments of a function: an object with its parameters' names is spread over them, anything else is the only one.
pub struct Given<'a> {
    arguments: Vec<Option<&'a Value>>,
    names: &'a [(&'a str, bool)], // whether it may be missing
    whole: Option<&'a [u8]>, // the text of what is not spread
    bytes: RefCell<Vec<Box<[u8]>>>, // those that are no text of the document
}

fn member<'a>(map: &'a [(Value, Value)], name: &str) -> Option<&'a Value> {
    map.iter().rev().find(|(key, _)| matches!(key, Value::Text(text) if text == name)).map(|(_, value)| value)
}

fn is_spread(map: &[(Value, Value)], names: &[(&str, bool)]) -> bool {
    let known = |key: &Value| matches!(key, Value::Text(text) if names.iter().any(|(name, _)| name == text));
    !map.is_empty()
        && map.iter().all(|(key, _)| known(key))
        && names.iter().all(|(name, optional)| *optional || member(map, name).is_some())
}

impl<'a> Given<'a> {
    pub fn new(document: &'a Value, text: &'a [u8], names: &'a [(&'a str, bool)]) -> Self {
        let bytes = RefCell::new(Vec::new());
        match document {
            Value::Map(map) if is_spread(map, names) => {
                let arguments = names.iter().map(|(name, _)| member(map, name)).collect();
                Given { arguments, names, whole: None, bytes }
            }
            _ if names.len() == 1 => Given { arguments: vec![Some(document)], names, whole: Some(text), bytes },
            _ => {
                let all: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
                reject(format!("{} is no object with {}", shown(document), all.join(", ")))
            }
        }
    }

    fn no<T>(&self, place: usize, why: String) -> T {
        reject(format!("{}: {}", self.names[place].0, why))
    }

    pub fn make<T: Document<'a>>(&self, place: usize) -> Option<T> {
        let made = match self.arguments[place] {
            Some(value) => T::from_document(value),
            None => T::missing().ok_or_else(|| "it is missing".into()),
        };
        Some(made.unwrap_or_else(|why| self.no(place, why)))
    }

    pub fn text(&self, place: usize) -> String {
        match (self.arguments[place], self.whole) {
            (Some(Value::Text(text)), _) => text.clone(),
            (_, Some(whole)) => {
                String::from_utf8(whole.to_vec()).unwrap_or_else(|_| self.no(place, "the document is no UTF-8".into()))
            }
            _ => self.make(place).unwrap_or_default(),
        }
    }

    pub fn bytes(&self, place: usize) -> &[u8] {
        let made: Vec<u8> = match (self.arguments[place], self.whole) {
            (Some(Value::Text(text)), _) => return text.as_bytes(),
            (_, Some(whole)) => return whole,
            _ => self.make(place).unwrap_or_default(),
        };
        let kept = made.into_boxed_slice();
        let bytes: *const [u8] = &*kept;
        self.bytes.borrow_mut().push(kept);
        unsafe { &*bytes } // a box stays where it is, and lives as long as this
    }
}

// ---- what it becomes ----

macro_rules! integers {
    ($($kind:ident {$($more:tt)*})*) => {$(
        impl<'a> Document<'a> for $kind {
            fn from_document(value: &'a Value) -> Result<Self> {
                let text = match value {
                    Value::Number(text) => text,
                    _ => return no(value, stringify!($kind)),
                };
                if let Ok(number) = text.parse::<$kind>() {
                    return Ok(number);
                }
                // 1.0 and 1e3 are whole, too
                let number = text.parse::<f64>().unwrap_or(f64::NAN);
                let whole = if number.fract() == 0.0 && number.abs() < 9e15 { Some(number as i64) } else { None };
                whole.and_then(|whole| <$kind>::try_from(whole).ok()).map_or_else(|| no(value, stringify!($kind)), Ok)
            }
            fn from_key(key: &'a Value) -> Result<Self> {
                match key {
                    Value::Text(text) => text.parse().map_or_else(|_| no(key, stringify!($kind)), Ok),
                    _ => no(key, stringify!($kind)),
                }
            }
            $($more)*
        }
    )*};
}
integers! {
    u16 {} u32 {} u64 {} u128 {} usize {} i8 {} i16 {} i32 {} i64 {} i128 {} isize {}
    u8 {
        fn list_from_text(text: &str) -> Option<Vec<u8>> {
            Some(text.as_bytes().to_vec())
        }
    }
}

macro_rules! made {
    ($(impl [$($generic:tt)*] $kind:ty: |$value:ident| $body:expr;)*) => {$(
        impl<'a, $($generic)*> Document<'a> for $kind {
            fn from_document($value: &'a Value) -> Result<Self> {
                $body
            }
        }
    )*};
}

fn text_in<'a>(value: &'a Value) -> Result<&'a str> {
    match value {
        Value::Text(text) => Ok(text),
        _ => no(value, "text"),
    }
}

fn number_in(value: &Value) -> Result<f64> {
    match value {
        Value::Number(text) => Ok(text.parse::<f64>().unwrap_or(f64::NAN)),
        _ => no(value, "number"),
    }
}

fn items<'a, T: Document<'a>, C: FromIterator<T>>(value: &'a Value) -> Result<C> {
    match value {
        Value::List(all) => all.iter().map(T::from_document).collect(),
        Value::Text(text) => T::list_from_text(text).map_or_else(|| no(value, "list"), |all| Ok(all.into_iter().collect())),
        _ => no(value, "list"),
    }
}

fn entries<'a, K: Document<'a>, V: Document<'a>, C: FromIterator<(K, V)>>(value: &'a Value) -> Result<C> {
    match value {
        Value::Map(all) => all.iter().map(|(key, value)| Ok((K::from_key(key)?, V::from_document(value)?))).collect(),
        _ => no(value, "object"),
    }
}

made! {
    impl [] bool: |value| match value {
        Value::Bool(truth) => Ok(*truth),
        _ => no(value, "bool"),
    };
    impl [] f64: |value| number_in(value).and_then(|made| if made.is_finite() { Ok(made) } else { no(value, "f64") });
    impl [] f32: |value| {
        number_in(value).map(|made| made as f32).and_then(|made| if made.is_finite() { Ok(made) } else { no(value, "f32") })
    };
    impl [] char: |value| {
        let mut letters = text_in(value)?.chars();
        letters.next().filter(|_| letters.next().is_none()).map_or_else(|| no(value, "char"), Ok)
    };
    impl [] (): |value| match value {
        Value::Null => Ok(()),
        _ => no(value, "null"),
    };
    impl [] &'a str: |value| text_in(value);
    impl [] &'a [u8]: |value| text_in(value).map(str::as_bytes);
    impl [] String: |value| text_in(value).map(String::from);
    impl [] Box<str>: |value| text_in(value).map(Box::from);
    impl [] std::path::PathBuf: |value| text_in(value).map(Into::into);
    impl [] std::ffi::OsString: |value| text_in(value).map(Into::into);
    impl [] Cow<'a, str>: |value| text_in(value).map(Cow::Borrowed);
    impl [] Cow<'a, [u8]>: |value| Vec::<u8>::from_document(value).map(Cow::Owned);
    impl [T: Document<'a>] Box<T>: |value| T::from_document(value).map(Box::new);
    impl [T: Document<'a>] Rc<T>: |value| T::from_document(value).map(Rc::new);
    impl [T: Document<'a>] Arc<T>: |value| T::from_document(value).map(Arc::new);
    impl [T: Document<'a>] Cell<T>: |value| T::from_document(value).map(Cell::new);
    impl [T: Document<'a>] RefCell<T>: |value| T::from_document(value).map(RefCell::new);
    impl [T: Document<'a>] Wrapping<T>: |value| T::from_document(value).map(Wrapping);
    impl [T: Document<'a>] Vec<T>: |value| items(value);
    impl [T: Document<'a>] Box<[T]>: |value| items::<T, Vec<T>>(value).map(Into::into);
    impl [T: Document<'a>] VecDeque<T>: |value| items(value);
    impl [T: Document<'a>] LinkedList<T>: |value| items(value);
    impl [T: Document<'a> + Ord] BinaryHeap<T>: |value| items(value);
    impl [T: Document<'a> + Ord] BTreeSet<T>: |value| items(value);
    impl [T: Document<'a> + Eq + Hash, S: BuildHasher + Default] HashSet<T, S>: |value| items(value);
    impl [K: Document<'a> + Ord, V: Document<'a>] BTreeMap<K, V>: |value| entries(value);
    impl [K: Document<'a> + Eq + Hash, V: Document<'a>, S: BuildHasher + Default] HashMap<K, V, S>: |value| entries(value);
}

impl<'a, T: Document<'a>> Document<'a> for Option<T> {
    fn from_document(value: &'a Value) -> Result<Self> {
        match value {
            Value::Null => Ok(None),
            _ => T::from_document(value).map(Some),
        }
    }
    fn missing() -> Option<Self> {
        Some(None)
    }
}

impl<'a, T: Document<'a>, const N: usize> Document<'a> for [T; N] {
    fn from_document(value: &'a Value) -> Result<Self> {
        let all: Vec<T> = items(value)?;
        all.try_into().or_else(|_| Err(format!("{} is no list of {}", shown(value), N)))
    }
}

macro_rules! tuples {
    ($($count:literal ($($kind:ident $place:literal)*);)*) => {$(
        impl<'a, $($kind: Document<'a>),*> Document<'a> for ($($kind,)*) {
            fn from_document(value: &'a Value) -> Result<Self> {
                Ok(($(item::<$kind>(value, $place, $count)?,)*))
            }
        }
    )*};
}
tuples! {
    1 (A 0); 2 (A 0 B 1); 3 (A 0 B 1 C 2); 4 (A 0 B 1 C 2 D 3); 5 (A 0 B 1 C 2 D 3 E 4); 6 (A 0 B 1 C 2 D 3 E 4 F 5);
    7 (A 0 B 1 C 2 D 3 E 4 F 5 G 6); 8 (A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7);
}

// ---- what `derive` uses ----

/// One of a list of so many.
pub fn item<'a, T: Document<'a>>(value: &'a Value, place: usize, count: usize) -> Result<T> {
    match value {
        Value::List(all) if all.len() == count => T::from_document(&all[place]),
        _ if count == 1 => T::from_document(value),
        _ => Err(format!("{} is no list of {}", shown(value), count)),
    }
}

/// One of an object; others do no harm.
pub fn field<'a, T: Document<'a>>(value: &'a Value, name: &str) -> Result<T> {
    let made = match value {
        Value::Map(all) => member(all, name).map_or_else(|| T::missing().ok_or_else(|| "it is missing".into()), T::from_document),
        _ => return no(value, "object"),
    };
    made.map_err(|why| format!("{}: {}", name, why))
}

/// "Variant", or {"Variant": what it holds}.
pub fn variant<'a>(value: &'a Value) -> Result<(&'a str, &'a Value)> {
    match value {
        Value::Text(name) => Ok((name, &Value::Null)),
        Value::Map(all) if all.len() == 1 => Ok((text_in(&all[0].0)?, &all[0].1)),
        _ => no(value, "variant"),
    }
}

pub fn no_variant<T>(name: &str) -> Result<T> {
    Err(format!("'{}' is no variant", name.chars().take(SHOWN_MAX).collect::<String>()))
}
