//! Settings of Python: files of variables that code loads, and names that are set in steps.

use crate::support::{chain, effective, findings, inspected};

const MANAGE: (&str, &str) =
    ("manage.py", "os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'shop.settings')\n");
const ENV: (&str, &str) = (".env", "DEBUG=False\nREGION=asia\n");

fn of(head: &str, environment: &[(&str, &str)]) -> Vec<String> {
    let settings = format!("import os\n{head}\nREGION = os.getenv('REGION', 'eu')\n");
    let files = [MANAGE, ENV, ("shop/settings.py", settings.as_str())];
    effective(&inspected("django", &files, environment))
}

#[test]
fn a_file_that_the_settings_load_sets_variables() {
    for head in [
        "load_dotenv()",
        "dotenv.load_dotenv()",
        "load_dotenv(find_dotenv())",
        "environ.Env.read_env(Path(__file__).resolve().parent.parent / '.env')",
        "load_dotenv(BASE_DIR / '.env')",
        "load_dotenv(override=True)",
    ] {
        assert_eq!(of(head, &[]), ["REGION=asia < shop/settings.py:3"], "{head}");
    }
    assert_eq!(of("", &[]), ["REGION=eu < shop/settings.py:3"]);
    let set = [("REGION", "us")];
    assert_eq!(of("load_dotenv()", &set), ["REGION=us < shop/settings.py:3"]);
    assert_eq!(of("load_dotenv(override=True)", &set), ["REGION=asia < shop/settings.py:3"]);
    assert_eq!(of("environ.Env.read_env()", &[]), ["REGION=eu < shop/settings.py:3"], "beside it");
}

#[test]
fn a_file_that_code_names_leaves_variables_unknown() {
    assert_eq!(of("load_dotenv(path_of(x))", &[]), [""; 0]);
    assert_eq!(
        of("load_dotenv(path_of(x))", &[("REGION", "us")]),
        ["REGION=us < shop/settings.py:3"]
    );
}

#[test]
fn what_is_added_to_a_name_is_not_set_twice() {
    let settings = |text: &str| inspected("django", &[MANAGE, ("shop/settings.py", text)], &[]);
    assert_eq!(findings(&settings("A = ['a']\nA += ['b']\n")), [""; 0]);
    assert_eq!(findings(&settings("A = 'a'\nA = 'b'\n")), ["config-duplicate-key A"]);
}

const PYDANTIC: &str = "class Db(BaseModel):\n    port: int = 1\n\n\nclass Settings(BaseSettings):\n    \
    model_config = SettingsConfigDict(env_file='.env', env_prefix='APP_', \
    env_nested_delimiter='__', extra='ignore')\n    db: Db = Db()\n    name: str = Field('a', alias='svc_name')\n";

#[test]
fn fields_are_found_by_their_variables_and_findings_name_these() {
    let env = (".env", "SVC_NAME=x\nAPP_NAME=y\nDB__PORT=3\nOTHER=1\n");
    let found = inspected("pydantic", &[("settings.py", PYDANTIC), env], &[("APP_DB__PORT", "2")]);
    assert_eq!(
        findings(&found),
        [
            "config-never-applied APP_NAME",
            "config-never-applied DB__PORT",
            "config-shadowed Settings.db.port"
        ]
    );
    let texts: Vec<String> = found.findings.iter().flat_map(|one| one.fix.clone()).collect();
    assert!(texts.iter().any(|text| text.contains("unset APP_DB__PORT")), "{texts:?}");
    assert!(texts.iter().all(|text| !text.contains("Settings.")), "{texts:?}");
    for (name, key) in [
        ("db.port", "Settings.db.port"),
        ("APP_DB__PORT", "Settings.db.port"),
        ("APP_NAME", "Settings.name"),
        ("DB__PORT", "DB__PORT"),
        ("OTHER", "OTHER"),
    ] {
        let keys: Vec<&str> = found.find(name).iter().map(|one| one.key.as_str()).collect();
        assert_eq!(keys, [key], "{name}");
    }
    assert_eq!(chain(&found, "OTHER"), [".env:4 unread"]);
    let names: Vec<&str> = found.variables.iter().map(|one| one.name.as_str()).collect();
    assert!(
        names.contains(&"SVC_NAME") && names.iter().all(|name| !name.contains('.')),
        "{names:?}"
    );
}
