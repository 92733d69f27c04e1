//! Settings from files, environment and flags: which one holds, where it came from, what a project
//! may say, and what is said about files that cannot be used.
#![allow(clippy::unwrap_used, reason = "tests")]

mod hands;
mod roles;
mod trust;
mod world;

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use offshoot::domain::budget::{Dimension, Limit, Preset};
use offshoot::domain::rules::Rules;
use offshoot::domain::usage::Prices;
use offshoot::settings::{FenceWishes, Key, ProviderChoice};

use world::{World, some, told, warnings};

#[test]
fn a_later_source_replaces_an_earlier_one_and_each_value_knows_its_own() {
    let world = World::new()
        .users("provider = \"openai\"\nmodel = \"from-user\"\nretries = 7\nlang = \"zh\"\n")
        .projects("\nretries = 3\n")
        .with("OPENAI_API_KEY", "sk-0123456789")
        .with("OFFSHOOT_MODEL", "from-env");
    let settings = world.settings(&[]);
    assert_eq!(told(&settings, Key::Provider), some("openai", "user:1"));
    assert_eq!(told(&settings, Key::Model), some("from-env", "OFFSHOOT_MODEL"));
    assert_eq!(told(&settings, Key::Retries), some("3", "project:2"));
    assert_eq!(told(&settings, Key::Lang), some("zh", "user:4"));
    assert_eq!(told(&settings, Key::CompactAt), some("0.8", "default"));
    assert_eq!(settings.waits.retries, 3);

    let settings = world.settings(&["--model", "typed", "--retries", "0", "--lang", "en"]);
    assert_eq!(told(&settings, Key::Model), some("typed", "--model"));
    assert_eq!(told(&settings, Key::Retries), some("0", "--retries"));
    assert_eq!(told(&settings, Key::Lang), some("en", "--lang"));
    assert_eq!(settings.waits.retries, 0);
    assert_eq!(warnings(&settings), [""; 0]);
}

#[test]
fn every_kind_of_value_is_read() {
    let world = World::new().with("MY_KEY", "k-0123456789").users(
        "provider = \"anthropic\"\napi_key_env = \"MY_KEY\"\nheaders = { \"X-Team\" = \"t-secret\" }\n\
         context_window = 0x20000\nmax_output_tokens = 4_096\nthinking_budget = 2048\n\
         compact_at = 0.5\ncolor = false\npace_ms = 0\nsession_dir = \"kept\"\n\
         [timeouts]\nconnect_s = 1.5\nstall_s = 90\n[ollama]\nnum_ctx_cap = 65536\n\
         [prices]\ninput = 3\noutput = 15.0\ncache_read = 0.3\n\
         [budget]\npreset = \"tight\"\nturns = \"unlimited\"\nduration_s = 60\nmax_cost_usd = 0.5\n\
         delegations = 0\nactive = 1\n",
    );
    let settings = world.settings(&[]);
    let ProviderChoice::Anthropic(remote) = &settings.provider else { panic!("{settings:?}") };
    assert_eq!(remote.key.as_ref().unwrap().from, "MY_KEY");
    assert_eq!(remote.headers[0].0, "X-Team");
    assert_eq!(settings.numbers.context_window, Some(131_072));
    assert_eq!(settings.numbers.max_output_tokens, Some(4_096));
    let prices = Prices {
        input: 3_000_000,
        output: 15_000_000,
        cache_read: 300_000,
        cache_write: 3_000_000,
    };
    assert_eq!(settings.numbers.prices, Some(prices));
    assert_eq!((settings.thinking_budget, settings.num_ctx_cap), (2_048, 65_536));
    assert!((settings.compact_at - 0.5).abs() < 1e-9 && !settings.color);
    assert_eq!(settings.waits.connect, Duration::from_millis(1_500));
    assert_eq!(
        (settings.waits.headers, settings.waits.stall),
        (None, Some(Duration::from_secs(90)))
    );
    assert_eq!(settings.pace, Duration::ZERO);
    assert_eq!(settings.sessions, Some(world.users_path().with_file_name("kept")));
    let limits = settings.limits;
    assert_eq!(limits.preset, Preset::Tight);
    assert_eq!(limits.parent[Dimension::Turns], Limit::Unlimited);
    assert_eq!(limits.parent[Dimension::Duration], Limit::Of(60_000));
    assert_eq!(limits.parent[Dimension::CostUsd], Limit::Of(500_000));
    assert_eq!((limits.totals.delegations, limits.totals.active), (0, 1));
    let shown = format!("{settings:?}");
    assert!(!shown.contains("k-0123456789") && !shown.contains("t-secret"), "a secret is shown");
    let secrets = settings.secret_texts();
    assert!(secrets.iter().any(|text| text == "k-0123456789"));
    assert!(secrets.iter().any(|text| text == "t-secret"), "headers are looked for too");
    assert_eq!(told(&settings, Key::Headers).0.unwrap(), "X-Team (values not shown)");
}

