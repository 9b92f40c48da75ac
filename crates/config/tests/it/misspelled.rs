//! Variables whose names are almost those that a program asks for, and variables that are of others.

use crate::support::{findings, inspected};

const NODE: [(&str, &str); 3] = [
    ("package.json", "{\"dependencies\": {\"dotenv\": \"18\", \"config\": \"5\"}}"),
    (".env", "API_URL=1\nPORT=2\nREGION=eu\n"),
    ("config/default.json", "{\"server\": {\"port\": 1}}"),
];
const PYDANTIC: [(&str, &str); 1] = [(
    "settings.py",
    "class Settings(BaseSettings):\n    model_config = SettingsConfigDict(env_prefix='APP_')\n    log_level: str = 'info'\n    dbhost: str = 'a'\n",
)];
const DJANGO: [(&str, &str); 2] = [
    ("manage.py", "os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'shop.settings')\n"),
    ("shop/settings.py", "import os\nREGION = os.getenv('REGION', 'eu')\n"),
];
const SPRING: [(&str, &str); 1] = [("application.yml", "server:\n  port: 1\n")];
const DOTNET: [(&str, &str); 1] = [("appsettings.json", "{\"A\": 1}")];
const COMPOSE: [(&str, &str); 1] =
    [("compose.yaml", "services:\n  web:\n    image: shop:${IMAGE_TAG:-1}\n")];

/// A profile, files, a variable, and the one that is asked for.
type Case = (&'static str, &'static [(&'static str, &'static str)], &'static str, &'static str);

#[test]
fn a_variable_that_is_almost_one_that_is_asked_for_is_found() {
    let cases: &[Case] = &[
        ("spring", &SPRING, "SPRING_PROFILE_ACTIVE", "SPRING_PROFILES_ACTIVE"),
        ("spring", &SPRING, "SPRING_PROFILES_ACTIV", "SPRING_PROFILES_ACTIVE"),
        ("dotnet", &DOTNET, "ASPNETCORE_ENVIROMENT", "ASPNETCORE_ENVIRONMENT"),
        ("node-config", &NODE, "NODE_EVN", "NODE_ENV"),
        ("dotenv", &NODE, "API_ULR", "API_URL"),
        ("dotenv", &NODE, "API_URLL", "API_URL"),
        ("dotenv", &NODE, "POTR", "PORT"),
        ("pydantic", &PYDANTIC, "APP_LOG_LEVLE", "APP_LOG_LEVEL"),
        ("pydantic", &PYDANTIC, "APP_LOG_LEVELL", "APP_LOG_LEVEL"),
        ("pydantic", &PYDANTIC, "APP_DB_HOST", "APP_DBHOST"),
        ("django", &DJANGO, "REGIONN", "REGION"),
        ("compose", &COMPOSE, "IMAGE_TAGG", "IMAGE_TAG"),
    ];
    for (profile, files, name, asked) in cases {
        let with = inspected(profile, files, &[(name, "x"), ("PATH", "/bin")]);
        assert_eq!(findings(&with), [format!("config-near-miss-name {name}")], "{profile}");
        assert!(with.findings[0].title.contains(&format!("`{asked}`")), "{:?}", with.findings);
        let row = with.variables.iter().find(|one| one.name == *name);
        assert_eq!(row.and_then(|row| row.nearest.as_deref()), Some(*asked), "{profile} {name}");
        let both = inspected(profile, files, &[(name, "x"), (asked, "x")]);
        let near = findings(&both).iter().any(|one| one.starts_with("config-near-miss"));
        assert!(!near, "{profile} {name}: both are set on purpose");
    }
}

/// The variables of a desktop with developer's tools, none of which a project below asks for.
const SHELL: &str = "\
    SHELL PWD OLDPWD HOME LANG LANGUAGE LC_ALL LC_TIME TERM TERMINAL USER LOGNAME PATH MAIL SHLVL _ \
    EDITOR VISUAL PAGER LESS LESSOPEN LS_COLORS DISPLAY XAUTHORITY XDG_SESSION_ID XDG_RUNTIME_DIR \
    XDG_DATA_DIRS XDG_CURRENT_DESKTOP DBUS_SESSION_BUS_ADDRESS SSH_AUTH_SOCK SSH_AGENT_PID SSH_TTY \
    SSH_CLIENT GPG_AGENT_INFO HISTSIZE HISTFILE HISTCONTROL COLORTERM NVM_DIR NVM_BIN JAVA_HOME \
    MAVEN_OPTS GRADLE_HOME GOPATH GOROOT CARGO_HOME RUSTUP_HOME PYENV_ROOT VIRTUAL_ENV PYTHONPATH \
    PIP_CERT NODE_PATH NODE_OPTIONS NODE_EXTRA_CA_CERTS DOTNET_ROOT DOTNET_CLI_TELEMETRY_OPTOUT \
    ASPNETCORE_URLS DOCKER_HOST COMPOSE_PROJECT_NAME KUBECONFIG AWS_PROFILE AWS_REGION HTTP_PROXY \
    http_proxy NO_PROXY no_proxy DEBUG POST SORT DB_PORT HOSTTYPE SPRING_OUTPUT_ANSI_ENABLED TMPDIR";

#[test]
fn the_variables_of_a_shell_are_accused_of_nothing() {
    let shell: Vec<(&str, &str)> = SHELL.split_whitespace().map(|name| (name, "1")).collect();
    assert!(shell.len() > 60, "{}", shell.len());
    let cases: &[(&str, &[(&str, &str)])] = &[
        ("spring", &SPRING),
        ("dotnet", &DOTNET),
        ("node-config", &NODE),
        ("dotenv", &NODE),
        ("pydantic", &PYDANTIC),
        ("django", &DJANGO),
        ("compose", &COMPOSE),
    ];
    for (profile, files) in cases {
        assert_eq!(findings(&inspected(profile, files, &shell)), [""; 0], "{profile}");
    }
}
