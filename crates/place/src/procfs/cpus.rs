//! Which CPUs a process may use.

/// How many CPUs a process may use, by the text of its `/proc/PID/status`; none where the kernel does not say.
#[must_use]
pub fn allowed_cpus(status: &str) -> Option<u32> {
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    Some(count(list.trim()))
}

/// How many numbers a list such as `0-3,8` names.
fn count(list: &str) -> u32 {
    let count = |part: &str| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let (from, to) = (from.parse::<u32>().ok()?, to.parse::<u32>().ok()?);
        Some(to.checked_sub(from)? + 1)
    };
    list.split(',').filter_map(count).sum()
}

#[cfg(test)]
mod tests {
    use super::{allowed_cpus, count};

    #[test]
    fn lists_of_cpus_are_counted() {
        for (list, number) in [("0-3,8", 5), ("0", 1), ("", 0), ("3-1", 0)] {
            assert_eq!(count(list), number, "{list}");
        }
    }

    #[test]
    fn the_line_of_the_list_is_found() {
        let status = "Name:\tsh\nCpus_allowed:\tf\nCpus_allowed_list:\t0-1,3\n";
        assert_eq!(allowed_cpus(status), Some(3));
        assert_eq!(allowed_cpus("Name:\tsh\n"), None);
    }
}
