//! Folders beside the workspace: all tools work there, by absolute paths, and nothing beside them is
//! reached.

use std::fs;

use serde_json::json;

use crate::ground::{Ground, inventory};

fn ground() -> Ground {
    let ground = Ground::new();
    let base = ground.base();
    fs::create_dir_all(base.join("data/deep")).unwrap();
    fs::write(base.join("data/a.csv"), "needle,1\n").unwrap();
    fs::write(base.join("data/deep/b.csv"), "needle,2\n").unwrap();
    fs::write(base.join("data/.gitignore"), "ignored\n").unwrap();
    fs::write(base.join("data/ignored"), "needle\n").unwrap();
    std::os::unix::fs::symlink("../outside", base.join("data/out")).unwrap();
    ground.file("in.txt", "needle\n").outside_file("s.txt", "LEAKED needle");
    ground.with_added(&["data"])
}

#[test]
fn every_tool_works_in_an_added_folder() {
    let ground = ground();
    let data = ground.base().join("data").display().to_string();
    let run = ground.run(&[".", &data]);
    let call = |tool: &str, arguments| run.call(tool, arguments).text;
    let path = |rest: &str| format!("{data}/{rest}");
    let listed = call("list_files", json!({"path": data, "depth": 2}));
    assert_eq!(
        listed,
        format!(
            "(4 entries in `{data}`)\n{data}/a.csv  9 B\n{data}/deep/\n{data}/deep/b.csv  9 B\n\
             {data}/out  (link that leads out of what this run may see)\n\
             (left out: 1 hidden: {data}/.gitignore; hidden: true shows them)\n\
             (left out: 1 git-ignored: {data}/ignored; name one as path to see into it)"
        )
    );
    let read = call("read_file", json!({"path": path("deep/b.csv")}));
    assert_eq!(read, format!("{data}/deep/b.csv, 1 line\n1\tneedle,2"));
    let found = call("search", json!({"pattern": "needle", "path": data, "glob": "deep/*"}));
    assert!(found.contains(&format!("\n{data}/deep/b.csv:1:needle,2\n")), "{found}");
    let wrote = call("write_file", json!({"path": path("new/c.csv"), "content": "3\n"}));
    assert_eq!(
        wrote,
        format!("wrote {data}/new/c.csv (2 B, 1 line, new)\nfolders made: {data}/new")
    );
    let edit = json!({"path": path("a.csv"), "old_text": "1", "new_text": "one"});
    let output = run.call("edit_file", edit);
    assert_eq!(output.effects.wrote, [path("a.csv")]);
    assert_eq!(fs::read(ground.base().join("data/a.csv")).unwrap(), b"needle,one\n");
    // The workspace itself is still what paths without a root mean.
    let found = call("search", json!({"pattern": "needle"}));
    assert!(found.starts_with("1 match in 1 file") && found.contains("in.txt:1:"), "{found}");
    assert!(
        call("read_file", json!({"path": ground.base().join("ws/in.txt")})).starts_with("in.txt,")
    );
}

#[test]
fn nothing_beside_an_added_folder_is_reached_and_scopes_hold_in_it() {
    let ground = ground();
    let base = ground.base().display().to_string();
    let all = [".".to_owned(), format!("{base}/data")];
    let deep = [format!("{base}/data/deep")];
    let both = ["in.txt".to_owned(), format!("{base}/data/deep")];
    let table: Vec<(&[String], String)> = vec![
        (&all, format!("{base}/outside/s.txt")),
        (&all, format!("{base}/data/out/s.txt")),
        (&all, format!("{base}/data/../outside/s.txt")),
        (&all, format!("{base}/data2/s.txt")),
        (&all, format!("{base}/dat")),
        (&all, format!("{base}/data/out/new.txt")),
        (&all, "/etc/passwd".to_owned()),
        (&all, "data/a.csv/x/../..".to_owned()),
        (&deep, format!("{base}/data/a.csv")),
        (&deep, "in.txt".to_owned()),
        (&both, format!("{base}/data/a.csv")),
        (&all[..1], format!("{base}/data/a.csv")),
    ];
    let before = inventory(&ground.base());
    for (scopes, path) in &table {
        let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
        let run = ground.run(&scopes);
        for (tool, arguments) in [
            ("read_file", json!({"path": path})),
            ("search", json!({"path": path, "pattern": "needle"})),
            ("write_file", json!({"path": path, "content": "x"})),
            ("edit_file", json!({"path": path, "old_text": "needle", "new_text": "x"})),
        ] {
            let output = run.call(tool, arguments);
            assert!(!output.ok, "{tool} {path} in {scopes:?}: {}", output.text);
            assert!(!output.text.contains("LEAKED"), "{}", output.text);
        }
    }
    assert_eq!(inventory(&ground.base()), before);
    let scopes: Vec<&str> = both.iter().map(String::as_str).collect();
    let output = ground.call_within(&scopes, "search", json!({"pattern": "needle"}));
    assert!(output.text.starts_with("2 matches in 2 files"), "{}", output.text);
    let listed = ground.call_within(&scopes, "list_files", json!({"path": format!("{base}/data")}));
    assert!(
        listed.text.contains("deep/b.csv") && !listed.text.contains("a.csv"),
        "{}",
        listed.text
    );
}