#[test]
fn a_project_cannot_redirect_a_key_run_a_command_or_widen_anything() {
    let forbidden = [
        ("provider = \"openai\"", "provider"),
        ("model = \"dear\"", "model"),
        ("base_url = \"http://evil.example/v1\"", "base_url"),
        ("profile = \"openai\"", "profile"),
        ("api_version = \"1\"", "api_version"),
        ("api_key_env = \"GH_TOKEN\"", "api_key_env"),
        ("api_key_command = [\"sh\", \"-c\", \"touch pwned\"]", "api_key_command"),
        ("headers = { \"X\" = \"y\" }", "headers"),
        ("ca_file = \"evil.pem\"", "ca_file"),
        ("context_window = 9000000", "context_window"),
        ("session_dir = \"/tmp\"", "session_dir"),
        ("add_dirs = [\"/\"]", "add_dirs"),
        ("test_command = \"touch pwned\"", "test_command"),
        ("[permissions]\nallow = [\"bash\"]", "permissions.allow"),
        ("[fence]\nread = [\"/\"]", "fence.read"),
        ("[fence]\nwrite = [\"/\"]", "fence.write"),
        ("[fence]\nunix = \"workspace\"", "fence.unix"),
        ("[fence]\nunix = \"deny\"", "fence.unix"),
        ("[fence]\nnetwork = true", "fence.network"),
        ("[environment]\npass = [\"GH_TOKEN\"]", "environment.pass"),
        ("[prices]\ninput = 0", "prices.input"),
        ("[timeouts]\nstall_s = 86000", "timeouts.stall_s"),
        ("[ollama]\nnum_ctx_cap = 9000000", "ollama.num_ctx_cap"),
    ];
    for (text, name) in forbidden {
        let world = World::new().with("ANTHROPIC_API_KEY", "ak-0123456789").projects(text);
        let settings = world.settings(&[]);
        let said = warnings(&settings);
        assert_eq!(said.len(), 1, "{text}: {said:?}");
        assert!(said[0].contains(&format!("cannot set {name}, ")), "{said:?}");
        assert!(said[0].contains("config.toml:"), "{said:?}");
        let ProviderChoice::Anthropic(remote) = &settings.provider else { panic!("{text}") };
        assert_eq!(remote.base_url, "https://api.anthropic.com");
        assert!(remote.headers.is_empty() && settings.ca_file.is_none());
        let hands = settings.hands;
        assert!(hands.add_dirs.is_empty() && hands.test_command.is_none(), "{text}");
        assert_eq!((hands.rules, hands.pass), (Rules::default(), vec![]), "{text}");
        assert_eq!(hands.fence, FenceWishes::default(), "{text}");
        assert!(!world.project.path().join("pwned").exists());
    }
    let wider = [
        ("retries = 5", Key::Retries, "4"),
        ("thinking_budget = 1", Key::ThinkingBudget, "0"),
        ("compact_at = 0.9", Key::CompactAt, "0.8"),
        ("permission_mode = \"full-access\"", Key::PermissionMode, "ask"),
        ("permission_mode = \"auto-edit\"", Key::PermissionMode, "ask"),
        ("[budget]\npreset = \"generous\"", Key::BudgetPreset, "normal"),
    ];
    for (text, key, held) in wider {
        let settings = World::new().projects(text).settings(&[]);
        assert_eq!(told(&settings, key), some(held, "default"), "{text}");
        assert!(warnings(&settings)[0].contains("can only narrow"), "{text}");
    }
    let wider_than_the_preset = [
        ("[budget]\nturns = 41", Key::BudgetTurns),
        ("[budget]\nturns = \"unlimited\"", Key::BudgetTurns),
        ("[budget]\nduration_s = 1801", Key::BudgetDuration),
        ("[budget]\nmax_cost_usd = 5.01", Key::BudgetMaxCost),
        ("[budget]\ndelegations = 9", Key::BudgetDelegations),
        ("[budget]\npreset = \"tight\"\nturns = 11", Key::BudgetTurns),
        ("[budget]\nturns = 11\npreset = \"tight\"", Key::BudgetTurns),
    ];
    for (text, key) in wider_than_the_preset {
        let settings = World::new().projects(text).settings(&[]);
        assert_eq!(told(&settings, key), (None, "default".to_owned()), "{text}");
        assert!(warnings(&settings)[0].contains("can only narrow"), "{text}");
    }
}

