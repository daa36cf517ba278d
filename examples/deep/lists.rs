//! Lists in lists, "[1,[2,3],[]]": a level a call, so that a long row of brackets is more than the stack takes.

fn list(bytes: &[u8], mut at: usize) -> Option<(u64, usize)> {
    let mut sum: u64 = 0;
    if bytes.get(at) != Some(&b'[') {
        while let Some(digit) = bytes.get(at).filter(|each| each.is_ascii_digit()) {
            sum = sum.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            at += 1;
        }
        return Some((sum, at));
    }
    at += 1;
    while bytes.get(at) != Some(&b']') {
        let (part, end) = list(bytes, at)?;
        sum = sum.wrapping_add(part);
        at = end;
        match bytes.get(at) {
            Some(b',') => at += 1,
            Some(b']') => {}
            _ => return None,
        }
    }
    Some((sum, at + 1))
}

pub fn parse(text: &str) -> Option<u64> {
    let (sum, end) = list(text.as_bytes(), 0)?;
    if end == text.len() {
        Some(sum)
    } else {
        None
    }
}
