//! Chains of pointers in a process that changes or lies: they may come back to where they were.

/// Sees that a chain is a circle, by comparing with one earlier link (Brent's algorithm).
#[derive(Debug)]
pub(super) struct Circle {
    earlier: u64,
    steps: u32,
    next: u32,
}

impl Circle {
    pub(super) fn new(start: u64) -> Self {
        Self { earlier: start, steps: 0, next: 1 }
    }

    pub(super) fn closes(&mut self, address: u64) -> bool {
        if address == self.earlier {
            return true;
        }
        self.steps += 1;
        if self.steps == self.next {
            (self.earlier, self.steps, self.next) = (address, 0, self.next * 2);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_that_comes_back_is_a_circle_wherever_it_enters() {
        for (tail, length) in [(0_u64, 1_u64), (0, 5), (7, 1), (100, 33)] {
            let next = |at: u64| if at + 1 < tail + length { at + 1 } else { tail };
            let (mut circle, mut at) = (Circle::new(0), 0);
            let steps = (0..4 * (tail + length)).take_while(|_| {
                at = next(at);
                !circle.closes(at)
            });
            assert!((steps.count() as u64) < 4 * (tail + length), "{tail} {length}");
        }
        let mut circle = Circle::new(0);
        assert!((1..10_000).all(|at| !circle.closes(at)));
    }
}
