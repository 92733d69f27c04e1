//! Which of this program's variables a command gets: those on a list, those the user named, and the
//! settings that keep tools from waiting for a person. What looks like a key is left out unless the
//! user named it. It reads no environment itself and knows nothing of the files of toolchains.

use std::collections::BTreeMap;

/// Variables that are passed on if they are set.
const PASSED: &[&str] = &[
    // The person and the place.
    "PATH",
    "LANG",
    "LANGUAGE",
    "TZ",
    "USER",
    "LOGNAME",
    "SHELL",
    "XDG_DATA_DIRS",
    "XDG_CONFIG_DIRS",
    "NIX_PATH",
    "NIX_PROFILES",
    "SOURCE_DATE_EPOCH",
    // Certificates.
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NIX_SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "GIT_SSL_CAINFO",
    // C and what is built like it.
    "CC",
    "CXX",
    "CPP",
    "AR",
    "LD",
    "CFLAGS",
    "CXXFLAGS",
    "CPPFLAGS",
    "LDFLAGS",
    "CPATH",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
    "LIBRARY_PATH",
    "LD_LIBRARY_PATH",
    "PKG_CONFIG_PATH",
    "PKG_CONFIG_LIBDIR",
    "CMAKE_PREFIX_PATH",
    "CUDA_HOME",
    "CUDA_PATH",
    // Rust.
    "CARGO_HOME",
    "CARGO_BUILD_JOBS",
    "CARGO_INCREMENTAL",
    "CARGO_NET_OFFLINE",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "RUSTFLAGS",
    "RUST_BACKTRACE",
    "RUST_LOG",
    // Go.
    "GOPATH",
    "GOROOT",
    "GOBIN",
    "GOFLAGS",
    "GOPROXY",
    "GOSUMDB",
    "GONOSUMDB",
    "GOPRIVATE",
    "GOMODCACHE",
    "GOTOOLCHAIN",
    "GOOS",
    "GOARCH",
    "CGO_ENABLED",
    // Java and its relatives.
    "JAVA_HOME",
    "JDK_HOME",
    "M2_HOME",
    "MAVEN_HOME",
    "GRADLE_HOME",
    "ANDROID_HOME",
    "ANDROID_SDK_ROOT",
    "SDKMAN_DIR",
    "DOTNET_ROOT",
    // Python.
    "VIRTUAL_ENV",
    "PYTHONPATH",
    "PYTHONUSERBASE",
    "PYENV_ROOT",
    "PYENV_VERSION",
    "CONDA_PREFIX",
    "CONDA_DEFAULT_ENV",
    // JavaScript.
    "NVM_DIR",
    "NVM_BIN",
    "NODE_PATH",
    "NODE_ENV",
    "VOLTA_HOME",
    "FNM_DIR",
    "FNM_MULTISHELL_PATH",
    "PNPM_HOME",
    "BUN_INSTALL",
    "DENO_INSTALL_ROOT",
    // Others.
    "GEM_HOME",
    "GEM_PATH",
    "RBENV_ROOT",
    "RBENV_VERSION",
    "ASDF_DIR",
    "ASDF_DATA_DIR",
    "MISE_DATA_DIR",
    "OPAMROOT",
    "OPAM_SWITCH_PREFIX",
];

/// The same for all whose name begins so.
const PASSED_PREFIXES: &[&str] = &["LC_"];

