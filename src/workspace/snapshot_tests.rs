#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use tempfile::TempDir;

use super::*;
use crate::domain::event::Change::{self, Added, Deleted, Modified};

/// A folder with a tracker that has looked at it once.
struct Ground {
    folder: TempDir,
    workspace: Workspace,
    tracker: Tracker,
}

impl Ground {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = TempDir::new().unwrap();
        let workspace = Workspace::open(folder.path()).unwrap();
        let ground = Self { folder, workspace, tracker: Tracker::new(Shadow::in_memory()) };
        for (path, text) in files {
            ground.write(path, text);
        }
        ground.refresh();
        ground
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        fs::write(self.path(path), text).unwrap();
    }

    fn refresh(&self) -> Refresh {
        self.tracker.refresh(&self.workspace, &CancellationToken::new())
    }

    fn changes(&self) -> Vec<(String, Change)> {
        let refresh = self.refresh();
        assert!(refresh.complete && refresh.unseen.is_none());
        let mut found: Vec<_> = refresh
            .differences
            .into_iter()
            .map(|found| (found.path.clone(), found.change().unwrap()))
            .collect();
        found.sort_by(|a, b| a.0.cmp(&b.0));
        assert_eq!(self.refresh().differences, [], "a second look finds nothing");
        found
    }

    fn look_at(&self, path: &str, looked: bool) -> Option<Change> {
        self.tracker.look_at(&self.workspace, path, looked).and_then(|found| found.change())
    }
}

fn named(list: &[(&str, Change)]) -> Vec<(String, Change)> {
    list.iter().map(|(path, change)| ((*path).to_owned(), *change)).collect()
}

#[test]
fn the_first_look_finds_no_changes() {
    let ground = Ground::new(&[("a", "1"), ("b/c", "2")]);
    assert_eq!(ground.changes(), []);
}

#[test]
fn added_changed_deleted_and_renamed_files_are_found() {
    let ground = Ground::new(&[("a", "1"), ("b", "2"), ("c/d", "3"), ("e", "4")]);
    ground.write("new/deep/file", "n");
    ground.write(".dotted", "n");
    ground.write("a", "other");
    fs::remove_dir_all(ground.path("c")).unwrap();
    fs::rename(ground.path("e"), ground.path("f")).unwrap();
    let right = [
        (".dotted", Added),
        ("a", Modified),
        ("c/d", Deleted),
        ("e", Deleted),
        ("f", Added),
        ("new/deep/file", Added),
    ];
    assert_eq!(ground.changes(), named(&right));
}

#[test]
fn a_touched_file_with_equal_bytes_is_no_change_and_one_of_equal_size_is() {
    let ground = Ground::new(&[("same", "1"), ("other", "1")]);
    ground.write("same", "1");
    ground.write("other", "2");
    assert_eq!(ground.changes(), named(&[("other", Modified)]));
}

#[test]
fn a_change_that_puts_the_old_times_back_is_found() {
    let ground = Ground::new(&[("a", "1")]);
    let time = ground.path("a").metadata().unwrap().modified().unwrap();
    ground.write("a", "2");
    fs::File::options().write(true).open(ground.path("a")).unwrap().set_modified(time).unwrap();
    assert_eq!(ground.changes(), named(&[("a", Modified)]));
}

