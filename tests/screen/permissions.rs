//! Modes, fences and trust: how a person sets them, and where the screen says which holds.

use offshoot::domain::approval::Mode;
use offshoot::domain::command::Command;
use offshoot::domain::event::{Fact, Origin};
use offshoot::ui::Lang;
use offshoot::ui::trust::{Trust, TrustQuestion};

use super::feed::{Feed, parent};
use super::questions::{read, two_ask};
use super::view::{Watch, sent};

#[test]
fn shift_tab_takes_the_next_mode_and_the_header_shows_it_once_it_holds() {
    let mut watch = Watch::new(Feed::new(), (120, 40));
    let set = |mode| Command::SetMode { mode };
    assert_eq!(sent(&watch.press(&["S-Tab"])), [&set(Mode::Ask)]);
    assert_eq!(sent(&watch.press(&["S-Tab"])), [&set(Mode::AutoEdit)], "counting from the asked");
    assert!(watch.text().lines().next().unwrap().contains("read-only"));
    watch.feed.add(Origin::session(), Fact::ModeChanged { mode: Mode::AutoEdit });
    let text = watch.text();
    assert!(text.lines().next().unwrap().contains("auto-edit · fenced"), "{text}");
    watch.type_text("/permissions full-access");
    assert_eq!(sent(&watch.press(&["Enter"])), [&set(Mode::FullAccess)]);
    let mut asked = read(two_ask(), (120, 40));
    assert_eq!(asked.press(&["S-Tab"]), [], "not in the midst of a question");
}

/// A session whose commands are fenced like this.
fn fenced_as(fence: &str) -> Feed {
    let mut feed = Feed::new();
    let Fact::SessionStarted { session, version, workspace, provider, model, budget, .. } =
        feed.log[0].fact.clone()
    else {
        panic!("a session starts");
    };
    let (fence, permission_mode) = (fence.to_owned(), "ask".to_owned());
    let started = Fact::SessionStarted {
        session,
        version,
        workspace,
        provider,
        model,
        permission_mode,
        fence,
        budget,
    };
    feed.add(Origin::session(), started);
    feed
}

#[test]
fn an_open_network_is_said_in_the_header_and_on_the_page() {
    let mut feed = fenced_as("fenced · network open");
    feed.user(1, "go").run(1).turn(parent(1), 1);
    let mut watch = Watch::new(feed, (120, 40));
    let header = watch.text().lines().next().unwrap().to_owned();
    assert!(header.contains("ask · fenced · network open"), "{header}");
    watch.type_text("/permissions");
    watch.press(&["Enter"]);
    let text = watch.text();
    assert!(text.contains("commands have the whole network (fence.network)"), "{text}");
    assert!(!text.contains("your other files, the network"), "{text}");
    assert!(text.contains("not your other files or other processes"), "{text}");
}

#[test]
fn the_page_of_permissions_names_what_is_missing() {
    let feed = fenced_as("partial (network not fenced, signals not fenced)");
    let mut watch = Watch::new(feed, (120, 40));
    watch.type_text("/permissions");
    watch.press(&["Enter"]);
    let text = watch.text();
    for words in ["▸ ask", "network not fenced", "signals not fenced", "ask · partial"] {
        assert!(text.contains(words), "{words}\n{text}");
    }
}

pub fn trust_question() -> TrustQuestion {
    TrustQuestion {
        folder: "~/code/demo".to_owned(),
        files: vec![
            (
                ".offshoot/config.toml".to_owned(),
                "@@ -1 +1 @@\n-mode = \"ask\"\n+mode = \"read-only\"\n".to_owned(),
            ),
            (
                ".offshoot/agents/fixer.md".to_owned(),
                "---\nname: fixer\n---\nYou fix.\n".to_owned(),
            ),
        ],
    }
}

pub fn trusting(size: (u16, u16), first: Option<&str>) -> Watch {
    let mut watch = Watch::new(Feed::new(), size);
    let first = first.map(str::to_owned);
    watch.screen.trust = Some(Trust::of(&trust_question(), first, Lang::En));
    watch
}

#[test]
fn a_folders_own_files_are_asked_about_before_anything_is_sent() {
    for (key, trusted) in [("y", true), ("n", false), ("Esc", false)] {
        let mut watch = trusting((100, 30), Some("hello"));
        let text = watch.text();
        for words in ["~/code/demo", "-mode = \"ask\"", "+mode = \"read-only\"", "name: fixer"] {
            assert!(text.contains(words), "{words}\n{text}");
        }
        assert_eq!(watch.press(&[key, "Enter", "Tab"]), [], "too early");
        watch.feed.wait(400);
        let effects = watch.press(&[key]);
        let hello = Command::Submit { text: "hello".to_owned() };
        assert_eq!(sent(&effects), [&Command::Trust { trusted }, &hello]);
        assert!(!watch.text().contains("Trust"));
    }
    let mut watch = trusting((10, 2), None);
    assert!(watch.text().contains("y/n"), "{}", watch.text());
}
