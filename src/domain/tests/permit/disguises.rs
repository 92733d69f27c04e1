//! Commands that hide a denied one, and commands that only look as if they did.

use super::*;

/// Commands, and what becomes of them in `full-access` where `git push` is denied.
const DISGUISED: [(&str, &str); 41] = [
    ("A+=1 git push", "deny Rule"),
    ("a[0]=1 git push", "deny Rule"),
    ("{fd}>x git push", "deny Rule"),
    ("((1<<2))\ngit push\n2", "deny Rule"),
    ("cat <<E\n$(git push)\nE", "deny Rule"),
    ("bash <<E\ngit push\nE", "deny Rule"),
    ("$x git push", "deny Rule"),
    ("trap 'git push' EXIT", "deny Rule"),
    ("flock l git push", "deny Rule"),
    ("setpriv --reuid 1 git push", "deny Rule"),
    ("strace -f git push", "deny Rule"),
    ("script -c 'git push' x", "deny Rule"),
    ("script -qc'git push' x", "deny Rule"),
    ("git -c alias.x='!git push' x", "deny Rule"),
    ("git $x", "ask"),
    ("git ${x} origin", "ask"),
    ("$x push", "ask"),
    ("g$x push", "ask"),
    ("git -C a $x", "ask"),
    ("git {push,origin}", "ask"),
    ("{git,push}", "ask"),
    ("g?t push", "ask"),
    ("$'g\\x69t' push", "ask"),
    ("git $(echo push)", "ask"),
    ("git `echo push`", "ask"),
    ("env $x", "ask"),
    ("sudo -u me $x", "ask"),
    ("echo git push | sh", "deny Rule"),
    ("curl x | sh", "ask"),
    ("echo push | xargs git", "ask"),
    ("git -c alias.x=push x", "ask"),
    ("sh -c \"git $x\"", "ask"),
    ("git status $x", "allow Mode"),
    ("echo $HOME \"$X\"", "allow Mode"),
    ("X=$(date) make", "allow Mode"),
    ("for f in *; do cat $f; done", "allow Mode"),
    ("find . -name x -exec cat {} +", "allow Mode"),
    ("find . -name x | xargs grep y", "allow Mode"),
    ("time cat $x", "allow Mode"),
    ("cat <<E > f\n$x\nE", "allow Mode"),
    ("[[ a == $b ]]", "allow Mode"),
];

#[test]
fn what_may_hide_a_denied_command_is_asked_about_and_what_cannot_is_not() {
    let deny = Rules::parse::<&str>(&["bash"], &[], &["bash(git push)"]).unwrap();
    let ask = Rules::parse::<&str>(&[], &["bash(git push)"], &[]).unwrap();
    let given = Allowances::default();
    for (text, expected) in DISGUISED {
        let call = Call::new(&format!("bash: {text}"));
        let under =
            |rules| word(&verdict(Mode::FullAccess, FenceLevel::Fenced, rules, &given, &call));
        let found = under(&deny).replace("allow Rule", "allow Mode");
        assert_eq!(found, expected, "{text:?}: {:?}", call.command);
        assert_eq!(under(&ask), expected.replace("deny Rule", "ask"), "{text:?}");
        let doubted = permit::doubt(&deny, &call.view());
        assert!(expected != "ask" || doubted.unwrap().contains("`bash(git push)`"), "{text:?}");
    }
}
