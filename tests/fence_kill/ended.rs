//! Commands that end by themselves, or whose time is up.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::time::{Duration, Instant};

use offshoot::sandbox::{Job, Outcome, SandboxError};
use tokio_util::sync::CancellationToken;

use crate::ground::{
    PATIENCE, alone, alone_with_a_paused_clock, children, closed_again, helper, open_files,
};

#[test]
fn output_comes_in_the_order_it_was_written_and_the_code_is_told() {
    alone_with_a_paused_clock(async |ground| {
        let (ended, text) = ground.run("echo one; echo two >&2; echo three; exit 7").await;
        assert_eq!(text, "one\ntwo\nthree\n");
        assert_eq!((ended.outcome, ended.processes_ended), (Outcome::Exited(7), 0));
        let (ended, _) = ground.run("kill -SEGV $$").await;
        assert_eq!(ended.outcome, Outcome::Signalled(11));
    });
}

#[test]
fn all_of_a_long_output_comes() {
    alone_with_a_paused_clock(async |ground| {
        let (_, text) =
            ground.run("i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done").await;
        assert_eq!(text.lines().count(), 20_000);
        assert_eq!(text.lines().last(), Some("line 19999"));
    });
}

#[test]
fn what_a_command_leaves_running_is_ended_and_counted() {
    alone(async |ground| {
        for (script, count) in [
            ("sleep 600 & exit 3", 1),
            ("sleep 600 & sleep 600 & setsid sleep 600 & exit 3", 3),
            ("(setsid sh -c 'trap \"\" TERM; sleep 600; sleep 600' &); sleep 0.1; exit 3", 2),
        ] {
            let (ended, _) = ground.run(script).await;
            assert_eq!(
                (ended.outcome, ended.processes_ended),
                (Outcome::Exited(3), count),
                "{script}"
            );
            assert_eq!(children(), [].into());
        }
    });
}

#[test]
fn a_command_that_takes_too_long_is_ended() {
    alone_with_a_paused_clock(async |ground| {
        let (job, _) = ground.job("setsid sleep 600 & sleep 600");
        let job = Job { time_limit: Duration::from_millis(100), ..job };
        let ended = ground.sandbox.run(job, |_| {}, &CancellationToken::new()).await.unwrap();
        assert_eq!(ended.outcome, Outcome::TimedOut);
        assert!(ended.processes_ended >= 2, "{ended:?}");
    });
}

#[test]
fn a_flood_of_output_neither_grows_memory_nor_holds_up_the_end() {
    alone(async |ground| {
        let before = memory();
        let (job, _) = ground.job("yes & yes & exec yes");
        let job = Job { time_limit: Duration::from_millis(700), ..job };
        let (began, mut bytes) = (Instant::now(), 0);
        let cancel = CancellationToken::new();
        let ended = ground.sandbox.run(job, |piece| bytes += piece.len(), &cancel);
        assert_eq!(ended.await.unwrap().outcome, Outcome::TimedOut);
        assert!(began.elapsed() < PATIENCE);
        assert!(bytes > 1_000_000, "{bytes}");
        let grown = memory().saturating_sub(before);
        assert!(grown < 16_000, "{grown} KiB for {bytes} bytes");
    });
}

/// The most memory that this process ever had, in KiB.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse().unwrap()
}

#[test]
fn nothing_that_is_open_here_is_open_there() {
    alone(async |ground| {
        let (reader, _writer) = std::io::pipe().unwrap();
        rustix::io::fcntl_setfd(&reader, rustix::io::FdFlags::empty()).unwrap();
        let (_, text) = ground
        .run("i=3; while [ $i -lt 100 ]; do (eval \": <&$i\") 2>/dev/null && echo $i; i=$((i+1)); done; \
              read line; echo \"input: $?\"")
        .await;
        assert_eq!(text, "input: 1\n");
    });
}

