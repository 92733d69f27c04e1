//! Things in a folder that are no files, and files that are too big or no text.

use std::fs::File;
use std::io::Write as _;

use serde_json::json;

use crate::ground::Ground;

fn zoo() -> Ground {
    let ground = Ground::new();
    ground
        .fifo("pipe")
        .fifo("pipe.py")
        .socket("sock")
        .link("zero", "/dev/zero")
        .link("in", "/dev/stdin")
        .link("to-pipe", "pipe")
        .file("z.txt", "needle");
    ground
}

#[test]
fn pipes_sockets_and_devices_are_named_and_never_read() {
    let ground = zoo();
    let table = [
        ("pipe", "`pipe` is a fifo (named pipe); it is not read"),
        ("to-pipe", "`to-pipe` is a fifo (named pipe); it is not read"),
        ("sock", "`sock` is a socket; it is not read"),
        ("zero", "`zero` leads through a symbolic link out of what this run may see"),
        ("in", "`in` leads through a symbolic link out of what this run may see"),
    ];
    for (path, right) in table {
        let output = ground.call("read_file", json!({"path": path}));
        assert!(!output.ok && output.text.starts_with(right), "{path}: {}", output.text);
    }
    let output = ground.call("search", json!({"pattern": ".", "path": "pipe"}));
    assert_eq!(output.text, "`pipe` is a fifo (named pipe); it is not searched");
}

#[test]
fn a_device_in_the_workspace_itself_is_not_read() {
    let devices = offshoot::workspace::Workspace::open(std::path::Path::new("/dev")).unwrap();
    let all = crate::ground::scopes(&["."]);
    let (kind, _) = devices.examine(&all, "zero").unwrap();
    assert_eq!(kind.name(), "device");
    let opened = devices.open_within(&all, "zero").unwrap();
    assert!(matches!(opened, offshoot::workspace::jail::Opened::Special(_)), "{opened:?}");
}

#[test]
fn walks_pass_over_what_is_no_file_and_say_so() {
    let ground = zoo();
    let found = ground.call("search", json!({"pattern": "needle"})).text;
    let right = "1 match in 1 file, 1 file of the workspace searched\n\
                 z.txt:1:needle\n\
                 not searched: 3 links, 3 special files";
    assert_eq!(found, right);
    let listed = ground.call("list_files", json!({})).text;
    let right = "(7 entries in the workspace)\n\
                 in  (link that leads out of what this run may see)\n\
                 pipe  (fifo (named pipe))\n\
                 pipe.py  (fifo (named pipe))\n\
                 sock  (socket)\n\
                 to-pipe  (link to a fifo (named pipe))\n\
                 z.txt  6 B\n\
                 zero  (link that leads out of what this run may see)";
    assert_eq!(listed, right);
}

#[test]
fn binary_and_empty_files_are_described() {
    let ground = Ground::new();
    ground
        .file("random.bin", (0..3_000_u32).flat_map(u32::to_le_bytes).collect::<Vec<u8>>())
        .file("wide.txt", b"\xFF\xFEh\0i\0")
        .file("empty", "")
        .file("mark-only", b"\xEF\xBB\xBF");
    File::create(ground.root().join("sparse.bin")).unwrap().set_len(2 << 30).unwrap();
    let table = [
        ("sparse.bin", "`sparse.bin` is binary, 2.1 GB; not shown"),
        ("random.bin", "`random.bin` is binary, 12.0 KB; not shown"),
        ("wide.txt", "`wide.txt` is UTF-16 text, binary for this tool, 6 B; not shown"),
        ("empty", "`empty` is empty (0 lines)"),
        ("mark-only", "`mark-only` is empty (0 lines)"),
    ];
    for (path, right) in table {
        let output = ground.call("read_file", json!({"path": path}));
        assert_eq!((output.ok, output.text.as_str()), (true, right));
    }
    let found = ground.call("search", json!({"pattern": "a+b"})).text;
    assert!(found.ends_with("not searched: 3 binary files"), "{found}");
}

#[test]
fn a_line_of_megabytes_is_cut_and_the_file_goes_on() {
    let ground = Ground::new();
    let mut content = vec![b'a'; 5_000_000];
    content.extend_from_slice(b"b\nsecond\n");
    ground.file("oneline.js", content);
    let output = ground.call("read_file", json!({"path": "oneline.js"}));
    let cut = "… (line cut, 4998001 bytes more; search shows other parts)\n2\tsecond";
    assert!(output.truncated && output.text.ends_with(cut), "{}", output.text.len());
    assert!(output.text.len() < 3_000);
    let found = ground.call("search", json!({"pattern": "a{3}b$"})).text;
    let line = found.lines().nth(1).unwrap();
    assert!(line.starts_with("oneline.js:1:…aaa"), "{line}");
    assert!(line.ends_with("aaab (line cut, 5000001 bytes in all)"), "{line}");
}

#[test]
fn a_line_without_end_is_not_kept_in_memory() {
    let ground = Ground::new();
    let path = ground.root().join("text-then-hole.log");
    let mut file = File::create(path).unwrap();
    file.write_all(&b"line\n".repeat(2_000)).unwrap();
    file.set_len(1 << 30).unwrap();
    let output = ground.call("read_file", json!({"path": "text-then-hole.log", "limit": 2}));
    let right = "text-then-hole.log, lines 1-2 of more than 2001\n1\tline\n2\tline\n\
                 ... (more than 1999 more) offset 3 reads on";
    assert_eq!(output.text, right);
    let found = ground.call("search", json!({"pattern": "^line$"}));
    assert!(found.text.ends_with("not searched: 1 huge file in part"), "{}", found.text);
    let beyond = json!({"path": "text-then-hole.log", "offset": 3_000});
    let output = ground.call("read_file", beyond);
    assert!(
        !output.ok && output.text.contains("lies beyond the first 268.4 MB"),
        "{}",
        output.text
    );
}

#[test]
fn a_cancelled_call_ends_with_that_word() {
    let ground = Ground::new();
    for folder in 0..200 {
        ground.file(&format!("{folder}/a.txt"), "text\n".repeat(1_000));
    }
    let calls = [
        ("search", json!({"pattern": "(a|b|c)+x"})),
        ("list_files", json!({"depth": 8})),
        ("read_file", json!({"path": "1/a.txt"})),
    ];
    for (tool, arguments) in calls {
        let output = ground.call_and_cancel(tool, &arguments);
        assert_eq!((output.ok, output.text.as_str()), (false, "cancelled"));
    }
}
