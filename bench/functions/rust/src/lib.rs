//! Reads nested settings, "a=1;b=[c=x;d=2]"; takes anything and fails never.

pub fn count(data: &[u8]) -> usize {
    let (mut depth, mut most, mut pairs, mut numbers) = (0usize, 0, 0, 0);
    let (mut name, mut value, mut digits, mut in_value) = (0usize, 0usize, 0usize, false);
    for &byte in data {
        match byte {
            b'[' => {
                depth += 1;
                most = most.max(depth);
                name = 0;
                in_value = false;
            }
            b']' if depth > 0 => depth -= 1,
            b'=' if name > 0 => {
                in_value = true;
                value = 0;
                digits = 0;
            }
            b';' | b']' => {
                if in_value && value > 0 {
                    pairs += 1;
                    numbers += usize::from(digits == value);
                }
                name = 0;
                in_value = false;
            }
            _ if in_value => {
                value += 1;
                digits += usize::from(byte.is_ascii_digit());
            }
            b'a'..=b'z' => name += 1,
            _ => {}
        }
    }
    pairs + numbers + most
}
