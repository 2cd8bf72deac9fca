//! Paths, as far as they can be judged without looking at a disk. Who opens a file resolves links and judges again.

/// What a path is to the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Inside an allowed folder.
    Inside,
    /// Somewhere else.
    Outside,
    /// Leaves the folder that it names by `..`.
    Escape,
    /// Keys, passwords, cookies.
    Secret,
    /// Stands for several files.
    Pattern,
}

/// Judges a path; a relative one lies in the working folder, which is allowed.
pub(crate) fn place(path: &str, allowed: &[String]) -> Place {
    let lower = path.trim().replace('\\', "/").to_lowercase();
    if is_secret(&lower) {
        return Place::Secret;
    }
    if path.chars().any(char::is_control) {
        return Place::Escape;
    }
    if lower.contains(['*', '?', '[', '{', '$', '`']) || lower.is_empty() {
        return Place::Pattern;
    }
    let is_absolute = lower.starts_with(['/', '~']) || lower.get(1..2) == Some(":");
    let Some(clean) = resolved(&path.trim().replace('\\', "/")) else { return Place::Escape };
    let inside = |folder: &String| {
        let folder = folder.trim_end_matches('/');
        clean == folder || clean.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
    };
    if is_absolute && !allowed.iter().any(inside) {
        return if lower.split('/').any(|part| part == "..") { Place::Escape } else { Place::Outside };
    }
    Place::Inside
}

/// The path without `.` and `..`; `None` when it climbs over its beginning.
fn resolved(path: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    let root = if path.starts_with('/') { "/" } else { "" };
    Some(format!("{root}{}", parts.join("/")))
}

/// Whether some part of a text is a path to keys, passwords or cookies.
pub(crate) fn is_secret(path: &str) -> bool {
    const PARTS: [&str; 22] = [
        ".ssh",
        ".gnupg",
        ".aws",
        ".azure",
        ".kube",
        ".docker",
        ".netrc",
        ".git-credentials",
        ".password-store",
        ".pgpass",
        ".npmrc",
        ".pypirc",
        ".env",
        "gcloud",
        "keychains",
        "keyrings",
        "shadow",
        "gshadow",
        "sudoers",
        "wallet.dat",
        "logins.json",
        "login data",
    ];
    const STARTS: [&str; 7] = ["id_rsa", "id_ed25519", "id_ecdsa", "id_dsa", ".env.", "cookies", "credentials"];
    const ENDS: [&str; 8] = [".pem", ".key", ".p12", ".pfx", ".kdbx", ".keystore", ".jks", "_history"];
    let lower = path.to_lowercase().replace('\\', "/");
    let parts = lower.split(['/', ' ', '"', '\'', '=']).map(|part| part.trim_end_matches(['.', ',']));
    let secret = |part: &str| {
        PARTS.contains(&part)
            || STARTS.iter().any(|start| part.starts_with(start))
            || ENDS.iter().any(|end| part.ends_with(end))
    };
    parts.clone().any(secret) || lower.contains("login data") || (lower.contains("/proc/") && lower.contains("environ"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_judged_after_they_are_resolved() {
        let allowed = ["/home/u/folder".to_owned()];
        let cases = [
            ("notes/today.txt", Place::Inside),
            ("notes/../today.txt", Place::Inside),
            ("notes/../../.bashrc", Place::Escape),
            ("/home/u/folder/a", Place::Inside),
            ("/home/u/folder2/a", Place::Outside),
            ("/home/u/folder/../x", Place::Escape),
            ("/home/u/.ssh/id_rsa", Place::Secret),
            ("*", Place::Pattern),
            ("~/x", Place::Outside),
            ("C:\\x", Place::Outside),
            ("a\0b", Place::Escape),
            ("x/.env", Place::Secret),
            ("..\\..\\x", Place::Escape),
            ("", Place::Pattern),
        ];
        for (path, expected) in cases {
            assert_eq!(place(path, &allowed), expected, "{path}");
        }
        assert!(is_secret("cat ~/.ssh/id_rsa") && !is_secret("environment.txt"));
    }
}
