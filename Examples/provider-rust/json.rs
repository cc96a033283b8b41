//! Reads one line of JSON without changing it: the members of an object, and the bytes of each value.
use std::ops::Range;

/// The form of a value, without its meaning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Form {
    Null,
    Boolean,
    /// A number without fraction and exponent.
    Integer,
    Number,
    Text,
    Nested,
}

/// A member of an object. The ranges count in the line.
#[derive(Clone, Debug)]
pub struct Member {
    pub key: Range<usize>,
    pub value: Range<usize>,
    pub form: Form,
}

/// The reason why a line is not the JSON that was expected.
pub type Fault = String;

/// A deeper value is refused, so that no line can exhaust the stack.
const DEPTH: usize = 200;

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

/// The members of the object that is all of `line`.
pub fn members(line: &[u8]) -> Result<Vec<Member>, Fault> {
    if std::str::from_utf8(line).is_err() {
        return Err("is not UTF-8".to_string());
    }
    let mut parser = Parser { text: line, at: 0 };
    parser.blanks();
    if parser.peek() != Some(b'{') {
        return Err(match value(line) {
            Ok(Form::Nested) => "is an array and not an object".to_string(),
            Ok(_) => "is a single value and not an object".to_string(),
            Err(fault) => fault,
        });
    }
    let mut members = Vec::new();
    parser.object(0, &mut |member| members.push(member))?;
    parser.end()?;
    Ok(members)
}

/// The form of the value that is all of `text`.
pub fn value(text: &[u8]) -> Result<Form, Fault> {
    let mut parser = Parser { text, at: 0 };
    parser.blanks();
    let form = parser.value(0)?;
    parser.end()?;
    Ok(form)
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn fault<T>(&self, expected: &str) -> Result<T, Fault> {
        let found = match self.peek() {
            None => "the line ends".to_string(),
            Some(byte) if (0x21..0x7f).contains(&byte) => format!("\"{}\"", byte as char),
            Some(byte) => format!("byte 0x{:02x}", byte),
        };
        let column = self.at + 1;
        Err(format!("is not JSON: {} at byte {}, expected {}", found, column, expected))
    }

    fn end(&mut self) -> Result<(), Fault> {
        self.blanks();
        match self.at == self.text.len() {
            true => Ok(()),
            false => self.fault("the end of the line"),
        }
    }

    fn take(&mut self, byte: u8, expected: &str) -> Result<(), Fault> {
        if self.peek() != Some(byte) {
            return self.fault(expected);
        }
        self.at += 1;
        Ok(())
    }

    fn value(&mut self, depth: usize) -> Result<Form, Fault> {
        if depth > DEPTH {
            return Err(format!("is nested more than {} levels deep", DEPTH));
        }
        match self.peek() {
            Some(b'{') => self.object(depth, &mut |_| ()).map(|_| Form::Nested),
            Some(b'[') => self.array(depth).map(|_| Form::Nested),
            Some(b'"') => self.string().map(|_| Form::Text),
            Some(b't') => self.word(b"true", Form::Boolean),
            Some(b'f') => self.word(b"false", Form::Boolean),
            Some(b'n') => self.word(b"null", Form::Null),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.fault("a value"),
        }
    }

    fn object(&mut self, depth: usize, found: &mut dyn FnMut(Member)) -> Result<(), Fault> {
        self.at += 1;
        self.blanks();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            let start = self.at;
            if self.peek() != Some(b'"') {
                return self.fault("a key in quotes");
            }
            self.string()?;
            let key = start..self.at;
            self.blanks();
            self.take(b':', "a colon")?;
            self.blanks();
            let start = self.at;
            let form = self.value(depth + 1)?;
            found(Member { key, value: start..self.at, form });
            self.blanks();
            if self.peek() == Some(b'}') {
                self.at += 1;
                return Ok(());
            }
            self.take(b',', "a comma or }")?;
            self.blanks();
        }
    }

    fn array(&mut self, depth: usize) -> Result<(), Fault> {
        self.at += 1;
        self.blanks();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.value(depth + 1)?;
            self.blanks();
            if self.peek() == Some(b']') {
                self.at += 1;
                return Ok(());
            }
            self.take(b',', "a comma or ]")?;
            self.blanks();
        }
    }

    fn string(&mut self) -> Result<(), Fault> {
        self.at += 1;
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => self.escape()?,
                Some(byte) if byte >= 0x20 => self.at += 1,
                _ => return self.fault("the end of a string"),
            }
        }
    }

    fn escape(&mut self) -> Result<(), Fault> {
        self.at += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') => {
                self.at += 1;
                for _ in 0..4 {
                    match self.peek() {
                        Some(byte) if byte.is_ascii_hexdigit() => self.at += 1,
                        _ => return self.fault("four hexadecimal digits"),
                    }
                }
            }
            _ => return self.fault("an escape"),
        }
        Ok(())
    }

    fn word(&mut self, word: &[u8], form: Form) -> Result<Form, Fault> {
        if !self.text[self.at..].starts_with(word) {
            return self.fault("a value");
        }
        self.at += word.len();
        Ok(form)
    }

    fn digits(&mut self) -> Result<(), Fault> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        match self.at > start {
            true => Ok(()),
            false => self.fault("a digit"),
        }
    }

    fn number(&mut self) -> Result<Form, Fault> {
        let mut form = Form::Integer;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
            form = Form::Number;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
            form = Form::Number;
        }
        Ok(form)
    }
}