#[test]
fn a_project_can_narrow_and_choose_its_language() {
    let world = World::new()
        .users("[budget]\nturns = 30\n")
        .projects("lang = \"zh\"\nretries = 1\n[budget]\npreset = \"tight\"\nturns = 12\n")
        .trusted();
    let settings = world.settings(&[]);
    assert_eq!(warnings(&settings), [""; 0]);
    assert_eq!(settings.limits.preset, Preset::Tight);
    assert_eq!(settings.limits.parent[Dimension::Turns], Limit::Of(12));
    assert_eq!(settings.waits.retries, 1);
    assert_eq!(told(&settings, Key::Lang), some("zh", "project:1"));
    let lifted = world.settings(&["--budget", "generous", "--max-turns", "99"]);
    assert_eq!(lifted.limits.preset, Preset::Generous, "the user has the last word");
    assert_eq!(lifted.limits.parent[Dimension::Turns], Limit::Of(99));
}

#[test]
fn only_the_user_lets_children_delegate_and_a_project_can_take_it_back() {
    let depth = |users: &str, projects: &str, typed: &[&str]| {
        let world = World::new().users(users).projects(projects);
        let settings = world.settings(typed);
        (settings.limits.depth, warnings(&settings).len())
    };
    let three = "[budget]\ndepth = 3\n";
    assert_eq!(depth("", "", &[]), (1, 0));
    assert_eq!(depth(three, "", &[]), (3, 0));
    assert_eq!(depth(three, "[budget]\ndepth = 2\n", &[]), (2, 0));
    assert_eq!(depth(three, "[budget]\ndepth = 4\n", &[]), (3, 1));
    assert_eq!(depth("", "[budget]\ndepth = 2\n", &[]), (1, 1));
    assert_eq!(depth(three, "", &["--max-depth", "1"]), (1, 0));
}

#[test]
fn a_value_that_a_project_gets_wrong_is_ignored_and_the_program_starts() {
    let settings = World::new().projects("retries = 99\nlang = \"zh\"\n").trusted().settings(&[]);
    assert!(warnings(&settings)[0].contains("retries"), "{:?}", warnings(&settings));
    assert_eq!(settings.waits.retries, 4);
    assert_eq!(told(&settings, Key::Lang), some("zh", "project:2"));
}

#[test]
fn a_projects_cost_limit_does_not_stop_a_model_without_a_price() {
    let settings = World::new().projects("[budget]\nmax_cost_usd = 1.0\n").settings(&[]);
    assert_eq!(settings.limits.parent_for("m", false).unwrap()[Dimension::CostUsd], Limit::Off);
    let own = World::new().users("[budget]\nmax_cost_usd = 1.0\n").settings(&[]);
    assert!(own.limits.parent_for("m", false).is_err());
}

#[test]
fn unknown_names_are_told_with_their_neighbour_and_keys_are_not_read_from_files() {
    let settings = World::new()
        .users("modle = \"x\"\nturns = 3\napi_key = \"sk-hunter22\"\n[timeouts]\nstal_s = 3\n[quux]\na = 1\n")
        .settings(&[]);
    let said = warnings(&settings);
    assert_eq!(said.len(), 5, "{said:?}");
    let expected = [
        ":1:1: there is no setting modle, so it is ignored; did you mean model?",
        ":2:1: there is no setting turns, so it is ignored; did you mean budget.turns?",
        ":3:1: there is no setting api_key, so it is ignored; keys are not read from files",
        ":5:1: there is no setting timeouts.stal_s, so it is ignored; did you mean timeouts.stall_s?",
        ":6:2: there is no setting quux, so it is ignored",
    ];
    for (said, expected) in said.iter().zip(expected) {
        assert!(said.contains(expected), "{said}");
        assert!(!said.contains("hunter22"), "{said}");
    }
}

