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
        "BASE_DIR = Path(__file__).resolve().parents[1]; load_dotenv(BASE_DIR / '.env')",
        "load_dotenv(os.path.join(os.path.dirname(os.path.dirname(__file__)), '.env'))",
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
fn a_path_that_code_makes_from_its_own_place_is_followed() {
    let settings = "import os\nBASE_DIR = Path(__file__).resolve().parent.parent\n\
                    environ.Env.read_env(BASE_DIR / '.env')\nREGION = os.getenv('REGION', 'eu')\n";
    let files = [
        ("manage.py", "os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'shop.settings.base')\n"),
        ENV,
        ("shop/settings/base.py", settings),
    ];
    // `parent.parent` of `shop/settings/base.py` is `shop`, and has no such file.
    let found = inspected("django", &files, &[]);
    assert_eq!(effective(&found), ["REGION=eu < shop/settings/base.py:4"]);
    let missing = found.sources.iter().find(|source| source.name == "shop/.env").unwrap();
    assert_eq!(missing.why, "no such file; shop/settings/base.py:3 reads it");
    let [manage, env, settings] = files;
    let below = inspected("django", &[manage, env, settings, ("shop/.env", "REGION=us\n")], &[]);
    assert_eq!(effective(&below), ["REGION=us < shop/settings/base.py:4"]);
    assert_eq!(of("load_dotenv(BASE_DIR / '.env')", &[]), [""; 0], "no such name");
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
fn a_text_that_means_false_is_true() {
    let of = |text: &str, environment: &[(&str, &str)]| {
        findings(&inspected("django", &[MANAGE, ("shop/settings.py", text)], environment))
    };
    let set = [("DEBUG", "False")];
    let plain = "DEBUG = os.environ.get('DEBUG', False)\n";
    assert_eq!(of(plain, &set), ["config-text-is-true DEBUG"]);
    assert_eq!(of("DEBUG = bool(os.getenv('DEBUG'))\n", &set), ["config-text-is-true DEBUG"]);
    assert_eq!(of(plain, &[]), [""; 0]);
    assert_eq!(of(plain, &[("DEBUG", "")]), [""; 0]);
    assert_eq!(of("DEBUG = os.environ.get('DEBUG', False) == 'True'\n", &set), [""; 0]);
    assert_eq!(of("DEBUG = os.environ.get('DEBUG', 'off')\n", &set), [""; 0]);
}

#[test]
fn variables_that_settings_need_and_settings_of_django() {
    let text = "SECRET_KEY = os.environ['SECRET_KEY']\nDATABASES = {'default': {'HOST': os.getenv('DB_HOST')}}\n\
                EMAIL_HOSTS = 'a'\nEMAIL_HOST = 'b'\n";
    let files = [MANAGE, ("shop/settings.py", text)];
    let found = inspected("django", &files, &[("DB_HOST", "db")]);
    assert_eq!(findings(&found), ["config-start-fails SECRET_KEY"]);
    let keys: Vec<&str> = found.find("DB_HOST").iter().map(|one| one.key.as_str()).collect();
    assert_eq!(keys, ["DATABASES.default.HOST"]);
    let local = ("shop/local.py", "EMAIL_HOSTS = 'a'\n");
    let star = ("shop/settings.py", "EMAIL_HOST = 'b'\nfrom .local import *\n");
    let found = inspected("django", &[MANAGE, local, star], &[]);
    assert!(found.findings[0].title.contains("`EMAIL_HOST` is a key of Django"), "{found:?}");
}

#[test]
fn django_refuses_a_text_in_the_place_of_a_list() {
    let of = |text: &str| inspected("django", &[MANAGE, ("shop/settings.py", text)], &[]);
    let found = of("ALLOWED_HOSTS = 'shop.example'\n");
    assert_eq!(findings(&found), ["config-start-fails ALLOWED_HOSTS"]);
    assert!(found.findings[0].title.contains("no list and no tuple"), "{:?}", found.findings);
    for sound in [
        "ALLOWED_HOSTS = ('shop.example',)\n",
        "ALLOWED_HOSTS = 'a'\nALLOWED_HOSTS = ['b']\n",
        "ALLOWED_HOSTS = hosts()\n",
        "ALLOWED_HOSTS = os.environ.get('HOSTS', 'a').split(',')\n",
        "TIME_ZONE = 'UTC'\n",
    ] {
        assert_eq!(findings(&of(sound)), [""; 0], "{sound}");
    }
}

#[test]
fn pydantic_refuses_a_text_that_is_no_literal() {
    let of = |kind: &str, level: &str| {
        let class = format!(
            "from pydantic_settings import BaseSettings\n\n\nclass S(BaseSettings):\n    level: {kind} = 'info'\n"
        );
        findings(&inspected("pydantic", &[("settings.py", &class)], &[("LEVEL", level)]))
    };
    let literal = "Literal['debug', 'info']";
    assert_eq!(of(literal, "verbose"), ["config-start-fails S.level"]);
    assert_eq!(of("Optional[typing.Literal['debug']]", "info"), ["config-start-fails S.level"]);
    for (kind, level) in [(literal, "debug"), ("Literal['a'] | str", "b"), ("Literal[LEVELS]", "b")]
    {
        let found = of(kind, level);
        assert!(!found.iter().any(|one| one.contains("start-fails")), "{kind}: {found:?}");
    }
}

#[test]
fn a_list_whose_name_is_almost_that_of_a_setting_is_found() {
    let of = |text: &str| inspected("django", &[MANAGE, ("shop/settings.py", text)], &[]);
    let found = of("ALLOWED_HOST = ['shop.example']\nDATABASE = {'default': {'NAME': 'x'}}\n");
    let ids = findings(&found);
    let near = |key: &str| format!("config-near-miss-name {key}");
    assert_eq!(ids, [near("ALLOWED_HOST[0]"), near("DATABASE.default.NAME")]);
    assert!(found.findings[0].title.contains("`ALLOWED_HOSTS` is a key of Django"), "{found:?}");
    assert_eq!(found.findings[0].fix, ["Rename `ALLOWED_HOST` to `ALLOWED_HOSTS`."]);
    // Both are set: they are two on purpose.
    let both = of("ALLOWED_HOST = ['a']\nALLOWED_HOSTS = ['b']\n");
    assert_eq!(findings(&both), [""; 0]);
    assert_eq!(findings(&of("SHOP_HOSTS = ['a']\nALLOWED_HOSTS = ['b']\n")), [""; 0]);
}

#[test]
fn fields_without_a_value_keep_the_program_from_starting() {
    let text = "class Settings(BaseSettings):\n    model_config = SettingsConfigDict(env_prefix='APP_', \
                env_file='.env')\n    database_url: str\n    port: int = 1\n    note: str | None\n";
    let of = |env: &str, environment: &[(&str, &str)]| {
        inspected("pydantic", &[("settings.py", text), (".env", env)], environment)
    };
    let found = of("", &[]);
    assert_eq!(findings(&found), ["config-start-fails Settings.database_url"]);
    assert!(found.findings[0].fix[0].contains("`APP_DATABASE_URL`"), "{:?}", found.findings);
    assert_eq!(findings(&of("APP_DATABASE_URL=x\n", &[])), [""; 0]);
    let refused = of("APP_DATABASE_URL=x\nAPP_PORT=a\n", &[]);
    assert_eq!(findings(&refused), ["config-start-fails Settings.port"]);
    let plain = text.replace("env_prefix='APP_', env_file='.env'", "");
    let files = [("settings.py", plain.as_str()), (".env", "DATABASE_URL=x\n")];
    let unread = inspected("pydantic", &files, &[]);
    let keys: Vec<&str> = unread.find("DATABASE_URL").iter().map(|one| one.key.as_str()).collect();
    assert_eq!(keys, ["DATABASE_URL", "Settings.database_url"]);
    let without = of("DATABASE_URL=x\n", &[]);
    let fixes: Vec<&String> = without.findings.iter().flat_map(|one| &one.fix).collect();
    assert!(
        fixes.iter().any(|fix| **fix == "Rename `DATABASE_URL` to `APP_DATABASE_URL`."),
        "{fixes:?}"
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

const SETTINGS: &str = "from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict\n\
                        class Settings(BaseSettings):\n    model_config = SettingsConfigDict(env_file='.env', env_prefix='SVC_')\n";

#[test]
fn a_list_that_code_decodes_is_no_mistake() {
    let of = |more: &str| {
        let settings = format!("{SETTINGS}    {more}\n");
        let files = [("settings.py", settings.as_str()), (".env", "SVC_TAGS=a,b\n")];
        findings(&inspected("pydantic", &files, &[]))
    };
    assert_eq!(of("tags: list[str] = []"), ["config-start-fails Settings.tags"]);
    assert_eq!(of("tags: Annotated[list[str], NoDecode] = []"), [""; 0]);
    assert_eq!(
        of(
            "tags: list[str] = []\n    model_config = SettingsConfigDict(env_file='.env', env_prefix='SVC_', enable_decoding=False)"
        ),
        [""; 0]
    );
}

#[test]
fn a_misspelled_variable_of_a_field_is_one_finding_with_the_right_name() {
    let settings = format!("{SETTINGS}    required_url: str\n");
    let files = [("settings.py", settings.as_str()), (".env", "SVC_REQURED_URL=x\n")];
    let found = inspected("pydantic", &files, &[]);
    assert_eq!(findings(&found), ["config-near-miss-name Settings.requred_url"]);
    assert_eq!(found.findings[0].fix, ["Rename `SVC_REQURED_URL` to `SVC_REQUIRED_URL`."]);
}