/// Variables that lead to the network; a command gets them only if it may go there.
const PROXIES: &[&str] = &["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "FTP_PROXY", "NO_PROXY"];

/// What keeps tools from asking, paging, painting and calling home, each where the user did not name
/// the variable.
const SETTINGS: &[(&str, &str)] = &[
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
    ("CARGO_TERM_COLOR", "never"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GH_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("SYSTEMD_PAGER", "cat"),
    ("EDITOR", "true"),
    ("VISUAL", "true"),
    ("GIT_EDITOR", "true"),
    ("GIT_SEQUENCE_EDITOR", "true"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", "true"),
    ("SSH_ASKPASS", "true"),
    ("GCM_INTERACTIVE", "never"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("PIP_NO_INPUT", "1"),
    ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
    // Otherwise nothing is seen of a script until it has ended.
    ("PYTHONUNBUFFERED", "1"),
    ("npm_config_update_notifier", "false"),
    ("npm_config_fund", "false"),
    ("npm_config_audit", "false"),
];

/// Words of a name that tell of a key.
const KEY_WORDS: &[&str] =
    &["KEY", "KEYS", "AUTH", "PASS", "PAT", "CREDS", "COOKIE", "COOKIES", "JWT", "BEARER", "DSN"];

/// The same anywhere in a name.
const KEY_PARTS: &[&str] = &["SECRET", "TOKEN", "PASSW", "PASSPHRASE", "APIKEY", "CREDENTIAL"];

/// What commands get of these variables. `named` are the user's own additions: a name, or the
/// beginning of names with a `*` at its end. A whole name passes whatever it looks like.
pub fn of(
    variables: impl IntoIterator<Item = (String, String)>,
    named: &[String],
) -> BTreeMap<String, String> {
    let settings = SETTINGS.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let mut all: BTreeMap<String, String> = settings.collect();
    all.extend(variables.into_iter().filter(|(name, value)| passes(name, value, named)));
    all.entry("LANG".to_owned()).or_insert_with(|| "C.UTF-8".to_owned());
    all
}

/// True if this variable leads to the network and nowhere else.
pub(super) fn is_proxy(name: &str) -> bool {
    PROXIES.iter().any(|proxy| name.eq_ignore_ascii_case(proxy))
}

fn passes(name: &str, value: &str, named: &[String]) -> bool {
    if named.iter().any(|wanted| wanted == name) {
        return true;
    }
    let begins = |wanted: &String| wanted.strip_suffix('*').is_some_and(|it| name.starts_with(it));
    let is_known = PASSED.contains(&name)
        || PASSED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || is_proxy(name)
        || named.iter().any(begins);
    is_known && !looks_like_key(name) && !holds_credentials(value)
}

/// True if a variable of this name holds a key, as far as names tell.
pub fn looks_like_key(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let is_key = |word: &str| KEY_WORDS.contains(&word);
    name.split(|c: char| !c.is_ascii_alphanumeric()).any(is_key)
        || KEY_PARTS.iter().any(|part| name.contains(part))
}

/// True if there is an address with a user or a password in the value.
fn holds_credentials(value: &str) -> bool {
    value.split("://").skip(1).any(|rest| {
        let host = rest.split(['/', '?', '#', ' ', ',', '|']).next().unwrap_or_default();
        host.contains('@')
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn names(variables: &[(&str, &str)], named: &[&str]) -> Vec<String> {
        let owned = variables.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        let named: Vec<String> = named.iter().map(|name| (*name).to_owned()).collect();
        let bare = of([], &[]);
        of(owned, &named).into_keys().filter(|name| !bare.contains_key(name)).collect()
    }

    #[test]
    fn only_what_is_on_the_list_is_passed() {
        let variables =
            [("PATH", "/bin"), ("LC_ALL", "C"), ("GOFLAGS", "-v"), ("FOO", "x"), ("DISPLAY", ":0")];
        assert_eq!(names(&variables, &[]), ["GOFLAGS", "LC_ALL", "PATH"]);
        assert_eq!(names(&variables, &["FOO"]), ["FOO", "GOFLAGS", "LC_ALL", "PATH"]);
    }

    #[test]
    fn a_key_passes_only_by_its_whole_name() {
        for name in [
            "ANTHROPIC_API_KEY",
            "GITHUB_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "PGPASSWORD",
            "MY_PAT",
            "npm_config__auth",
            "SENTRY_DSN",
            "azureCredentials",
            "LC_KEY",
            "LC_SESSION_TOKEN",
        ] {
            let variables = [(name, "x")];
            assert_eq!(names(&variables, &[]), [] as [&str; 0], "{name}");
            assert_eq!(names(&variables, &["*"]), [] as [&str; 0], "{name}");
            assert_eq!(names(&variables, &[name]), [name]);
        }
        for name in ["GOPATH", "KEYBOARD", "PATH", "MONKEY", "COMPASS", "NODE_ENV", "AUTHOR"] {
            assert!(!looks_like_key(name), "{name}");
        }
    }

    #[test]
    fn the_beginning_of_names_passes_what_begins_so() {
        let variables = [("APP_MODE", "x"), ("APP_TOKEN", "x"), ("OTHER", "x")];
        assert_eq!(names(&variables, &["APP_*"]), ["APP_MODE"]);
    }

    #[test]
    fn an_address_with_a_password_is_left_out() {
        for value in ["http://u:p@host:1", "https://token@host/x", "direct,https://u:p@h"] {
            assert_eq!(names(&[("GOPROXY", value), ("https_proxy", value)], &[]), [] as [&str; 0]);
        }
        let plain = "https://proxy.example.org/a@b,direct";
        assert_eq!(
            names(&[("GOPROXY", plain), ("https_proxy", plain)], &[]),
            ["GOPROXY", "https_proxy"]
        );
    }

    #[test]
    fn a_setting_gives_way_to_what_the_user_named() {
        let pager = [("PAGER".to_owned(), "less".to_owned())];
        assert_eq!(of(pager.clone(), &[]).get("PAGER").unwrap(), "cat");
        assert_eq!(of(pager, &["PAGER".to_owned()]).get("PAGER").unwrap(), "less");
    }
}