#[test]
fn a_file_that_cannot_be_used_is_refused_with_its_place() {
    let cases = [
        ("model = \"a\nretries = 1\n", ":1:"),
        ("retries = 1\nretries = 2\n", ":2:1: this is no TOML"),
        ("= 3", ":1:1: this is no TOML"),
        ("a = \"中\" b", ":1:9: this is no TOML"),
        ("\n  retries = \"many\"", ":2:3: retries takes a whole number from 0 to 20"),
        ("retries = 21", ":1:1: retries takes"),
        ("retries = -1", ":1:1: retries takes"),
        ("compact_at = nan", ":1:1: compact_at takes a number from 0.2 to 0.95"),
        ("compact_at = 1", ":1:1: compact_at takes"),
        ("lang = \"fr\"", ":1:1: lang takes en or zh"),
        ("color = \"no\"", ":1:1: color takes true or false"),
        ("api_key_command = \"pass show x\"", ":1:1: api_key_command takes a list"),
        ("api_key_command = []", ":1:1: api_key_command takes a list"),
        ("headers = { a = 1 }", ":1:1: headers takes a table of texts"),
        ("[budget]\nturns = 0", "INVALID_BUDGET: "),
        ("[budget]\nactive = 0", ":2:1: budget.active takes"),
        ("budget = 3", "there is no setting budget"),
        ("permission_mode = \"yolo\"", ":1:1: permission_mode takes read-only, ask, auto-edit"),
        ("test_command = [\"make\"]", ":1:1: test_command takes a text"),
        ("add_dirs = \"~/x\"", ":1:1: add_dirs takes a list of files and folders"),
        ("add_dirs = [\"\"]", ":1:1: add_dirs takes"),
        ("[permissions]\nallow = \"bash\"", ":2:1: permissions.allow takes a list of rules"),
        ("[permissions]\ndeny = [\"bassh\"]", ":2: the rule `bassh` names the tool `bassh`"),
        ("[permissions]\nask = [\"bash(\"]", ":2: `bash(` is no rule"),
        ("[fence]\nunix = \"all\"", ":2:1: fence.unix takes deny or workspace"),
        ("[fence]\nnetwork = \"yes\"", ":2:1: fence.network takes true or false"),
        ("[fence]\nread = [1]", ":2:1: fence.read takes a list of files and folders"),
        ("[environment]\npass = [\"A B\"]", ":2:1: environment.pass takes a list of names"),
        ("[environment]\npass = [\"1A\"]", ":2:1: environment.pass takes"),
        ("[prices]\ninput = 3", "need both prices.input and prices.output"),
        ("provider = \"gemini\"", "there is no provider `gemini`"),
        ("provider = \"offline\"\nca_file = \"missing.pem\"", "there is no such file"),
        ("headers = { a = \"b\" }", "without a provider"),
        ("api_key_command = [\"true\"]", "without a provider"),
        ("api_key_env = \"X\"", "without a provider"),
        ("provider = \"openai\"\napi_key_env = \"NOT_SET\"", "NOT_SET, which is not set"),
        (
            "provider = \"openai\"\napi_key_command = [\"true\"]\nheaders = { \"a b\" = \"c\" }",
            "has a name that no header has",
        ),
    ];
    for (text, words) in cases {
        let world = World::new().users(text);
        if words == "there is no setting budget" {
            assert!(warnings(&world.settings(&[]))[0].contains(words));
            continue;
        }
        let said = world.refusal(&[]);
        assert!(said.contains(words), "{text:?}: {said}");
    }
    let long = "# ".to_owned() + &"x".repeat(300_000);
    assert!(World::new().users(&long).refusal(&[]).contains("256 KiB"));
    let project = World::new().projects("retries = = 1").refusal(&[]);
    assert!(project.contains(".offshoot/config.toml:1:"), "{project}");
    let binary = World::new().projects("");
    fs::write(binary.project.path().join(".offshoot/config.toml"), b"\xff").unwrap();
    assert!(binary.refusal(&[]).contains("not UTF-8 text"));
    let folder = World::new();
    fs::create_dir_all(folder.users_path()).unwrap();
    assert!(folder.refusal(&[]).contains("no regular file"));
    let nested = format!("a = {}", "[".repeat(100_000));
    assert!(World::new().users(&nested).refusal(&[]).contains("no TOML"));
}

