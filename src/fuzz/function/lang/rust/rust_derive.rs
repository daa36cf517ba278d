//! `#[derive(Arbitrary)]`: fields are made one after another, a variant is drawn. Generic parameters are made, too. Where the target
//! is called with documents, the same of these: fields by their names, items by their places, a variant by its name.
extern crate proc_macro;
use proc_macro::{Delimiter, TokenStream, TokenTree};

#[proc_macro_derive(Arbitrary, attributes(arbitrary))]
pub fn derive(input: TokenStream) -> TokenStream {
    match read(input) {
        Ok(text) => text.parse().expect("what was made is no Rust"),
        Err(why) => format!("compile_error!({:?});", why).parse().unwrap(),
    }
}

fn read(input: TokenStream) -> Result<String, String> {
    let mut at = input.into_iter().peekable();
    let kind = loop {
        match at.next() {
            Some(TokenTree::Ident(word)) if ["struct", "enum"].contains(&word.to_string().as_str()) => {
                break word.to_string()
            }
            Some(TokenTree::Ident(word)) if word.to_string() == "union" => return Err("a union cannot be made".into()),
            Some(_) => continue,
            None => return Err("no struct or enum".into()),
        }
    };
    let name = at.next().ok_or("no name")?.to_string();
    let mut generics = Vec::new();
    if matches!(at.peek(), Some(TokenTree::Punct(p)) if p.as_char() == '<') {
        at.next();
        let mut depth = 1;
        while depth > 0 {
            let token = at.next().ok_or("generics without an end")?;
            if let TokenTree::Punct(p) = &token {
                depth += match p.as_char() {
                    '<' => 1,
                    '>' => -1,
                    _ => 0,
                };
            }
            if depth > 0 {
                generics.push(token);
            }
        }
    }
    let mut bounds = String::new();
    let mut body = None;
    for token in at {
        match &token {
            TokenTree::Group(group)
                if group.delimiter() == Delimiter::Brace
                    || (group.delimiter() == Delimiter::Parenthesis && bounds.is_empty()) =>
            {
                body = Some(group.clone())
            }
            TokenTree::Punct(p) if p.as_char() == ';' => {}
            _ => bounds.push_str(&format!("{} ", token)),
        }
    }
    let (params, names) = params(&generics)?;
    let made = |from: From| match (kind.as_str(), &body) {
        ("struct", None) => Ok(format!("Ok({})", name)),
        ("struct", Some(group)) => Ok(format!("Ok({})", fields(&name, group.delimiter(), group.stream(), from))),
        (_, Some(group)) => variants(&name, group.stream(), from),
        _ => Err("an enum without variants cannot be made".to_string()),
    };
    let borrowed = names.iter().find(|each| each.starts_with('\'')).cloned();
    let life = borrowed.clone().unwrap_or_else(|| "'arbitrary".into());
    let front = if borrowed.is_some() { params.clone() } else { [vec![life.clone()], params].concat() };
    let front = |bound: &str| {
        let each = |each: &String| {
            if each.starts_with('\'') || each.starts_with("const ") {
                each.clone()
            } else {
                format!("{}{} {}<{}>", each, if each.contains(':') { " +" } else { ":" }, bound, life)
            }
        };
        front.iter().map(each).collect::<Vec<_>>().join(", ")
    };
    let names = if names.is_empty() { String::new() } else { format!("<{}>", names.join(", ")) };
    let mut text = format!("#[automatically_derived] #[allow(warnings)] impl<{}> arbitrary::Arbitrary<{life}> for {}{} {} {{ \
        fn arbitrary(u: &mut arbitrary::Unstructured<{life}>) -> arbitrary::Result<Self> {{ u.deeper(|u| {{ {} }}) }} }}",
        front("arbitrary::Arbitrary"), name, names, bounds, made(From::Bytes)?, life = life);
    if std::env::var_os("HOTCELL_DOCUMENT").is_some() {
        text.push_str(&format!("#[automatically_derived] #[allow(warnings)] impl<{}> arbitrary::document::Document<{life}> for {}{} {} {{ \
            fn from_document(value: &{life} arbitrary::document::Value) -> arbitrary::document::Result<Self> {{ {} }} }}",
            front("arbitrary::document::Document"), name, names, bounds, made(From::Document)?, life = life));
    }
    Ok(text)
}

#[derive(Clone, Copy, PartialEq)]
enum From {
    Bytes,
    Document, // of what is called `value`
}

