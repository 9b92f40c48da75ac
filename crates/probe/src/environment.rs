//! What a measurement was made on: two results are comparable as far as these agree.

use std::collections::BTreeMap;
use std::path::Path;

use culprit_place::PlaceFacts;

/// Facts by name, in the names' order.
pub type Environment = BTreeMap<String, String>;

/// The machine's: kernel, CPUs, what the kernel does against their faults, clocks, memory.
#[must_use]
pub fn of_machine() -> Environment {
    let mut told = Environment::new();
    let mut put = |name: &str, value: Option<String>| {
        told.extend(value.map(|value| (name.to_owned(), value)));
    };
    let uname = rustix::system::uname();
    put("kernel", Some(uname.release().to_string_lossy().into_owned()));
    put("kernel build", Some(uname.version().to_string_lossy().into_owned()));
    put("architecture", Some(uname.machine().to_string_lossy().into_owned()));
    let cpus = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    put("cpu", field(&cpus, "model name"));
    put("microcode", field(&cpus, "microcode"));
    let count = cpus.lines().filter(|line| line.starts_with("processor")).count();
    put("cpus", (count > 0).then(|| count.to_string()));
    let hypervised = field(&cpus, "flags").is_some_and(|f| f.split(' ').any(|f| f == "hypervisor"));
    put("virtual machine", Some(if hypervised { "yes" } else { "no" }.to_owned()));
    let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    put("memory", field(&memory, "MemTotal"));
    put("swap", field(&memory, "SwapTotal"));
    for (name, file) in FILES {
        put(name, first_line(Path::new(file)));
    }
    told.extend(mitigations());
    told
}

const FILES: [(&str, &str); 7] = [
    ("governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
    ("turbo off", "/sys/devices/system/cpu/intel_pstate/no_turbo"),
    ("smt", "/sys/devices/system/cpu/smt/control"),
    ("clock", "/sys/devices/system/clocksource/clocksource0/current_clocksource"),
    ("huge pages", "/sys/kernel/mm/transparent_hugepage/enabled"),
    ("randomised addresses", "/proc/sys/kernel/randomize_va_space"),
    ("local ports", "/proc/sys/net/ipv4/ip_local_port_range"),
];

/// What slows every entry into the kernel on some CPUs.
fn mitigations() -> Environment {
    let folder = std::fs::read_dir("/sys/devices/system/cpu/vulnerabilities");
    let entries = folder.into_iter().flatten().flatten();
    let fact = |entry: std::fs::DirEntry| {
        let value = first_line(&entry.path())?;
        let name = entry.file_name().to_string_lossy().into_owned();
        (value != "Not affected").then(|| (format!("mitigation of {name}"), value))
    };
    entries.filter_map(fact).collect()
}

fn field(text: &str, name: &str) -> Option<String> {
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.trim().strip_prefix(':'))?;
    Some(value.trim().to_owned())
}

fn first_line(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    Some(text.lines().next()?.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// A place's: file systems and their options, limits, filter.
#[must_use]
pub(crate) fn of_place(facts: &PlaceFacts) -> Environment {
    let place = crate::probe::bare(&facts.place);
    let mut told = Environment::new();
    let mut put = |name: &str, value: String| {
        told.insert(format!("{place}: {name}"), value);
    };
    let files = |found: &Option<culprit_place::FileSystem>| {
        found.as_ref().map(|found| {
            // Where layers lie has a new name in each container; how they are used does not.
            let options: Vec<&str> = found
                .options
                .iter()
                .map(String::as_str)
                .filter(|option| !option.contains("dir=") && !option.contains("/"))
                .collect();
            format!("{} ({})", found.kind, options.join(","))
        })
    };
    if let Some(found) = files(&facts.work) {
        put("files", found);
    }
    if let Some(found) = files(&facts.root) {
        put("root's files", found);
    }
    put("cpus", facts.cpus.to_string());
    put("seccomp", facts.seccomp.to_string());
    if let Some((time, period)) = facts.cpu_quota_ns {
        put("CPU quota", format!("{time} ns in {period} ns"));
    }
    if let Some(bytes) = facts.memory_limit_bytes {
        put("memory limit", format!("{bytes} bytes"));
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_has_a_kernel_and_cpus_and_is_the_same_twice() {
        let told = of_machine();
        assert!(told.contains_key("kernel") && told.contains_key("memory"), "{told:?}");
        assert_eq!(told, of_machine());
    }

    #[test]
    fn fields_are_read_by_their_whole_names() {
        let text = "model\t\t: 1\nmodel name\t: A CPU\n";
        assert_eq!(field(text, "model name").as_deref(), Some("A CPU"));
        assert_eq!(field(text, "model").as_deref(), Some("1"));
    }
}
