#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use tempfile::TempDir;

use super::path::{MAX_PATH_BYTES, printable};
use super::scope::{Reach, reach};
use super::*;
use crate::domain::scope::PathScope;

fn opened() -> (TempDir, Workspace) {
    let base = TempDir::new().unwrap();
    let workspace = Workspace::open(base.path()).unwrap();
    (base, workspace)
}

#[test]
fn only_a_readable_folder_can_be_opened_and_errors_say_why() {
    let (base, _) = opened();
    let file = base.path().join("file");
    fs::write(&file, "").unwrap();
    let error = |path: PathBuf| Workspace::open(&path).unwrap_err().to_string();
    let missing = base.path().join("none");
    let right = format!("there is no folder {}; name one that exists with -C", missing.display());
    assert_eq!(error(missing), right);
    let right = format!("{} is not a folder; name one with -C", file.display());
    assert_eq!(error(file.clone()), right);
    assert!(error(file.join("below")).ends_with("is not a folder; name one with -C"));
    symlink("loop", base.path().join("loop")).unwrap();
    assert!(error(base.path().join("loop")).starts_with("cannot read the folder"));
}

#[test]
fn a_folder_without_read_permission_is_unreadable() {
    use std::os::unix::fs::PermissionsExt as _;
    let (base, _) = opened();
    let locked = base.path().join("locked");
    fs::create_dir(&locked).unwrap();
    for mode in [0o000, 0o100] {
        fs::set_permissions(&locked, fs::Permissions::from_mode(mode)).unwrap();
        let may_read_everything = fs::read_dir(&locked).is_ok();
        let result = Workspace::open(&locked);
        let refused = matches!(result, Err(WorkspaceError::Unreadable { .. }));
        assert!(refused || may_read_everything, "{mode:o}: {result:?}");
    }
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn a_folder_that_was_renamed_deleted_or_replaced_is_an_error_and_works_once_it_is_back() {
    let (base, _) = opened();
    let (here, there) = (base.path().join("here"), base.path().join("there"));
    fs::create_dir(&here).unwrap();
    fs::write(here.join("a"), "").unwrap();
    let workspace = Workspace::open(&here).unwrap();
    let all = [PathScope::all()];
    let gone = |when: &str| {
        let error = workspace.open_within(&all, "a").unwrap_err();
        assert!(matches!(error, jail::JailError::Gone(_)), "{when}: {error}");
        assert!(error.to_string().contains("deleted, renamed or replaced"), "{error}");
        assert_eq!(workspace.exists(&all, "a"), existence::Existence::Missing, "{when}");
        assert_eq!(workspace.ground(&all), Vec::<PathBuf>::new(), "{when}");
    };
    fs::rename(&here, &there).unwrap();
    gone("renamed");
    fs::create_dir(&here).unwrap();
    fs::write(here.join("a"), "other").unwrap();
    gone("replaced");
    fs::remove_dir_all(&here).unwrap();
    symlink("/", &here).unwrap();
    gone("replaced by a link");
    fs::remove_file(&here).unwrap();
    fs::rename(&there, &here).unwrap();
    assert_eq!(workspace.exists(&all, "a"), existence::Existence::File { lines: Some(0) });
    fs::remove_dir_all(&here).unwrap();
    gone("deleted");
}

#[test]
fn the_home_folder_is_shown_as_a_tilde() {
    let (base, mut workspace) = opened();
    let real = base.path().canonicalize().unwrap();
    workspace.home = real.parent().map(Path::to_owned);
    let name = real.file_name().unwrap().to_str().unwrap();
    assert_eq!(workspace.display_name(), format!("~/{name}"));
    workspace.home = Some(real.clone());
    assert_eq!(workspace.display_name(), "~");
    workspace.home = Some(real.join("else"));
    assert_eq!(workspace.display_name(), real.to_str().unwrap());
}

#[test]
fn the_branch_is_read_from_the_files_of_the_repository() {
    let (base, workspace) = opened();
    let write = |path: &str, text: &str| {
        let path = base.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    assert_eq!(workspace.branch(), None);
    let commit = "0123456789abcdef0123456789abcdef01234567";
    for (head, right) in [
        ("ref: refs/heads/main\n", Some("main")),
        ("ref: refs/heads/feature/x\n", Some("feature/x")),
        ("ref: refs/heads/\u{1b}[31mred\n", Some("[31mred")),
        (commit, Some("01234567")),
        ("ref: refs/heads/.invalid\n", None),
        ("ref: refs/heads/\n", None),
        ("anything else", None),
        ("", None),
    ] {
        write(".git/HEAD", head);
        assert_eq!(workspace.branch().as_deref(), right, "{head:?}");
    }
    write(".git/HEAD", "ref: refs/heads/above\n");
    fs::create_dir(base.path().join("below")).unwrap();
    let below = Workspace::open(&base.path().join("below")).unwrap();
    assert_eq!(below.branch().as_deref(), Some("above"));
    write("below/.git", "gitdir: ../elsewhere/worktrees/b\n");
    write("elsewhere/worktrees/b/HEAD", "ref: refs/heads/of-worktree\n");
    assert_eq!(below.branch().as_deref(), Some("of-worktree"));
    fs::remove_file(base.path().join("elsewhere/worktrees/b/HEAD")).unwrap();
    symlink("/dev/zero", base.path().join("elsewhere/worktrees/b/HEAD")).unwrap();
    assert_eq!(below.branch(), None);
}

#[test]
fn paths_are_read_as_components() {
    let (base, workspace) = opened();
    let real = base.path().canonicalize().unwrap();
    let root = real.to_str().unwrap();
    let long = "x".repeat(MAX_PATH_BYTES + 1);
    let table = [
        ("", Ok(".")),
        (".", Ok(".")),
        ("./", Ok(".")),
        ("a", Ok("a")),
        ("./a//b/./c/", Ok("a/b/c")),
        (" a ", Ok(" a ")),
        ("a\\..\\b", Ok("a\\..\\b")),
        ("...", Ok("...")),
        (root, Ok(".")),
        (&format!("{root}/a/b"), Ok("a/b")),
        (&format!("{root}//a/"), Ok("a")),
        ("a\0b", Err(PathError::Nul)),
        ("..", Err(PathError::Parent("..".to_owned()))),
        ("a/../b", Err(PathError::Parent("a/../b".to_owned()))),
        ("/etc", Err(PathError::Outside("/etc".to_owned()))),
        ("/", Err(PathError::Outside("/".to_owned()))),
        (&format!("{root}x"), Err(PathError::Outside(format!("{root}x")))),
        (&long, Err(PathError::TooLong(long.len()))),
    ];
    for (given, right) in table {
        assert_eq!(workspace.normalise(given), right.map(str::to_owned), "{given:?}");
    }
}

#[test]
fn quoted_paths_stay_on_one_line_and_short() {
    assert_eq!(printable("a\nb\u{1b}\u{202e}\t子"), "a\\nb\\u{1b}\\u{202e}\\t子");
    assert_eq!(printable(&"子".repeat(300)), "子".repeat(200) + "…");
}

#[test]
fn a_path_is_inside_above_or_outside_of_scopes_by_components() {
    let scopes: Vec<PathScope> = ["src/a", "src", "docs/x.md", "docs/y/z"]
        .map(|text| PathScope::parse(text).unwrap())
        .into();
    let inside = |index: usize| Reach::Inside(&scopes[index]);
    let above = |paths: &[&str]| Reach::Above(paths.iter().map(|&p| p.to_owned()).collect());
    let table = [
        ("src", inside(1)),
        ("src/a", inside(1)),
        ("src/a/b", inside(1)),
        ("docs/x.md", inside(2)),
        ("docs/y/z/deep", inside(3)),
        (".", above(&["docs/x.md", "docs/y/z", "src"])),
        ("docs", above(&["docs/x.md", "docs/y/z"])),
        ("docs/y", above(&["docs/y/z"])),
        ("srcx", Reach::Outside),
        ("sr", Reach::Outside),
        ("SRC", Reach::Outside),
        ("docs/x.mdx", Reach::Outside),
        ("docs/z", Reach::Outside),
    ];
    for (path, right) in table {
        assert_eq!(reach(&scopes, path), right, "{path}");
    }
    assert_eq!(reach(&[PathScope::all()], "."), Reach::Inside(&PathScope::all()));
    assert_eq!(reach(&[], "."), Reach::Outside);
}

#[test]
fn an_added_folder_is_reached_by_its_absolute_path_and_nothing_beside_it() {
    let (base, _) = opened();
    let base = base.path().canonicalize().unwrap();
    for folder in ["ws/in", "data/deep", "data2"] {
        fs::create_dir_all(base.join(folder)).unwrap();
        fs::write(base.join(folder).join("a"), "1\n2").unwrap();
    }
    symlink("data", base.join("door")).unwrap();
    let extra = ["data/deep", "door", "ws/in"].map(|name| base.join(name));
    let workspace = Workspace::open_with(&base.join("ws"), &extra).unwrap();
    let data = base.join("data").to_str().unwrap().to_owned();
    let scopes = workspace.scopes();
    assert_eq!(crate::domain::scope::in_words(&scopes), format!("., {data}"));
    let path = |rest: &str| base.join(rest).to_str().unwrap().to_owned();
    let table = [
        (path("ws/in/a"), Ok("in/a".to_owned())),
        (path("data"), Ok(data.clone())),
        (path("data/deep//a"), Ok(format!("{data}/deep/a"))),
        (path("door/deep/a"), Ok(format!("{data}/deep/a"))),
        (path("data2/a"), Err(PathError::Outside(path("data2/a")))),
        (path("data/../data2"), Err(PathError::Parent(path("data/../data2")))),
        (path(""), Err(PathError::Outside(path("")))),
    ];
    for (given, right) in table {
        assert_eq!(workspace.normalise(&given), right, "{given}");
    }
    let deep = format!("{data}/deep/a");
    let two = existence::Existence::File { lines: Some(2) };
    assert_eq!(workspace.exists(&scopes, &deep), two);
    assert_eq!(workspace.exists(&[PathScope::all()], &deep), existence::Existence::OutOfScope);
    let part = [PathScope::parse(&format!("{data}/deep")).unwrap()];
    assert_eq!(workspace.exists(&part, &deep), two);
    assert_eq!(workspace.exists(&part, "in/a"), existence::Existence::OutOfScope);
    assert_eq!(reach(&part, "."), Reach::Above(vec![format!("{data}/deep")]));
    assert_eq!(reach(&part, &data), Reach::Above(vec![format!("{data}/deep")]));
    assert_eq!(reach(&scopes, "in"), Reach::Inside(&scopes[0]));
    assert_eq!(workspace.real_path(&scopes, &path("door/deep/a")), path("door/deep/a"));
    assert_eq!(workspace.real_path(&scopes, &deep), deep);
}

#[test]
fn a_path_leads_through_links_inside_also_to_what_is_not_there_yet() {
    let (base, workspace) = opened();
    fs::create_dir_all(base.path().join("secret/deep")).unwrap();
    fs::write(base.path().join("secret/key"), "").unwrap();
    for (link, target) in [
        ("file", "secret/key"),
        ("folder", "secret"),
        ("chain", "folder/none"),
        ("secret/up", "../new"),
        ("round", "turn"),
        ("turn", "round"),
        ("out", "/etc/passwd"),
        ("up", "../none"),
    ] {
        symlink(target, base.path().join(link)).unwrap();
    }
    for (path, right) in [
        ("file", "secret/key"),
        ("folder/key", "secret/key"),
        ("folder/none", "secret/none"),
        ("folder/none/below", "secret/none/below"),
        ("chain", "secret/none"),
        ("folder/up", "new"),
        ("none/below", "none/below"),
        ("round", "round"),
        ("out", "out"),
        (".", "."),
    ] {
        assert_eq!(workspace.leads_to(&workspace.scopes(), path), right, "{path}");
    }
    let scopes = [PathScope::parse("secret").unwrap()];
    assert_eq!(workspace.leads_to(&scopes, "file"), "file", "not for this run");
}

#[test]
fn a_folder_that_no_scope_can_name_is_not_added() {
    let (base, _) = opened();
    let odd = base.path().join("a[b]");
    fs::create_dir(&odd).unwrap();
    fs::create_dir(base.path().join("ws")).unwrap();
    let error = Workspace::open_with(&base.path().join("ws"), &[odd]).unwrap_err();
    assert!(matches!(error, WorkspaceError::Unnameable(_)), "{error}");
}

#[test]
fn the_ground_of_scopes_holds_real_places_only() {
    let (base, _) = opened();
    let base = base.path().canonicalize().unwrap();
    for folder in ["ws/src/deep", "ws/docs", "data/part"] {
        fs::create_dir_all(base.join(folder)).unwrap();
    }
    fs::write(base.join("ws/docs/a.md"), "").unwrap();
    symlink("src", base.join("ws/link")).unwrap();
    symlink("/etc", base.join("ws/out")).unwrap();
    symlink("a.md", base.join("ws/docs/link.md")).unwrap();
    let workspace = Workspace::open_with(&base.join("ws"), &[base.join("data")]).unwrap();
    let ground = |texts: &[&str]| {
        let scopes: Vec<_> = texts.iter().map(|text| PathScope::parse(text).unwrap()).collect();
        let places = workspace.ground(&scopes);
        let below = |place: PathBuf| place.strip_prefix(&base).unwrap().display().to_string();
        places.into_iter().map(below).collect::<Vec<_>>().join(" ")
    };
    let part = base.join("data/part").to_str().unwrap().to_owned();
    assert_eq!(ground(&["."]), "ws");
    assert_eq!(ground(&[".", "src", &part]), "ws data/part");
    assert_eq!(ground(&["src/deep", "src", "docs/a.md"]), "ws/src ws/docs/a.md");
    assert_eq!(ground(&["link", "link/deep", "out", "out/passwd", "docs/link.md", "none"]), "");
    assert_eq!(ground(&["/etc", "src"]), "ws/src");
    assert_eq!(ground(&[]), "");
}
