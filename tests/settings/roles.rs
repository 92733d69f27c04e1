//! Roles in files: whose count, what they can take away, and how bad ones are named.

use std::fs;

use offshoot::domain::budget::Preset;
use offshoot::domain::role::{Permission, Role, RoleTable};
use offshoot::domain::role_file::{RoleSource, TOOLS};
use offshoot::settings::Settings;
use offshoot::tool::toolbox::Toolbox;

use crate::world::World;

const BODY: &str = "You look at locks.";

fn file(head: &str) -> String {
    format!("---\n{head}\n---\n{BODY}\n")
}

impl World {
    /// A role in the user's own folder.
    fn agent(self, name: &str, text: impl AsRef<[u8]>) -> Self {
        let folder = self.home.path().join(".config/offshoot/agents");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(name), text).unwrap();
        self
    }
}

fn table(settings: &Settings) -> RoleTable {
    RoleTable::with_files(Preset::Normal, &settings.roles, &mut Vec::new())
}

fn role(settings: &Settings, name: &str) -> Role {
    table(settings).get(name).unwrap_or_else(|| panic!("no {name}: {:?}", doubts(settings))).clone()
}

/// What was said about files of roles, without the folder.
fn doubts(settings: &Settings) -> Vec<String> {
    let those = settings.remarks.iter().filter(|remark| remark.code == "ROLE_FILE");
    let name = |text: &str| text.split_once("/agents/").map_or(text, |(_, rest)| rest).to_owned();
    those.map(|remark| name(&remark.text)).collect()
}

#[test]
fn a_users_file_is_a_role_with_what_its_tools_need() {
    let head = "name: Lock-Expert\ndescription: \"looks at locks: all of them\"\n\
                tools: Read, Grep, Glob, Edit, MultiEdit, Bash, Task\nmodel: inherit\ncolor: red";
    let settings = World::new().agent("x.md", file(head)).settings(&[]);
    let role = role(&settings, "lock-expert");
    assert_eq!(role.description, "looks at locks: all of them");
    assert_eq!(role.prompt, BODY);
    assert_eq!(role.tools, ["read_file", "search", "list_files", "edit_file", "bash"]);
    let permissions: Vec<Permission> = role.permissions.iter().copied().collect();
    assert_eq!(permissions, [Permission::Read, Permission::Write, Permission::Execute]);
    assert_eq!(role.budget, Preset::Normal.worker(), "who changes things gets a worker's limits");
    assert_eq!((role.model, role.models.len()), (None, 0));
    assert!(matches!(role.source, RoleSource::User(_)));
    assert!(doubts(&settings).is_empty(), "{:?}", doubts(&settings));
}

#[test]
fn without_a_line_of_tools_a_role_can_look_and_nothing_else() {
    for head in [
        "name: a\ndescription: d",
        "name: a\ndescription: d\ntools:",
        "name: a\ndescription: d\ntools:\n  - LS\n  - Read\n  - Grep\n  - WebFetch",
        "name: a\ndescription: d\ntools: Read, Grep, LS, Bash(git:*), mcp__x__y",
        "name: a\ndescription: d\ntools: [Read, Grep, LS, Write]\ndisallowedTools: Write",
        "name: a\ndescription: d\ntools: Read, Grep, LS\ndisallowedTools: mcp__x__y, WebFetch",
    ] {
        let settings = World::new().agent("a.md", file(head)).settings(&[]);
        let role = role(&settings, "a");
        assert_eq!(role.permissions.iter().copied().collect::<Vec<_>>(), [Permission::Read]);
        assert_eq!(role.tools.len(), 3, "{head}: {:?}", role.tools);
        let named = doubts(&settings).concat();
        for unknown in ["WebFetch", "Bash(git:*)", "mcp__x__y"] {
            assert_eq!(named.contains(unknown), head.contains(unknown), "{named}");
        }
    }
}

#[test]
fn a_file_of_a_built_in_name_narrows_it_and_never_widens_it() {
    let world = World::new()
        .agent("r.md", file("name: researcher\ndescription: mine\ntools: Read, Bash, Write"))
        .own("agents/w.md", &file("name: worker\ntools: Read, Edit"))
        .own("agents/p.md", &file("name: planner\ntools: Bash"));
    let settings = world.trusted().settings(&[]);
    let narrowed = role(&settings, "researcher");
    assert_eq!(narrowed.tools, ["read_file"]);
    assert_eq!((narrowed.description.as_str(), narrowed.prompt.as_str()), ("mine", BODY));
    let worker = role(&settings, "worker");
    assert_eq!(worker.tools, ["read_file", "edit_file"]);
    assert!(!worker.permissions.contains(&Permission::Execute));
    assert_eq!(worker.report_fields.len(), 1, "its report stays");
    assert!(matches!(worker.source, RoleSource::Project(_)));
    let planner = role(&settings, "planner");
    assert_eq!(planner.source, RoleSource::BuiltIn, "nothing would have been left of it");
    let named = doubts(&settings).join("\n");
    assert!(named.contains("bash, write_file") || named.contains("write_file, bash"), "{named}");
    assert!(named.contains("p.md"), "{named}");
    for built_in in RoleTable::built_in(Preset::Normal).iter() {
        let now = role(&settings, &built_in.name);
        assert!(now.permissions.is_subset(&built_in.permissions), "{}", now.name);
        assert!(now.tools.iter().all(|tool| built_in.tools.contains(tool)), "{}", now.name);
    }
}

