//! A bar of fixed width that shows how a length is made up, and its legend in words.

use culprit_model::{Cause, Nanos};

use super::paint::Paint;
use crate::palette::cause_color;
use crate::units::percent;

/// One part of a bar.
pub type Part = (Cause, Nanos);

/// A bar of `width` cells for `parts` out of `whole`; cells that no part fills stay blank.
///
/// Cells are given by largest remainder, so they add up and the biggest parts are always seen.
/// Without colour each cause has its own letter.
#[must_use]
pub fn bar(parts: &[Part], whole: Nanos, width: usize, paint: Paint) -> String {
    let cells = cells(parts, whole, width);
    let filled: usize = cells.iter().sum();
    let mut text = String::new();
    for ((cause, _), count) in parts.iter().zip(cells) {
        let letter = if paint.coloured() { '█' } else { cause_color(*cause).letter };
        text.push_str(&paint.cause(*cause, &letter.to_string().repeat(count)));
    }
    text.push_str(&" ".repeat(width.saturating_sub(filled)));
    text
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a share of at most some hundred cells"
)]
fn cells(parts: &[Part], whole: Nanos, width: usize) -> Vec<usize> {
    let exact: Vec<f64> =
        parts.iter().map(|(_, time)| time.share_of(whole).min(1.0) * width as f64).collect();
    let mut cells: Vec<usize> = exact.iter().map(|cells| cells.floor() as usize).collect();
    let wanted = exact.iter().sum::<f64>().round() as usize;
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by(|a, b| {
        let rest = |i: &usize| exact[*i] - exact[*i].floor();
        rest(b).total_cmp(&rest(a)).then(a.cmp(b))
    });
    let missing = wanted.min(width).saturating_sub(cells.iter().sum());
    for index in order.into_iter().take(missing) {
        cells[index] += 1;
    }
    cells
}

/// `sleep 97 %, cpu.user 2 %`: the largest parts in words, at most `most` of them, each at least
/// 1 %. `blocked.` is left out where it says nothing new.
#[must_use]
pub fn shares(parts: &[Part], whole: Nanos, most: usize) -> String {
    let mut sorted: Vec<&Part> =
        parts.iter().filter(|(_, time)| time.share_of(whole) >= 0.005).collect();
    sorted.sort_by_key(|(cause, time)| (std::cmp::Reverse(*time), *cause));
    let words = sorted.iter().take(most).map(|(cause, time)| {
        let word = cause.to_string();
        let word = word.strip_prefix("blocked.").unwrap_or(&word);
        format!("{word} {}", percent(time.share_of(whole)))
    });
    words.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARTS: [Part; 3] =
        [(Cause::CpuUser, Nanos(10)), (Cause::Sleep, Nanos(60)), (Cause::Lock, Nanos(30))];

    #[test]
    fn cells_add_up_and_letters_tell_causes_apart() {
        assert_eq!(bar(&PARTS, Nanos(100), 10, Paint::new(false)), "█sssssslll");
        assert_eq!(bar(&PARTS, Nanos(200), 10, Paint::new(false)), "█sssl     ");
        assert_eq!(bar(&[], Nanos(0), 4, Paint::new(false)), "    ");
    }

    #[test]
    fn the_legend_is_in_words_the_largest_first() {
        assert_eq!(shares(&PARTS, Nanos(100), 2), "sleep 60 %, lock 30 %");
        assert_eq!(shares(&PARTS, Nanos(1000), 3), "sleep 6.0 %, lock 3.0 %, cpu.user 1.0 %");
    }
}