/// The text of a string in quotes. `None` if it contains half of a surrogate pair: no text in UTF-8
/// corresponds to it.
pub fn text(quoted: &[u8]) -> Option<String> {
    let inner = &quoted[1..quoted.len() - 1];
    let mut bytes = Vec::with_capacity(inner.len());
    let mut at = 0;
    while at < inner.len() {
        if inner[at] != b'\\' {
            bytes.push(inner[at]);
            at += 1;
            continue;
        }
        let plain = match inner[at + 1] {
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let (character, length) = unicode(&inner[at..])?;
                let mut buffer = [0; 4];
                bytes.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
                at += length;
                continue;
            }
            other => other,
        };
        bytes.push(plain);
        at += 2;
    }
    String::from_utf8(bytes).ok()
}

/// The character of `\uXXXX`, or of a pair of them, and the number of bytes.
fn unicode(text: &[u8]) -> Option<(char, usize)> {
    let unit = |at: usize| {
        let digits = text.get(at..at + 6).filter(|unit| unit.starts_with(b"\\u"))?;
        u32::from_str_radix(std::str::from_utf8(&digits[2..]).ok()?, 16).ok()
    };
    let high = unit(0)?;
    if !(0xd800..0xdc00).contains(&high) {
        return char::from_u32(high).map(|character| (character, 6));
    }
    let low = unit(6).filter(|low| (0xdc00..0xe000).contains(low))?;
    let code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
    char::from_u32(code).map(|character| (character, 12))
}

/// A string in quotes with this text.
pub fn quoted(text: &str) -> String {
    let mut result = String::with_capacity(text.len() + 2);
    result.push('"');
    for character in text.chars() {
        match character {
            '"' => result.push_str("\\\""),
            '\\' => result.push_str("\\\\"),
            '\n' => result.push_str("\\n"),
            '\r' => result.push_str("\\r"),
            '\t' => result.push_str("\\t"),
            c if (c as u32) < 0x20 => result.push_str(&format!("\\u{:04x}", c as u32)),
            c => result.push(c),
        }
    }
    result.push('"');
    result
}

/// The digits of a decimal number without zeros at both ends, and the exponent of the last digit.
fn decimal(number: &str) -> (bool, String, i64) {
    let (mantissa, exponent) = match number.split_once(&['e', 'E'][..]) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse().unwrap_or(i64::MAX / 2)),
        None => (number, 0i64),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let negative = whole.starts_with('-');
    let all = format!("{}{}", whole.trim_start_matches('-'), fraction);
    let digits = all.trim_end_matches('0');
    let exponent = exponent - fraction.len() as i64 + (all.len() - digits.len()) as i64;
    let digits = digits.trim_start_matches('0').to_string();
    let exponent = if digits.is_empty() { 0 } else { exponent };
    (negative, digits, exponent)
}

/// The number as a double, if the double prints as the same number again: 0.1 does, and a number with
/// twenty digits does not.
pub fn exact_real(number: &str) -> Option<f64> {
    let value: f64 = number.parse().ok()?;
    if !value.is_finite() {
        return None;
    }
    if number.len() <= 15 && !number.contains(&['e', 'E'][..]) {
        return Some(value);
    }
    let same = decimal(number) == decimal(&format!("{:e}", value));
    if same {
        Some(value)
    } else {
        None
    }
}