#[test]
fn a_command_sees_a_home_of_its_own_and_no_variable_but_those_it_was_given() {
    alone(async |ground| {
        let (_, text) = ground.run("env; echo left >$HOME/file; echo left >$TMPDIR/file").await;
        let value = |name: &str| {
            let line = text.lines().find(|line| line.starts_with(&format!("{name}=")));
            line.unwrap_or_else(|| panic!("no {name} in {text}"))
                .split_once('=')
                .unwrap()
                .1
                .to_owned()
        };
        let mut names: Vec<&str> =
            text.lines().filter_map(|line| line.split_once('=')).map(|it| it.0).collect();
        names.retain(|name| !["_", "SHLVL", "OLDPWD"].contains(name));
        names.sort_unstable();
        assert_eq!(names, ["FENCE_KILL_MARK", "HOME", "PATH", "PWD", "TEMP", "TMP", "TMPDIR"]);
        let (_, again) = ground.run("cat $HOME/file $TMPDIR/file").await;
        assert_eq!(again, "left\nleft\n", "it stays for the session");
        let home = std::path::PathBuf::from(value("HOME"));
        assert!(home.is_dir());
        ground.sandbox.close().await;
        assert!(!home.exists());
        assert!(!std::path::Path::new(&value("TMPDIR")).exists());
    });
}

#[test]
fn a_command_that_cannot_start_is_told_apart_from_one_that_fails() {
    alone(async |ground| {
        let files = open_files();
        let (job, _) = ground.job("");
        let job = Job { program: "no-such-program".into(), ..job };
        let error = ground.sandbox.run(job, |_| {}, &CancellationToken::new()).await.unwrap_err();
        assert!(
            matches!(&error, SandboxError::NotStarted { program, .. } if program == "no-such-program"),
            "{error}"
        );
        let (job, _) = ground.job("true");
        let job = Job { folder: ground.folder.path().join("gone"), ..job };
        let error = ground.sandbox.run(job, |_| {}, &CancellationToken::new()).await.unwrap_err();
        assert!(matches!(&error, SandboxError::FolderGone(_)), "{error}");
        ground.sandbox.close().await;
        closed_again(files).await;
        assert_eq!(children(), [].into());
    });
}

#[test]
fn arguments_reach_the_command_byte_by_byte() {
    alone(async |ground| {
        let (mut job, _) = ground.job("printf '%s' \"$1\"");
        let odd = vec![0xff, b'\n', b'"', b'\'', b' ', 0xc3];
        job.arguments.extend(["sh".into(), OsString::from_vec(odd.clone())]);
        let mut bytes = Vec::new();
        let heard = |piece: &[u8]| bytes.extend_from_slice(piece);
        ground.sandbox.run(job, heard, &CancellationToken::new()).await.unwrap();
        assert_eq!(bytes, odd);
    });
}

#[test]
fn a_variable_that_the_system_cannot_take_is_left_out() {
    alone(async |ground| {
        let (mut job, _) = ground.job("echo \"$GOOD\"");
        for (name, value) in [("", "x"), ("A=B", "x"), ("BAD", "x\0y"), ("GOOD", "x")] {
            job.environment.push((name.to_owned(), value.to_owned()));
        }
        let mut bytes = Vec::new();
        let heard = |piece: &[u8]| bytes.extend_from_slice(piece);
        ground.sandbox.run(job, heard, &CancellationToken::new()).await.unwrap();
        assert_eq!(bytes, b"x\n");
    });
}

#[test]
fn the_helper_typed_by_hand_says_so_and_runs_nothing() {
    alone(async |ground| {
        for input in ["", "\n", "ls\n", "{}\n", "{\"program\":\"sh\"}"] {
            let file = ground.folder.path().join("input");
            std::fs::write(&file, input).unwrap();
            let output = std::process::Command::new(helper())
                .arg("__fence")
                .stdin(std::fs::File::open(&file).unwrap())
                .output()
                .unwrap();
            assert_eq!(output.status.code(), Some(2), "{input:?}");
            let words = String::from_utf8(output.stderr).unwrap();
            assert!(words.contains("not to be started by hand"), "{words}");
            assert!(!words.contains("panicked"), "{words}");
        }
    });
}