#[test]
fn a_project_file_that_leads_out_of_the_project_is_not_read() {
    let world = World::new();
    let outside = world.home.path().join("outside.toml");
    fs::write(&outside, "retries = 1\n").unwrap();
    fs::create_dir(world.project.path().join(".offshoot")).unwrap();
    std::os::unix::fs::symlink(&outside, world.project.path().join(".offshoot/config.toml"))
        .unwrap();
    let settings = world.settings(&[]);
    assert!(warnings(&settings)[0].contains("leads out of the project"));
    assert_eq!(settings.waits.retries, 4);
}

#[test]
fn what_a_file_says_of_a_server_stays_with_that_provider() {
    let world = World::new()
        .with("ANTHROPIC_API_KEY", "ak-0123456789")
        .with("OPENAI_API_KEY", "sk-0123456789")
        .with("MINE", "mk-0123456789")
        .users(
            "provider = \"openai\"\nbase_url = \"https://api.deepseek.com/v1\"\nmodel = \"d\"\n\
             api_key_env = \"MINE\"\nheaders = { \"X-A\" = \"b\" }\n",
        );
    let ProviderChoice::OpenAi(own) = world.settings(&[]).provider else { panic!("not openai") };
    assert_eq!(own.key.unwrap().from, "MINE", "not the variable that is for another server");
    assert_eq!(
        (own.base_url.as_str(), own.model.as_deref()),
        ("https://api.deepseek.com/v1", Some("d"))
    );

    let settings = world.settings(&["--provider", "anthropic"]);
    let ProviderChoice::Anthropic(other) = &settings.provider else { panic!("not anthropic") };
    assert_eq!(other.base_url, "https://api.anthropic.com", "the key stays with its server");
    assert_eq!(other.key.as_ref().unwrap().from, "ANTHROPIC_API_KEY");
    assert!(other.headers.is_empty() && other.model.is_none());
    assert!(warnings(&settings)[0].contains("model, base_url, api_key_env, headers"));
    assert_eq!(warnings(&world.settings(&["--provider", "offline"])), [""; 0]);
}

#[test]
fn a_key_can_come_from_a_program_and_nothing_shows_it() {
    let world = World::new().users(
        "provider = \"anthropic\"\napi_key_command = [\"/bin/sh\", \"-c\", \"echo hunter22-key\"]\n",
    );
    let settings = world.settings(&[]);
    let ProviderChoice::Anthropic(remote) = &settings.provider else { panic!("not anthropic") };
    assert_eq!(remote.key.as_ref().unwrap().from, "api_key_command");
    assert!(settings.secret_texts().contains(&"hunter22-key".to_owned()));
    assert!(!format!("{settings:?}").contains("hunter22"), "the key is shown");
    assert_eq!(told(&settings, Key::ApiKeyCommand).0.unwrap(), "/bin/sh …");
    let marker = tempfile::tempdir().unwrap();
    let ran = marker.path().join("ran");
    let unused = World::new().users(&format!(
        "provider = \"anthropic\"\napi_key_command = [\"/bin/sh\", \"-c\", \"touch {}; exit 1\"]\n",
        ran.display()
    ));
    unused.settings(&["--provider", "offline"]);
    assert!(!ran.exists(), "the command of a provider that is not used does not run");
    assert!(unused.refusal(&[]).contains("api_key_command (/bin/sh …) failed with exit status: 1"));
}

#[test]
fn files_that_were_looked_for_are_told() {
    let world = World::new().users("retries = 2\n");
    let files = world.settings(&[]).files;
    let shown: Vec<(bool, bool)> = files.iter().map(|file| (file.found, file.of_project)).collect();
    assert_eq!(shown, [(true, false), (false, true)]);
    let elsewhere = World::new().with("XDG_CONFIG_HOME", "/nowhere/config").settings(&[]).files;
    assert_eq!(elsewhere[0].path, PathBuf::from("/nowhere/config/offshoot/config.toml"));
    let relative = World::new().with("XDG_CONFIG_HOME", "config");
    assert_eq!(relative.settings(&[]).files[0].path, relative.users_path());
}
