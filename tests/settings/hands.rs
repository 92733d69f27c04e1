//! What runs may do and touch, from flags and files; and that a project can only make it less.

use std::fs;

use offshoot::domain::approval::{ApprovePolicy, Asker, Mode};
use offshoot::domain::rules::Rules;
use offshoot::settings::Key;

use super::world::{World, some, told, warnings};

#[test]
fn the_mode_is_ask_until_somebody_says_otherwise() {
    let cases: [(&str, &str, &[&str], Mode, &str); 8] = [
        ("", "", &[], Mode::Ask, "default"),
        ("auto-edit", "", &[], Mode::AutoEdit, "user:1"),
        ("auto-edit", "read-only", &[], Mode::ReadOnly, "project:1"),
        ("read-only", "auto-edit", &[], Mode::ReadOnly, "user:1"),
        ("", "full-access", &[], Mode::Ask, "default"),
        ("full-access", "ask", &[], Mode::Ask, "project:1"),
        (
            "",
            "read-only",
            &["--permission-mode", "full-access"],
            Mode::FullAccess,
            "--permission-mode",
        ),
        (
            "full-access",
            "",
            &["--permission-mode", "read-only"],
            Mode::ReadOnly,
            "--permission-mode",
        ),
    ];
    for (user, project, flags, mode, origin) in cases {
        let mut world = World::new();
        if !user.is_empty() {
            world = world.users(&format!("permission_mode = \"{user}\"\n"));
        }
        if !project.is_empty() {
            world = world.projects(&format!("permission_mode = \"{project}\"\n"));
        }
        let settings = world.settings(flags);
        assert_eq!(settings.hands.mode, mode, "{user} {project} {flags:?}");
        assert_eq!(told(&settings, Key::PermissionMode), some(mode.name(), origin));
    }
}

#[test]
fn a_run_without_a_screen_asks_nobody_and_lets_through_what_was_typed() {
    let asker = |arguments: &[&str]| World::new().settings(arguments).hands.asker;
    assert_eq!(asker(&[]), Asker::Person);
    assert_eq!(asker(&["run", "q"]), Asker::Nobody(ApprovePolicy::Never));
    for (word, policy) in [
        ("never", ApprovePolicy::Never),
        ("edits", ApprovePolicy::Edits),
        ("all", ApprovePolicy::All),
    ] {
        assert_eq!(asker(&["run", "q", "--approve", word]), Asker::Nobody(policy));
    }
}

#[test]
fn rules_of_all_files_are_added_up_and_a_projects_only_make_calls_harder() {
    let world = World::new()
        .users("[permissions]\nallow = [\"bash\", \"run_tests\"]\ndeny = [\"bash(rm)\"]\n")
        .projects(
            "[permissions]\nallow = [\"write_file\"]\nask = [\"run_tests\"]\n\
             deny = [\"read_file(.env)\", \"nonsense(\"]\n",
        );
    let settings = world.settings(&[]);
    let expected =
        Rules::parse(&["bash", "run_tests"], &["run_tests"], &["bash(rm)", "read_file(.env)"]);
    assert_eq!(settings.hands.rules, expected.unwrap(), "before anything is trusted");
    let said = warnings(&settings);
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].contains("cannot set permissions.allow, "), "{said:?}");
    assert!(said[1].contains("`nonsense(` is no rule") && said[1].ends_with("so it is ignored"));
    let (value, origin) = told(&settings, Key::PermissionsDeny);
    assert_eq!(value.unwrap(), "bash(rm), read_file(.env), nonsense(");
    assert!(origin.contains("config.toml:3 and ") && origin.ends_with("config.toml:4"), "{origin}");
    assert_eq!(world.trusted().settings(&[]).hands.rules.allow.len(), 2, "trust widens no rule");
}

#[test]
fn folders_beside_the_workspace_are_added_up_and_have_to_be_there() {
    let world = World::new().users("add_dirs = [\"~/shared\", \"near\", \"/no/such\"]\n");
    let home = world.home.path().canonicalize().unwrap();
    let near = home.join(".config/offshoot/near");
    for folder in [home.join("shared/deep"), near.clone(), world.project.path().join("inside")] {
        fs::create_dir_all(folder).unwrap();
    }
    let settings = world.settings(&[]);
    assert_eq!(settings.hands.add_dirs, [home.join("shared"), near.clone()]);
    assert!(warnings(&settings)[0].contains("add_dirs /no/such is left out: "));

    let deep = home.join("shared/deep");
    let typed = ["--add-dir", deep.to_str().unwrap(), "--add-dir", "inside", "--add-dir", "."];
    let settings = world.settings(&typed);
    assert_eq!(settings.hands.add_dirs, [home.join("shared"), near], "all of it is there already");
    assert!(told(&settings, Key::AddDirs).1.ends_with(" and --add-dir"));
    let wider = world.settings(&["--add-dir", home.to_str().unwrap()]);
    assert_eq!(wider.hands.add_dirs, [home], "the wider one holds the others");
}

#[test]
fn a_typed_folder_that_cannot_be_used_ends_the_start() {
    let world = World::new();
    fs::write(world.project.path().join("file"), "x").unwrap();
    for (typed, why) in [("missing", "No such file"), ("file", "it is no folder")] {
        let error = world.read(&["--add-dir", typed]).unwrap_err();
        assert_eq!(error.exit().code(), 1);
        let said = error.to_string();
        assert!(said.contains(&format!("cannot add {typed}: {why}")), "{said}");
        assert!(said.contains("--add-dir DIR"), "{said}");
    }
}

#[cfg(unix)]
#[test]
fn a_link_to_a_folder_is_added_as_what_it_leads_to() {
    let world = World::new();
    let real = world.home.path().canonicalize().unwrap().join("real");
    fs::create_dir(&real).unwrap();
    std::os::unix::fs::symlink(&real, world.project.path().join("link")).unwrap();
    assert_eq!(world.settings(&["--add-dir", "link"]).hands.add_dirs, [real]);
}

#[test]
fn what_commands_may_touch_is_the_users_to_say() {
    let world = World::new().users(
        "test_command = \"make check\"\n[fence]\nread = [\"~/in\", \"/no/such\"]\n\
         write = [\"~/out\"]\nunix = \"workspace\"\nnetwork = true\n\
         [environment]\npass = [\"JAVA_HOME\", \"_x1\"]\n",
    );
    let home = world.home.path().canonicalize().unwrap();
    fs::create_dir(home.join("in")).unwrap();
    fs::write(home.join("out"), "a file counts as well").unwrap();
    let settings = world.settings(&[]);
    let hands = &settings.hands;
    assert_eq!(hands.test_command.as_deref(), Some("make check"));
    assert_eq!(hands.fence.readable, [home.join("in")]);
    assert_eq!(hands.fence.writable, [home.join("out")]);
    assert!(hands.fence.network);
    assert_eq!(hands.pass, ["JAVA_HOME", "_x1"]);
    let said = warnings(&settings);
    assert!(said[0].contains("fence.read /no/such is left out"), "{said:?}");
    assert!(said[1].contains("fence.unix = workspace has no effect"), "{said:?}");
}

#[test]
fn the_environment_is_kept_for_commands_and_its_values_are_not_shown() {
    let world = World::new().with("PLAIN_NAME", "hunter22");
    let settings = world.settings(&[]);
    let pair = ("PLAIN_NAME".to_owned(), "hunter22".to_owned());
    assert!(settings.variables.0.contains(&pair));
    let shown = format!("{settings:?}");
    assert!(shown.contains("PLAIN_NAME") && !shown.contains("hunter22"), "{shown}");
}
