use super::*;

#[test]
fn a_profile_whose_parts_do_not_fit_is_refused_with_the_reason() {
    let layer = |text: &str| format!("name = 'x'\ntitle = 'X'\n[[layer]]\nname = 'a'\n{text}\n");
    for (text, reason) in [
        ("name = 'x'\ntitle = 'X'\n".to_owned(), "no `[[layer]]`"),
        (layer(""), "either `files` or `environment`"),
        (layer("files = ['a.{mode}.json']"), "uses `mode`"),
        (layer("files = ['../a.json']"), "not below the root"),
        (layer("files = ['a.txt']"), "not known by its name"),
        (layer("files = ['a.json']\nformat = 'jsn'"), "jsn"),
        (layer("files = ['a.json']\nfile = 1"), "unknown field"),
    ] {
        let error = Profile::parse(&text).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
    assert!(Profile::parse(&layer("files = ['a.json']")).is_ok());
}
