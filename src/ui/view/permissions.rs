//! The page of permissions: what may be done without asking, how commands are fenced, and how both
//! can be changed.

use crate::domain::approval::Mode;
use crate::domain::fence::NETWORK_OPEN;
use crate::domain::rules::Rules;
use crate::sanitize;
use crate::story::{Asker, Grant, Story};

use super::super::lang::Lang;
use super::super::overlay::Paragraph;
use super::super::paint::Tone;
use super::detail::PageFacts;
use super::{preflight, words};

/// All of it.
pub fn page(story: &Story, facts: PageFacts<'_>, lang: Lang) -> Vec<Paragraph> {
    let mut page = vec![Paragraph::heading(lang.pick("Permission mode", "权限模式"))];
    for mode in Mode::ALL {
        let holds = mode.name() == facts.mode;
        let mark = if holds { "▸" } else { " " };
        let label = format!("{mark} {}", mode.name());
        let tone = if holds { Tone::Strong } else { Tone::Plain };
        page.push(Paragraph::named(label, words::mode(mode, lang)).toned(tone));
    }
    let keys = lang.pick(
        "Shift+Tab takes the next one, /permissions MODE any of them. Rules of the configuration \
         come first, and of several that fit the stricter one wins.",
        "Shift+Tab 换到下一个，/permissions 模式 可任选。配置中的规则优先；多条适用时取更严的。",
    );
    page.extend([Paragraph::plain(keys).toned(Tone::Quiet), Paragraph::gap()]);
    page.push(Paragraph::heading(lang.pick("Before a child starts", "子代理启动前")));
    page.push(Paragraph::plain(preflight::policy(story.preflight(), lang)));
    let keys = lang.pick(
        "/permissions preflight always, or never, changes it.",
        "/permissions preflight always 或 never 可更改。",
    );
    page.extend([Paragraph::plain(keys).toned(Tone::Quiet), Paragraph::gap()]);
    page.push(Paragraph::heading(lang.pick("Fence around commands", "命令的隔离")));
    page.extend(fence(facts.fence.unwrap_or_default(), lang));
    page.push(Paragraph::gap());
    page.push(Paragraph::heading(lang.pick("Rules of the configuration", "配置中的规则")));
    page.extend(rules(facts.rules, lang));
    page.push(Paragraph::gap());
    page.push(Paragraph::heading(lang.pick("Allowed in this session", "本会话中已允许")));
    page.extend(grants(story, lang));
    page
}

/// Each list that says anything.
fn rules(rules: &Rules, lang: Lang) -> Vec<Paragraph> {
    let lists = [
        (lang.pick("deny", "禁止"), &rules.deny),
        (lang.pick("ask", "询问"), &rules.ask),
        (lang.pick("allow", "允许"), &rules.allow),
    ];
    let told = lists.into_iter().filter(|(_, rules)| !rules.is_empty()).map(|(label, rules)| {
        let texts: Vec<String> = rules.iter().map(ToString::to_string).collect();
        Paragraph::named(label, texts.join("\n"))
    });
    or_none(told.collect(), lang)
}

/// What was answered with more than a yes to one call.
fn grants(story: &Story, lang: Lang) -> Vec<Paragraph> {
    let told = story.grants().iter().map(|grant| {
        let what = format!("{}({})", grant.tool, sanitize::reveal(&grant.prefix));
        Paragraph::named(what, whom(grant, story, lang))
    });
    or_none(told.collect(), lang)
}

fn whom(grant: &Grant, story: &Story, lang: Lang) -> String {
    let node = match grant.asker {
        Asker::Parent => None,
        Asker::Child(id) => story.delegations().get(id),
    };
    match (node, grant.session) {
        (None, true) => lang.pick("the parent, this session", "本会话内的父代理").to_owned(),
        (None, false) => lang.pick("one answer of the parent", "父代理的一次回答").to_owned(),
        (Some(node), false) => words::name(node),
        (Some(node), true) => match lang {
            Lang::En => format!("all {} children, this session", node.role),
            Lang::Zh => format!("本会话内全部 {} 子代理", node.role),
        },
    }
}

fn or_none(told: Vec<Paragraph>, lang: Lang) -> Vec<Paragraph> {
    if told.is_empty() {
        vec![Paragraph::plain(lang.pick("none", "无")).toned(Tone::Quiet)]
    } else {
        told
    }
}

fn fence(fence: &str, lang: Lang) -> Vec<Paragraph> {
    let (level, missing) = split(fence);
    let (means, tone) = match level {
        "fenced" => (
            if is_open(fence) {
                lang.pick(
                    "commands reach the workspace and what tools need, not your other files or \
                     other processes",
                    "命令只能触及工作区与工具所需，不能触及你的其他文件或其他进程",
                )
            } else {
                lang.pick(
                    "commands reach the workspace and what tools need, not your other files, the \
                     network, or other processes",
                    "命令只能触及工作区与工具所需，不能触及你的其他文件、网络或其他进程",
                )
            },
            Tone::Good,
        ),
        "partial" => (
            lang.pick(
                "something is missing; where it matters you are asked, whatever the mode",
                "有所缺失；在要紧处无论何种模式都会询问你",
            ),
            Tone::Warning,
        ),
        "unfenced" => (
            lang.pick(
                "nothing holds a command but the system's own permissions: it can read and change \
                 all that you can. Only offshoot's own environment and memory are protected",
                "除系统自身权限外没有任何限制：命令能读写你能读写的一切。受保护的只有 offshoot 自身的环境与内存",
            ),
            Tone::Bad,
        ),
        _ => (lang.pick("not known yet", "尚不清楚"), Tone::Quiet),
    };
    let level = if level.is_empty() { "-" } else { level };
    let mut page = vec![Paragraph::named(level, means).toned(tone)];
    if is_open(fence) {
        let words = lang.pick(
            "commands have the whole network (fence.network); they are asked about, whatever the \
             mode, unless a rule allows them by name",
            "命令可用整个网络（fence.network）；无论何种模式都会询问，除非规则按名允许",
        );
        page.push(
            Paragraph::named(lang.pick("network open", "网络开放"), words).toned(Tone::Warning),
        );
    }
    for what in missing {
        page.push(Paragraph::named(lang.pick("missing", "缺失"), what).toned(Tone::Warning));
    }
    page
}

/// The level, and each thing that is missing.
pub fn split(fence: &str) -> (&str, Vec<&str>) {
    let fence = fence.strip_suffix(NETWORK_OPEN).unwrap_or(fence);
    match fence.split_once(" (") {
        Some((level, rest)) => {
            (level, rest.strip_suffix(')').unwrap_or(rest).split(", ").collect())
        }
        None => (fence, Vec::new()),
    }
}

/// The level, and whether the network is open, where there is no room for what is missing.
pub fn in_short(fence: &str) -> String {
    let open = if is_open(fence) { NETWORK_OPEN } else { "" };
    format!("{}{open}", split(fence).0)
}

fn is_open(fence: &str) -> bool {
    fence.ends_with(NETWORK_OPEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_says_what_is_missing_one_by_one() {
        assert_eq!(split("fenced"), ("fenced", vec![]));
        let expected = ("partial", vec!["network not fenced", "signals not fenced"]);
        assert_eq!(split("partial (network not fenced, signals not fenced)"), expected);
        let open = "partial (signals not fenced) · network open";
        assert_eq!(split(open), ("partial", vec!["signals not fenced"]));
        assert_eq!(in_short(open), "partial · network open");
        assert_eq!(in_short("fenced"), "fenced");
    }
}
