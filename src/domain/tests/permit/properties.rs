//! Whatever the rules, the fence and earlier answers are: nothing that is stricter ever frees anything.

use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::*;

const RULES: [&str; 12] = [
    "bash",
    "bash(git)",
    "bash(git push)",
    "bash(ls)",
    "bash(cargo test)",
    "run_tests",
    "run_tests(cargo test)",
    "write_file",
    "write_file(src)",
    "write_file(src/.env)",
    "edit_file",
    "read_file(src)",
];

const CALLS: [&str; 14] = [
    "bash: ls",
    "bash: git push",
    "bash: git status; ls",
    "bash: ls $(git push)",
    "bash: ls > x",
    "bash: cargo test | ls",
    "run_tests: cargo test",
    "write_file: src/a",
    "write_file: src/.env",
    "edit_file: src/a",
    "read_file: src/a",
    "search",
    "bash: env git push",
    "write_file: .git/a",
];

fn any_rules() -> impl Strategy<Value = [Vec<&'static str>; 3]> {
    let some = || subsequence(&RULES[..], 0..=4);
    (some(), some(), some()).prop_map(|(allow, ask, deny)| [allow, ask, deny])
}

fn any_requester() -> impl Strategy<Value = Requester> {
    select(vec![parent(), child(1, "worker"), child(2, "worker"), child(3, "tester")])
}

fn any_given() -> impl Strategy<Value = Allowances> {
    let answers = select(vec![Answer::Once, Answer::Child, Answer::Session]);
    let one = (answers, any_requester(), select(&CALLS[..]));
    proptest::collection::vec(one, 0..4).prop_map(|answers| {
        let mut given = Allowances::default();
        for (answer, requester, call) in answers {
            let call = Call::new(call);
            let shown = if call.command.is_some() { "git" } else { "src" };
            let prefix = permit::prefix_of(&call.view(), shown);
            given.keep(&answer, &requester, &call.view(), prefix);
        }
        given
    })
}

fn any_situation() -> impl Strategy<Value = (Mode, FenceLevel, Allowances, Requester, &'static str)>
{
    (select(&Mode::ALL[..]), select(&LEVELS[..]), any_given(), any_requester(), select(&CALLS[..]))
}

fn under(
    [allow, ask, deny]: &[Vec<&'static str>; 3],
    (mode, level, given, requester, call): &(Mode, FenceLevel, Allowances, Requester, &'static str),
) -> Verdict {
    let rules = Rules::parse(allow, ask, deny).unwrap();
    let fence = fence(*level);
    let standing = Standing { mode: *mode, fence: &fence, rules: &rules, allowances: given };
    permit::decide(&standing, requester, &Call::new(call).view())
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn a_stricter_rule_never_frees_anything(
        rules in any_rules(),
        more in select(&RULES[..]),
        deny in any::<bool>(),
        situation in any_situation(),
    ) {
        let mut stricter = rules.clone();
        stricter[if deny { 2 } else { 1 }].push(more);
        prop_assert!(freedom(&under(&stricter, &situation)) <= freedom(&under(&rules, &situation)));
    }

    #[test]
    fn the_order_of_rules_makes_no_difference(rules in any_rules(), situation in any_situation()) {
        let mut turned = rules.clone();
        for list in &mut turned {
            list.reverse();
        }
        let (there, back) = (under(&rules, &situation), under(&turned, &situation));
        prop_assert_eq!(freedom(&there), freedom(&back));
    }

    #[test]
    fn a_weaker_fence_never_frees_anything(rules in any_rules(), situation in any_situation()) {
        let (mode, _, given, requester, call) = situation;
        let at = |level| under(&rules, &(mode, level, given.clone(), requester.clone(), call));
        prop_assert!(freedom(&at(FenceLevel::Unfenced)) <= freedom(&at(FenceLevel::Partial)));
        prop_assert!(freedom(&at(FenceLevel::Partial)) <= freedom(&at(FenceLevel::Fenced)));
    }

    #[test]
    fn an_answer_frees_nobody_but_its_class_of_askers_and_no_other_tool(
        answer in select(vec![Answer::Once, Answer::Child, Answer::Session]),
        asker in any_requester(),
        call in select(&CALLS[..]),
        other in select(&CALLS[..]),
        requester in any_requester(),
    ) {
        let (call, other) = (Call::new(call), Call::new(other));
        let mut given = Allowances::default();
        given.keep(&answer, &asker, &call.view(), permit::prefix_of(&call.view(), "git"));
        let (rules, fence) = (Rules::default(), fence(FenceLevel::Fenced));
        let standing = Standing { mode: Mode::Ask, fence: &fence, rules: &rules, allowances: &given };
        let found = permit::decide(&standing, &requester, &other.view());
        let class = |who: &Requester| match who {
            Requester::Parent { .. } => "the parent".to_owned(),
            Requester::Child { role, .. } => role.clone(),
        };
        if found == (Verdict::Allow { by: Decider::Earlier }) {
            prop_assert_eq!(class(&asker), class(&requester));
            prop_assert_eq!(call.tool, other.tool);
        }
    }

    #[test]
    fn an_allowed_prefix_never_covers_a_command_with_another_part(
        tail in "[a-z ;&|<>$()`'\"\n]{0,12}",
        glue in select(&[";", "&&", "||", "|", "\n", "&"][..]),
        text in "[a-z$()`'\"<> ]{0,8}",
    ) {
        let first = Call::new("bash: git push");
        let mut given = Allowances::default();
        given.keep(&Answer::Session, &parent(), &first.view(), permit::prefix_of(&first.view(), "git push"));
        let call = Call::new(&format!("bash: git push {tail}{glue} x{text}"));
        let found = verdict(Mode::Ask, FenceLevel::Fenced, &Rules::default(), &given, &call);
        let parsed = call.command.as_ref().unwrap();
        if found != Verdict::Ask {
            // Only where the rest is quoted or the file of a redirection, and so no command.
            prop_assert!(parsed.complete && parsed.parts.iter().all(|part| part.starts_with(&["git".into(), "push".into()])));
            prop_assert!(tail.contains(['\'', '"', '<']));
        }
    }
}