#[test]
fn a_projects_file_narrows_a_users_role_and_chooses_no_model() {
    let world = World::new()
        .agent("h.md", file("name: helper\ndescription: d\ntools: Read, Bash\nmodel: large"))
        .own("agents/h.md", &file("name: helper\ntools: Read, Write\nmodel: priciest"));
    let settings = world.trusted().settings(&[]);
    let helper = role(&settings, "helper");
    assert_eq!(helper.tools, ["read_file"]);
    assert_eq!(helper.model.as_deref(), Some("large"));
    assert!(doubts(&settings).concat().contains("cannot choose a model"));
}

#[test]
fn a_projects_roles_count_only_while_the_project_is_trusted() {
    let world = World::new().own("agents/h.md", &file("name: helper\ndescription: d"));
    let settings = world.settings(&[]);
    assert!(settings.roles.is_empty());
    let world = world.trusted();
    assert_eq!(role(&world.settings(&[]), "helper").prompt, BODY);
    let world = world.own("agents/h.md", &file("name: helper\ndescription: d\ntools: Bash"));
    assert!(world.settings(&[]).roles.is_empty(), "it is not what was trusted any more");
}

#[test]
fn a_bad_file_is_named_and_the_others_stay() {
    let long = file(&format!("name: long\ndescription: d\n# {}", "x".repeat(300_000)));
    let prompt = format!("---\nname: wordy\ndescription: d\n---\n{}", "x".repeat(40_000));
    let bad: [(&str, &[u8], &str); 14] = [
        ("01.md", b"# just words", "---"),
        ("02.md", b"", "---"),
        ("03.md", long.as_bytes(), "256 KiB"),
        ("04.md", b"---\nname: b\xff\n---\n", "UTF-8"),
        ("05.md", b"---\nname: b05\0\ndescription: d\n---\nx", "U+0000"),
        ("06.md", b"---\nname: b06\ndescription: \x1b[31mred\n---\nx", "U+001B"),
        ("07.md", b"---\nname: two words\ndescription: d\n---\nx", "two words"),
        ("08.md", b"---\ndescription: d\n---\nx", "no `name`"),
        ("09.md", b"---\nname: b09\n---\nx", "no `description`"),
        ("10.md", b"---\nname: b10\ndescription: d\n---\n\n", "no text"),
        (
            "11.md",
            b"---\nname: b11\ndescription: d\ntools: WebFetch\n---\nx",
            "no tool that is here",
        ),
        ("12.md", b"---\nname: b12\nname: c\n---\nx", "second time"),
        ("13.md", b"---\nname: b13\ndescription: d", "second line"),
        ("14.md", prompt.as_bytes(), "32 KiB"),
    ];
    let mut world = World::new().agent("99.md", file("name: good\ndescription: d"));
    for (name, text, _) in bad {
        world = world.agent(name, text);
    }
    world =
        world.agent("98.md", file("name: GOOD\ndescription: d")).agent("notes.txt", "not Markdown");
    fs::create_dir(world.home.path().join(".config/offshoot/agents/folder.md")).unwrap();
    let settings = world.settings(&[]);
    assert_eq!(settings.roles.iter().filter(|role| role.name == "good").count(), 1);
    let doubts = doubts(&settings);
    for (name, _, words) in bad {
        let said: Vec<&String> = doubts.iter().filter(|text| text.starts_with(name)).collect();
        assert!(said.iter().any(|text| text.contains(words)), "{name}: {said:?}");
    }
    assert!(doubts.iter().any(|text| text.starts_with("99.md") && text.contains("already")));
    assert!(doubts.iter().any(|text| text.starts_with("folder.md")));
    assert!(!doubts.iter().any(|text| text.contains("notes.txt")));
    assert_eq!(table(&settings).iter().count(), 6, "the built-in roles and the good one");
    for remark in &settings.remarks {
        assert!(!remark.text.contains('\u{1b}'), "{}", remark.text);
    }
}

#[test]
fn the_tools_that_a_file_can_name_are_those_there_are() {
    let mut there = Toolbox::standard().permissions();
    // These are the parent's own.
    for name in ["task", "note", "todo"] {
        there.remove(name);
    }
    let known = TOOLS.map(|(name, needed)| (name.to_owned(), needed)).into_iter().collect();
    assert_eq!(there, known);
}
