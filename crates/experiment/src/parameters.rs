//! Values that command lines are run with: `--parameter-scan` and `--parameter-list`.

use crate::error::{Error, Result};

/// Names and values that go into a command line together.
pub type Parameters = Vec<(String, String)>;

/// More combinations than this are a slip of the hand: each one runs in every round.
const MOST: usize = 1000;

/// Every combination of values, the first list's varying slowest; one without any where no parameters
/// are given.
///
/// # Errors
/// When a scan's numbers are none, or there are too many combinations.
pub fn combinations(
    (scans, step): (&[String], &str),
    value_lists: &[String],
) -> Result<Vec<Parameters>> {
    let mut lists: Vec<(String, Vec<String>)> = Vec::new();
    for scan in scans.chunks(3) {
        if let [name, from, to] = scan {
            lists.push((name.clone(), steps(from, to, step)?));
        }
    }
    for list in value_lists.chunks(2) {
        if let [name, values] = list {
            lists.push((name.clone(), listed(values)));
        }
    }
    for (at, (name, _)) in lists.iter().enumerate() {
        if lists[..at].iter().any(|(other, _)| other == name) {
            return Err(Error::input(format!(
                "cannot use the parameters: `{name}` is given twice"
            ))
            .hint("give each parameter only once"));
        }
    }
    let mut all: Vec<Parameters> = vec![Vec::new()];
    for (name, values) in lists {
        let with = |row: &Parameters, value: &String| {
            let mut row = row.clone();
            row.push((name.clone(), value.clone()));
            row
        };
        all = all.iter().flat_map(|row| values.iter().map(|value| with(row, value))).collect();
        if all.len() > MOST {
            return Err(too_many());
        }
    }
    Ok(all)
}

/// The values of a list. A backslash makes a comma or a backslash part of a value; in front of anything
/// else it stands for itself, as in hyperfine.
fn listed(list: &str) -> Vec<String> {
    let mut values = vec![String::new()];
    let mut signs = list.chars().peekable();
    while let Some(sign) = signs.next() {
        let escaped =
            if sign == '\\' { signs.next_if(|next| matches!(next, ',' | '\\')) } else { None };
        match (escaped, sign, values.last_mut()) {
            (None, ',', _) | (_, _, None) => values.push(String::new()),
            (escaped, sign, Some(value)) => value.push(escaped.unwrap_or(sign)),
        }
    }
    values
}

fn too_many() -> Error {
    Error::input(format!("cannot use the parameters: they give more than {MOST} combinations"))
        .hint("give fewer values, or larger steps with `--parameter-step-size`")
}

/// The numbers from one to another, with as many decimals as the finest of the three has.
fn steps(from: &str, to: &str, step: &str) -> Result<Vec<String>> {
    let number = |text: &str| {
        let value = text.parse::<f64>().ok().filter(|value| value.is_finite());
        value.ok_or_else(|| {
            Error::input(format!("cannot read `--parameter-scan`: `{text}` is not a number"))
                .hint("give a name and two numbers, such as `--parameter-scan n 1 8`")
        })
    };
    let (first, last, width) = (number(from)?, number(to)?, number(step)?);
    if width <= 0.0 || last < first {
        return Err(Error::input(format!(
            "cannot use `--parameter-scan`: no value from {from} to {to} in steps of {step}"
        ))
        .hint("give MIN before MAX, and a step above 0"));
    }
    let decimals = |text: &str| text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let decimals = [from, to, step].into_iter().map(decimals).max().unwrap_or(0);
    let mut values = Vec::new();
    for at in 0..=u32::try_from(MOST).unwrap_or(u32::MAX) {
        // Multiplied and not added up, so that errors do not add up either.
        let value = first + f64::from(at) * width;
        if value > last + width * 1e-6 {
            return Ok(values);
        }
        values.push(format!("{value:.decimals$}"));
    }
    Err(too_many())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backslash_makes_a_comma_part_of_a_value() {
        for (list, values) in [
            ("a,b,c", &["a", "b", "c"][..]),
            (r"a\,b,c", &["a,b", "c"]),
            (r"\,\,", &[",,"]),
            (r"a\\,b", &[r"a\", "b"]),
            (r"a\\\,b", &[r"a\,b"]),
            (r"\n\", &[r"\n\"]),
            (",a,", &["", "a", ""]),
            ("", &[""]),
        ] {
            assert_eq!(listed(list), values, "{list}");
        }
    }

    #[test]
    fn scans_count_in_steps_and_keep_their_decimals() {
        assert_eq!(steps("1", "4", "1").unwrap(), ["1", "2", "3", "4"]);
        assert_eq!(steps("0", "0.3", "0.1").unwrap(), ["0.0", "0.1", "0.2", "0.3"]);
        assert_eq!(steps("-1", "1", "1.5").unwrap(), ["-1.0", "0.5"]);
        for (from, to, step) in
            [("x", "1", "1"), ("2", "1", "1"), ("1", "2", "0"), ("1", "2", "nan")]
        {
            assert!(steps(from, to, step).is_err(), "{from} {to} {step}");
        }
        assert!(steps("0", "1000000", "1").is_err());
    }
}
