//! Every form of a place's name, its canonical text, and what wrong names are told.

use super::PlaceSpec;

/// Parses, prints, and parses again.
fn check(text: &str, canonical: &str) {
    let spec: PlaceSpec = text.parse().unwrap_or_else(|e| panic!("{text}: {e}"));
    assert_eq!(spec.to_string(), canonical, "canonical form of {text}");
    assert_eq!(canonical.parse(), Ok(spec), "{canonical} parses to what printed it");
}

fn check_error(text: &str, message: &str, hint: &str) {
    let error = text.parse::<PlaceSpec>().expect_err(text);
    assert_eq!(error.to_string(), format!("`{text}` is not a place: {message}"));
    let told = error.hint().unwrap_or_default();
    assert!(told.contains(hint), "hint for {text}: {told}");
}

#[test]
fn every_form_round_trips() {
    for text in [
        "host",
        "host:/var/lib/db",
        "sandbox",
        "sandbox:/work dir/a:b",
        "docker:busybox",
        "docker:registry:5000/team/app@sha256:0123",
        "docker:@host",
        "docker:@host,layer",
        "podman:@host,net=none",
        "podman:alpine:3.20,cpus=2",
        "docker:app,volume=/src:/dst,net=host,publish=80,cpus=0.5,memory=512m,workdir=/dst",
        "docker:app,volume=/a:/b,volume=/c:/d:ro,publish=8080:80,publish=443",
        "docker:app,publish=53:53/udp,publish=53/udp",
        "docker:app,lower=/a/b:/usr/bin/b,lower=/c:4k",
        "container:web-1",
    ] {
        check(text, text);
    }
}

#[test]
fn other_spellings_become_the_canonical_one() {
    check("docker:a,cpus=0.50,net=none", "docker:a,net=none,cpus=0.5");
    check("docker:a,memory=1024K", "docker:a,memory=1m");
    check("docker:a,publish=80/tcp", "docker:a,publish=80");
    check("docker:a,memory=1000", "docker:a,memory=1000");
    check("docker:a,cpus=1.000000001", "docker:a,cpus=1.000000001");
}

#[test]
fn wrong_names_say_what_is_wrong_and_what_is_right() {
    check_error("hots", "unknown kind of place `hots`", "host, host:/dir");
    check_error("host:dir", "`dir` is not an absolute path", "\"$PWD\"/dir");
    check_error("docker", "docker needs an image", "docker:@host");
    check_error("podman:,net=host", "podman needs an image", "podman images");
    check_error("docker:@hots", "`@hots` is not an image", "@host");
    check_error("docker:a,cpu=1", "unknown option `cpu=1`", "cpus=0.5");
    check_error("docker:a,layer=1", "unknown option `layer=1`", "layer");
    check_error("docker:a,cpus=0", "`cpus` cannot be `0`", "cpus=0.5");
    check_error("docker:a,cpus=.5", "`cpus` cannot be `.5`", "cpus=0.5");
    check_error("docker:a,memory=99999999999g", "`memory` cannot be `99999999999g`", "memory=512m");
    check_error("docker:a,volume=/src", "`volume` cannot be `/src`", "/src:/dst");
    check_error("docker:a,volume=/a:/b:rw:z", "`volume` cannot be `/a:/b:rw:z`", "/src:/dst");
    check_error("docker:a,publish=1/sctp", "`publish` cannot be `1/sctp`", "/udp");
    check_error("docker:a,publish=0", "`publish` cannot be `0`", "PORT");
    check_error("docker:a,net=hots", "`net` cannot be `hots`", "bridge");
    check_error("docker:a,net=host,net=none", "`net` is given twice", "");
    check_error("docker:a,workdir=/x,layer", "`layer` and `workdir` cannot be used together", "");
    check_error("container:", "the container's name is missing", "docker ps");
}
