//! A check that leaks its progress: every letter that is right leads one branch further, and behind the last is a fault.

pub fn check(word: &[u8]) -> usize {
    if word.len() < 7 || word[0] != b'h' {
        return 0;
    }
    if word[1] != b'o' {
        return 1;
    }
    if word[2] != b't' {
        return 2;
    }
    if word[3] != b'c' {
        return 3;
    }
    if word[4] != b'e' {
        return 4;
    }
    if word[5] != b'l' {
        return 5;
    }
    if word[6] != b'l' {
        return 6;
    }
    word[word.len()] as usize // one too far
}
