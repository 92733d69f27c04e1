//! Which files usually hold secrets, told by their names alone. It knows no content and looks at no
//! file.

/// Folders of which everything is taken for secret.
const FOLDERS: [&str; 4] = [".ssh", ".gnupg", ".aws", ".kube"];
/// Files by their whole names, without an ending such as `.toml` or `.json`.
const NAMES: [&str; 17] = [
    ".netrc",
    "_netrc",
    ".npmrc",
    ".yarnrc",
    ".pypirc",
    ".pgpass",
    ".my",
    ".htpasswd",
    ".dockercfg",
    ".git-credentials",
    "credentials",
    ".credentials",
    "secret",
    "secrets",
    "id_rsa",
    "id_ed25519",
    "id_ecdsa",
];
/// Endings of files with keys.
const ENDINGS: [&str; 10] =
    ["pem", "key", "p12", "pfx", "jks", "keystore", "kdbx", "ppk", "gpg", "age"];
/// Endings behind a whole name that leave it what it is.
const FORMATS: [&str; 8] = ["toml", "json", "yaml", "yml", "ini", "cnf", "txt", "xml"];

/// True if a file at this path, with `/` between its names, is one that usually holds secrets.
pub fn looks_secret(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let mut names = path.rsplit('/');
    let name = names.next().unwrap_or_default();
    if names.any(|folder| FOLDERS.contains(&folder)) {
        return true;
    }
    let (stem, ending) = match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() => (stem, ending),
        Some(_) | None => (name, ""),
    };
    let is_public = ending == "pub";
    let is_environment = name == ".env" || name.starts_with(".env.") || name == ".envrc";
    let whole = if FORMATS.contains(&ending) { stem } else { name };
    let is_key = name.starts_with("id_rsa") || name.starts_with("id_ed25519");
    is_environment
        || ENDINGS.contains(&ending)
        || ending == "env"
        || !is_public && (NAMES.contains(&whole) || is_key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_usually_hold_secrets_are_told_by_their_names() {
        for path in [
            ".env",
            "app/.env.local",
            ".ENV",
            ".envrc",
            "prod.env",
            "tls/server.pem",
            "server.KEY",
            "id_rsa",
            "deploy/id_ed25519",
            "id_rsa.bak",
            ".npmrc",
            "sub/.netrc",
            ".aws/config",
            "/home/u/.ssh/known_hosts",
            "credentials",
            "credentials.json",
            "secrets.yml",
            "store.jks",
        ] {
            assert!(looks_secret(path), "{path}");
        }
        for path in [
            "",
            "src/main.rs",
            "environment.py",
            "keys.rs",
            "key",
            "monkey",
            "id_rsa.pub",
            "docs/secrets.md",
            "src/credentials.rs",
            "ssh/config",
            "env/lib.py",
        ] {
            assert!(!looks_secret(path), "{path}");
        }
    }
}