/// Tokens until the next comma that is in no angle brackets.
fn split(tokens: &[TokenTree]) -> Vec<Vec<TokenTree>> {
    let (mut parts, mut part, mut depth) = (Vec::new(), Vec::new(), 0);
    let mut arrow = false;
    for token in tokens {
        if let TokenTree::Punct(p) = token {
            match p.as_char() {
                '<' => depth += 1,
                '>' if !arrow => depth -= 1,
                ',' if depth == 0 => {
                    parts.push(std::mem::take(&mut part));
                    continue;
                }
                _ => {}
            }
            arrow = p.as_char() == '-';
        }
        part.push(token.clone());
    }
    if !part.is_empty() {
        parts.push(part);
    }
    parts
}

fn text(tokens: &[TokenTree]) -> String {
    tokens.iter().cloned().collect::<TokenStream>().to_string()
}

/// Generic parameters with their bounds, without their defaults; and their names.
fn params(tokens: &[TokenTree]) -> Result<(Vec<String>, Vec<String>), String> {
    let (mut whole, mut names) = (Vec::new(), Vec::new());
    for part in split(tokens) {
        let end = part
            .iter()
            .position(|each| matches!(each, TokenTree::Punct(p) if p.as_char() == '='))
            .unwrap_or(part.len());
        let text = text(&part[..end]).trim().replace("' ", "'");
        let name = text.trim_start_matches("const ").split(':').next().unwrap_or("").trim().to_string();
        whole.push(text);
        names.push(name);
    }
    Ok((whole, names))
}

/// Attributes and visibility left out; whether an attribute asks for the default.
fn plain(part: &[TokenTree]) -> (&[TokenTree], bool) {
    let (mut at, mut default) = (0, false);
    while at < part.len() {
        match &part[at] {
            TokenTree::Punct(p) if p.as_char() == '#' => {
                let said = part.get(at + 1).map(|each| each.to_string().replace(' ', "")).unwrap_or_default();
                default |= said == "[arbitrary(default)]";
                at += 2;
            }
            TokenTree::Ident(word) if word.to_string() == "pub" => {
                at += 1;
                at += matches!(part.get(at), Some(TokenTree::Group(g)) if g.delimiter() == Delimiter::Parenthesis)
                    as usize;
            }
            _ => break,
        }
    }
    (&part[at.min(part.len())..], default)
}

fn bare(name: &TokenTree) -> String {
    name.to_string().trim_start_matches("r#").to_string()
}

fn fields(name: &str, delimiter: Delimiter, stream: TokenStream, from: From) -> String {
    let tokens: Vec<TokenTree> = stream.into_iter().collect();
    let parts = split(&tokens);
    let count = parts.iter().filter(|part| !plain(part).0.is_empty()).count();
    let mut place = 0;
    let mut text = format!("{} {}", name, if delimiter == Delimiter::Brace { '{' } else { '(' });
    for part in &parts {
        let (part, default) = plain(part);
        if part.is_empty() {
            continue;
        }
        if delimiter == Delimiter::Brace {
            text.push_str(&format!("{}: ", part[0]));
        }
        text.push_str(&match (default, from, delimiter) {
            (true, _, _) => "::core::default::Default::default(), ".to_string(),
            (_, From::Bytes, _) => "arbitrary::Arbitrary::arbitrary(u)?, ".to_string(),
            (_, _, Delimiter::Brace) => format!("arbitrary::document::field(value, {:?})?, ", bare(&part[0])),
            _ => format!("arbitrary::document::item(value, {}, {})?, ", place, count),
        });
        place += 1;
    }
    text.push(if delimiter == Delimiter::Brace { '}' } else { ')' });
    text
}

fn variants(name: &str, stream: TokenStream, from: From) -> Result<String, String> {
    let tokens: Vec<TokenTree> = stream.into_iter().collect();
    let parts = split(&tokens);
    let mut arms = String::new();
    let mut count = 0;
    for part in &parts {
        let (plain, _) = plain(part);
        if plain.is_empty() {
            continue;
        }
        let path = format!("{}::{}", name, plain[0]);
        let made = match plain.get(1) {
            Some(TokenTree::Group(group)) => fields(&path, group.delimiter(), group.stream(), from),
            _ => path,
        };
        arms.push_str(&match from {
            From::Bytes => format!("{} => Ok({}), ", count, made),
            From::Document => format!("{:?} => Ok({}), ", bare(&plain[0]), made),
        });
        count += 1;
    }
    if count == 0 {
        return Err("an enum without variants cannot be made".into());
    }
    if from == From::Document {
        return Ok(format!(
            "let (name, value) = arbitrary::document::variant(value)?; match name {{ {} _ => arbitrary::document::no_variant(name) }}",
            arms
        ));
    }
    Ok(format!("match u.int_in_range(0u32..={})? {{ {} _ => unreachable!() }}", count - 1, arms))
}