#[test]
fn modes_links_and_kinds_are_changes() {
    let ground = Ground::new(&[("mode", "1"), ("kind", "2"), ("pipe", "3"), ("folder", "4")]);
    symlink("mode", ground.path("link")).unwrap();
    ground.refresh();
    fs::set_permissions(ground.path("mode"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::remove_file(ground.path("link")).unwrap();
    symlink("elsewhere", ground.path("link")).unwrap();
    fs::remove_file(ground.path("kind")).unwrap();
    symlink("mode", ground.path("kind")).unwrap();
    fs::remove_file(ground.path("pipe")).unwrap();
    let pipe = std::process::Command::new("mkfifo").arg(ground.path("pipe")).status().unwrap();
    assert!(pipe.success());
    fs::remove_file(ground.path("folder")).unwrap();
    ground.write("folder/inside", "5");
    let right = [
        ("folder", Deleted),
        ("folder/inside", Added),
        ("kind", Modified),
        ("link", Modified),
        ("mode", Modified),
        ("pipe", Modified),
    ];
    assert_eq!(ground.changes(), named(&right));
}

#[test]
fn a_folder_that_became_a_link_has_lost_its_files() {
    let ground = Ground::new(&[("a/x", "1"), ("b/x", "1")]);
    fs::remove_dir_all(ground.path("a")).unwrap();
    symlink("b", ground.path("a")).unwrap();
    assert_eq!(ground.changes(), named(&[("a", Added), ("a/x", Deleted)]));
}

#[test]
fn what_git_ignores_and_git_itself_are_left_out() {
    let ground = Ground::new(&[(".gitignore", "target\n*.log\n"), ("target/x", "1")]);
    ground.write("target/y", "2");
    ground.write("a.log", "3");
    ground.write(".git/index", "4");
    ground.write("sub/.git/HEAD", "5");
    assert_eq!(ground.changes(), []);
}

#[test]
fn a_file_that_hides_things_from_a_search_hides_no_change() {
    let ground = Ground::new(&[(".ignore", "*\n"), ("a", "1")]);
    ground.write("a", "2");
    assert_eq!(ground.changes(), named(&[("a", Modified)]));
}

#[test]
fn a_new_rule_hides_no_change_of_a_known_file() {
    let ground = Ground::new(&[("a", "1"), ("b", "2")]);
    ground.write(".gitignore", "*\n");
    ground.write("a", "other");
    fs::remove_file(ground.path("b")).unwrap();
    let right = [("a", Modified), ("b", Deleted)];
    assert_eq!(ground.changes(), named(&right), "the rule hides itself, as it does from git");
    ground.write("a", "again");
    assert_eq!(ground.changes(), named(&[("a", Modified)]));
}

#[test]
fn what_comes_to_light_with_a_removed_rule_is_nobodys_doing() {
    let ground = Ground::new(&[(".gitignore", "old\nout\n"), ("old", "1"), ("out/deep/x", "2")]);
    // The clock of files is not to be trusted to the second.
    ground.tracker.lock().look_began = now_ns() + 2 * CLOCK_NS;
    ground.write(".gitignore", "\n");
    assert_eq!(ground.changes(), named(&[(".gitignore", Modified)]));
    ground.write("out/deep/x", "3");
    assert_eq!(ground.changes(), named(&[("out/deep/x", Modified)]));
}

#[test]
fn a_named_file_is_followed_even_if_it_is_ignored() {
    let ground = Ground::new(&[(".gitignore", "out\n"), ("out/a", "1")]);
    assert_eq!(ground.look_at("out/a", false), Some(Modified), "nobody looked before");
    ground.write("out/a", "2");
    assert_eq!(ground.look_at("out/a", true), Some(Modified));
    assert_eq!(ground.look_at("out/a", true), None);
    assert_eq!(ground.look_at("out/b", false), None);
    ground.write("out/b", "1");
    assert_eq!(ground.look_at("out/b", true), Some(Added));
    fs::remove_file(ground.path("out/b")).unwrap();
    assert_eq!(ground.changes(), named(&[("out/b", Deleted)]), "what is known stays known");
}

#[test]
fn a_file_is_named_by_where_it_really_is() {
    let ground = Ground::new(&[("real/a", "1")]);
    symlink("real", ground.path("way")).unwrap();
    symlink("real/a", ground.path("to_a")).unwrap();
    symlink("/etc", ground.path("out")).unwrap();
    ground.refresh();
    for (path, text) in [("way/a", "2"), ("to_a", "3")] {
        ground.write("real/a", text);
        let found = ground.tracker.look_at(&ground.workspace, path, true).unwrap();
        assert_eq!(found.path, "real/a");
    }
    ground.write("real/new/b", "4");
    let found = ground.tracker.look_at(&ground.workspace, "way/new/b", true).unwrap();
    assert_eq!((found.path.as_str(), found.change()), ("real/new/b", Some(Added)));
    assert_eq!(ground.look_at("out/passwd", true), None, "nothing outside is read");
    assert_eq!(ground.look_at(".", true), None);
}

#[test]
fn added_folders_are_followed_by_their_whole_paths() {
    let (folder, added) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let real = added.path().canonicalize().unwrap();
    fs::write(real.join("a"), "1").unwrap();
    let workspace = Workspace::open_with(folder.path(), std::slice::from_ref(&real)).unwrap();
    let tracker = Tracker::new(Shadow::in_memory());
    let cancel = CancellationToken::new();
    tracker.refresh(&workspace, &cancel);
    fs::write(real.join("a"), "2").unwrap();
    let found = tracker.refresh(&workspace, &cancel).differences;
    let paths: Vec<_> = found.iter().map(|found| found.path.clone()).collect();
    assert_eq!(paths, [real.join("a").display().to_string()]);
    fs::write(real.join("b"), "1").unwrap();
    let path = real.join("b").display().to_string();
    let found = tracker.look_at(&workspace, &path, true).unwrap();
    assert_eq!((&found.path, found.change()), (&path, Some(Added)));
}

#[test]
fn copies_are_kept_of_before_and_after() {
    let ground = Ground::new(&[("a", "one")]);
    ground.write("a", "two");
    let found = ground.refresh().differences.pop().unwrap();
    let read =
        |state: Option<FileState>| ground.tracker.content(&state.unwrap().sha256.unwrap()).unwrap();
    assert_eq!((read(found.before), read(found.after)), (b"one".to_vec(), b"two".to_vec()));
}

#[test]
fn a_large_file_is_seen_to_change_and_not_copied() {
    let large = "x".repeat(1024 * 1024 + 1);
    let ground = Ground::new(&[("large", &large)]);
    assert_eq!(ground.tracker.take_left_out(), 1);
    assert_eq!(ground.changes(), []);
    ground.write("large", &large.replace('x', "y"));
    assert_eq!(ground.changes(), named(&[("large", Modified)]));
    let sha = Sha::of(large.replace('x', "y"));
    assert_eq!(ground.tracker.content(&sha), None);
}

#[test]
fn a_cancelled_look_says_so_and_blames_nobody_later() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("a"), "1").unwrap();
    let workspace = Workspace::open(folder.path()).unwrap();
    let tracker = Tracker::new(Shadow::in_memory());
    let cancel = CancellationToken::new();
    cancel.cancel();
    let refresh = tracker.refresh(&workspace, &cancel);
    assert!(!refresh.complete && refresh.differences.is_empty());
    tracker.lock().look_began = now_ns() + 2 * CLOCK_NS;
    assert_eq!(tracker.refresh(&workspace, &CancellationToken::new()).differences, []);
}

#[test]
fn folders_deeper_than_any_project_are_counted_not_entered() {
    let ground = Ground::new(&[("a", "1")]);
    let mut path = ground.folder.path().to_owned();
    for _ in 0..200 {
        path.push("d");
    }
    fs::create_dir_all(&path).unwrap();
    let refresh = ground.refresh();
    assert!(refresh.complete && refresh.unseen.unwrap().contains("folder"));
}

#[test]
fn a_name_that_is_no_text_is_followed() {
    use std::os::unix::ffi::OsStrExt as _;
    let ground = Ground::new(&[("a", "1")]);
    let name = OsStr::from_bytes(b"b\xff");
    fs::write(ground.folder.path().join(name), "1").unwrap();
    assert_eq!(ground.changes(), named(&[("b\u{fffd}", Added)]));
    fs::write(ground.folder.path().join(name), "2").unwrap();
    assert_eq!(ground.changes(), named(&[("b\u{fffd}", Modified)]));
}
