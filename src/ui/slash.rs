//! Slash commands: what was typed, read into what it means. What is not built is refused by name.

use crate::domain::approval::Mode;
use crate::domain::budget::Preset;
use crate::domain::command::{BudgetChoice, Steer};
use crate::domain::ids::TaskId;
use crate::domain::preflight::PreflightPolicy;
use crate::domain::role::RoleTable;

use super::lang::Lang;
use super::steering::Whom;

/// What a line that starts with `/` asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Slash {
    /// The page of keys.
    Help,
    /// Cancel a child: this one, or the active one.
    Cancel(Option<TaskId>),
    /// Steer a live run.
    Steer {
        /// Which.
        whom: Whom,
        /// How.
        steer: Steer,
    },
    /// Stop the answer and all children.
    Stop,
    /// Have the parent delegate this.
    Delegate {
        /// The role, if the first word is one.
        role: Option<String>,
        /// What.
        text: String,
    },
    /// Show the ledger, or set what the next run gets.
    Budget(Option<BudgetChoice>),
    /// Summarise the conversation.
    Compact,
    /// List the models, or take another one.
    Model(Option<String>),
    /// Show what may be done without asking, or choose it.
    Permissions(Option<Mode>),
    /// Whether delegations are asked about.
    Preflight(PreflightPolicy),
    /// Answer the oldest call that waits for approval.
    Approve,
    /// Keep a text that tasks can choose as context.
    Pin {
        /// The key.
        name: String,
        /// The text, or `@` and a file of the workspace.
        text: String,
        /// True if only a model on this machine may be given it.
        local_only: bool,
    },
    /// Show what tasks can be given by key.
    Context,
    /// Show what changed: by this child, or by the newest answer and all it delegated.
    Diff(Option<TaskId>),
    /// End the session.
    Quit,
}

/// Why a line that starts with `/` is no command, in words for the footer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused(pub String);

/// The commands that work, with what they take.
pub const COMMANDS: [(&str, &str, &str, &str); 17] = [
    ("/help", "", "keys and commands", "按键与命令"),
    ("/cancel", "[#N]", "cancel a child; its parent goes on", "取消一个子代理；父代理继续"),
    (
        "/wrapup",
        "[#N]",
        "have a child, or #0 the answer, report now",
        "让子代理（#0 为回答）立即汇报",
    ),
    (
        "/pause",
        "[#N]",
        "pause a child, or #0 the answer; again: go on",
        "暂停子代理（#0 为回答）；再次则继续",
    ),
    (
        "/extend",
        "[#N]",
        "let a child, or #0 the answer, use half as much again",
        "预算增加一半（#0 为回答）",
    ),
    ("/tell", "[#N] TEXT", "tell a child TEXT before its next turn", "在子代理下一轮前告知 TEXT"),
    (
        "/stop",
        "",
        "stop the answer, every child and your command",
        "停止回答、所有子代理与你的命令",
    ),
    ("/delegate", "[ROLE] TEXT", "have the parent delegate TEXT", "让父代理委派 TEXT"),
    (
        "/budget",
        "[tight|normal|generous|TURNS]",
        "the ledger; or the budget from the next answer on",
        "账目；或设定自下一次回答起的预算",
    ),
    ("/compact", "", "summarise what came before", "概括之前的对话"),
    ("/model", "[NAME]", "the models there are; or take another one", "可用模型；或换用另一个"),
    (
        "/permissions",
        "[read-only|ask|auto-edit|full-access] | preflight always|never",
        "what may be done without asking, and the fence; or another mode; or whether to ask before \
         each child starts",
        "权限模式与隔离；或换用另一模式；或子代理启动前是否询问",
    ),
    ("/approve", "", "answer the oldest call that waits for approval", "答复最早的等待批准的调用"),
    (
        "/diff",
        "[#N]",
        "what the newest answer and its children changed; or one child",
        "最近回答及其子代理的改动；或某个子代理的",
    ),
    (
        "/pin",
        "[--local] NAME TEXT|@FILE",
        "keep a text that tasks can choose as context; --local: only for a model on this machine",
        "固定一段可供任务选用的上下文；--local：仅供本机模型",
    ),
    ("/context", "", "what tasks can be given by key", "任务可按名取得的内容"),
    ("/quit", "", "end the session", "结束会话"),
];

/// Commands that are planned and do not work yet.
const PLANNED: [&str; 14] = [
    "/role",
    "/sessions",
    "/resume",
    "/new",
    "/clear",
    "/rewind",
    "/cost",
    "/stats",
    "/export",
    "/init",
    "/theme",
    "/lang",
    "/doctor",
    "/retry",
];

/// Reads a line. `None` if it is a message: it does not start with `/` and a word of letters.
pub fn read(text: &str, lang: Lang) -> Option<Result<Slash, Refused>> {
    let trimmed = text.trim();
    let (word, rest) = trimmed.split_once(char::is_whitespace).unwrap_or((trimmed, ""));
    let name = word.strip_prefix('/')?;
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c)) {
        return None;
    }
    Some(command(word, rest.trim(), lang))
}

fn command(word: &str, rest: &str, lang: Lang) -> Result<Slash, Refused> {
    match word {
        "/help" => Ok(Slash::Help),
        "/stop" => Ok(Slash::Stop),
        "/quit" => Ok(Slash::Quit),
        "/cancel" => Ok(Slash::Cancel(task(rest, "/cancel", lang)?)),
        "/wrapup" => Ok(Slash::Steer { whom: whom(rest, word, lang)?, steer: Steer::WrapUp }),
        "/pause" => Ok(Slash::Steer { whom: whom(rest, word, lang)?, steer: Steer::Pause }),
        "/extend" => Ok(Slash::Steer { whom: whom(rest, word, lang)?, steer: Steer::Extend }),
        "/tell" => tell(rest, lang),
        "/diff" => Ok(Slash::Diff(task(rest, "/diff", lang)?)),
        "/approve" => Ok(Slash::Approve),
        "/pin" => pin(rest, lang),
        "/context" => Ok(Slash::Context),
        "/permissions" => permissions(rest, lang),
        "/delegate" => delegate(rest, lang),
        "/budget" => budget(rest, lang),
        "/compact" => Ok(Slash::Compact),
        "/model" => Ok(Slash::Model((!rest.is_empty()).then(|| rest.to_owned()))),
        planned if PLANNED.contains(&planned) => Err(Refused(format!(
            "{planned} {}",
            lang.pick("is not built yet; /help lists what works", "尚未实现；/help 列出可用命令")
        ))),
        unknown => Err(Refused(format!(
            "{unknown} {}",
            lang.pick("is no command; /help lists them", "不是命令；/help 列出全部命令")
        ))),
    }
}

/// A child's number, if there is one.
fn task(rest: &str, command: &str, lang: Lang) -> Result<Option<TaskId>, Refused> {
    if rest.is_empty() {
        return Ok(None);
    }
    let number = rest.strip_prefix('#').unwrap_or(rest);
    number.parse().map(Some).map_err(|_| {
        Refused(match lang {
            Lang::En => format!("`{rest}` is no child's number: {command} #3, or {command} alone"),
            Lang::Zh => format!("`{rest}` 不是子代理编号：{command} #3，或仅 {command}"),
        })
    })
}

fn pin(rest: &str, lang: Lang) -> Result<Slash, Refused> {
    let local = rest.strip_prefix("--local").filter(|rest| rest.starts_with(char::is_whitespace));
    let (local_only, rest) = local.map_or((false, rest), |rest| (true, rest.trim_start()));
    let (name, text) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if name.is_empty() || text.trim().is_empty() {
        let usage = lang.pick(
            "say what to pin: /pin [--local] NAME TEXT, or @FILE for the text",
            "请写明要固定的内容：/pin [--local] 名称 文字，或用 @文件",
        );
        return Err(Refused(usage.to_owned()));
    }
    Ok(Slash::Pin { name: name.to_owned(), text: text.trim().to_owned(), local_only })
}

/// Who is to be steered; `#0` is the answer.
fn whom(rest: &str, command: &str, lang: Lang) -> Result<Whom, Refused> {
    Ok(match task(rest, command, lang)? {
        None => Whom::Active,
        Some(TaskId(0)) => Whom::Parent,
        Some(task) => Whom::Task(task),
    })
}

/// A number that comes first, then the words.
fn tell(rest: &str, lang: Lang) -> Result<Slash, Refused> {
    let (first, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let (whom, text) = if first.starts_with('#') {
        (whom(first, "/tell", lang)?, after.trim())
    } else {
        (Whom::Active, rest)
    };
    if text.is_empty() {
        let usage = lang.pick("say what to tell: /tell [#N] TEXT", "请写明内容：/tell [#N] 内容");
        return Err(Refused(usage.to_owned()));
    }
    Ok(Slash::Steer { whom, steer: Steer::Tell { text: text.to_owned() } })
}

fn permissions(rest: &str, lang: Lang) -> Result<Slash, Refused> {
    if rest.is_empty() {
        return Ok(Slash::Permissions(None));
    }
    if let Some((word, policy)) = rest.split_once(char::is_whitespace)
        && word == "preflight"
    {
        return preflight(policy.trim(), lang);
    }
    if rest == "preflight" {
        return preflight("", lang);
    }
    Mode::from_name(rest).map(|mode| Slash::Permissions(Some(mode))).ok_or_else(|| {
        let names = Mode::ALL.map(Mode::name);
        let no_mode = lang.pick("is no permission mode: ", "不是权限模式：");
        Refused(format!("`{rest}` {no_mode}{}", names.join(lang.pick(", ", "、"))))
    })
}

fn preflight(word: &str, lang: Lang) -> Result<Slash, Refused> {
    PreflightPolicy::from_name(word).map(Slash::Preflight).ok_or_else(|| {
        let usage = lang.pick(
            "say whether to ask before children start: /permissions preflight always, or never",
            "请写明子代理启动前是否询问：/permissions preflight always 或 never",
        );
        Refused(usage.to_owned())
    })
}

fn delegate(rest: &str, lang: Lang) -> Result<Slash, Refused> {
    if rest.is_empty() {
        let usage = lang.pick(
            "say what to delegate: /delegate [ROLE] TEXT",
            "请写明委派内容：/delegate [角色] 内容",
        );
        return Err(Refused(usage.to_owned()));
    }
    let roles = RoleTable::built_in(Preset::default());
    if let Some((first, text)) = rest.split_once(char::is_whitespace)
        && roles.get(first).is_some()
        && !text.trim().is_empty()
    {
        return Ok(Slash::Delegate { role: Some(first.to_owned()), text: text.trim().to_owned() });
    }
    if roles.get(rest).is_some() {
        let usage = lang.pick("say what it is to do", "请写明要做什么");
        return Err(Refused(format!("/delegate {rest}: {usage}")));
    }
    Ok(Slash::Delegate { role: None, text: rest.to_owned() })
}

fn budget(rest: &str, lang: Lang) -> Result<Slash, Refused> {
    if rest.is_empty() {
        return Ok(Slash::Budget(None));
    }
    if let Some(preset) = Preset::ALL.into_iter().find(|preset| preset.name() == rest) {
        return Ok(Slash::Budget(Some(BudgetChoice::Preset(preset))));
    }
    match rest.parse::<u64>() {
        Ok(turns) if turns > 0 => Ok(Slash::Budget(Some(BudgetChoice::Turns(turns)))),
        Ok(_) | Err(_) => Err(Refused(format!(
            "`{rest}` {}",
            lang.pick(
                "is no budget: tight, normal, generous, or a number of turns from 1",
                "不是预算：tight、normal、generous 或不小于 1 的轮数"
            )
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_mean_what_they_say() {
        let cancel = |number| Slash::Cancel(Some(TaskId(number)));
        let table = [
            ("/help", Slash::Help),
            (" /stop ", Slash::Stop),
            ("/cancel", Slash::Cancel(None)),
            ("/cancel #3", cancel(3)),
            ("/cancel t4", cancel(4)),
            ("/wrapup", Slash::Steer { whom: Whom::Active, steer: Steer::WrapUp }),
            ("/pause #3", Slash::Steer { whom: Whom::Task(TaskId(3)), steer: Steer::Pause }),
            ("/extend #0", Slash::Steer { whom: Whom::Parent, steer: Steer::Extend }),
            (
                "/tell #3 look in\ntests",
                Slash::Steer {
                    whom: Whom::Task(TaskId(3)),
                    steer: Steer::Tell { text: "look in\ntests".into() },
                },
            ),
            (
                "/tell look",
                Slash::Steer { whom: Whom::Active, steer: Steer::Tell { text: "look".into() } },
            ),
            ("/budget", Slash::Budget(None)),
            ("/permissions", Slash::Permissions(None)),
            ("/permissions auto-edit", Slash::Permissions(Some(Mode::AutoEdit))),
            ("/permissions preflight always", Slash::Preflight(PreflightPolicy::Always)),
            ("/permissions  preflight  never", Slash::Preflight(PreflightPolicy::Never)),
            ("/approve", Slash::Approve),
            ("/diff", Slash::Diff(None)),
            ("/diff #3", Slash::Diff(Some(TaskId(3)))),
            ("/budget tight", Slash::Budget(Some(BudgetChoice::Preset(Preset::Tight)))),
            ("/context", Slash::Context),
            (
                "/pin spec two\nlines",
                Slash::Pin { name: "spec".into(), text: "two\nlines".into(), local_only: false },
            ),
            (
                "/pin --local spec @docs/a b.md",
                Slash::Pin { name: "spec".into(), text: "@docs/a b.md".into(), local_only: true },
            ),
            ("/budget 7", Slash::Budget(Some(BudgetChoice::Turns(7)))),
            (
                "/delegate planner split it\nnow",
                Slash::Delegate { role: Some("planner".into()), text: "split it\nnow".into() },
            ),
            (
                "/delegate worker mend it",
                Slash::Delegate { role: Some("worker".into()), text: "mend it".into() },
            ),
            ("/delegate find planner", Slash::Delegate { role: None, text: "find planner".into() }),
        ];
        for (line, meaning) in table {
            assert_eq!(read(line, Lang::En), Some(Ok(meaning)), "{line}");
        }
    }

    #[test]
    fn what_does_not_exist_is_refused_by_name_and_a_path_is_a_message() {
        for line in [
            "/role",
            "/nope",
            "/cancel x",
            "/budget 0",
            "/budget -3",
            "/permissions all",
            "/permissions preflight",
            "/permissions preflight sometimes",
            "/diff x",
            "/pin",
            "/pin name",
            "/pin --local name",
            "/pause x",
            "/tell",
            "/tell #3",
            "/tell #x y",
            "/delegate",
            "/delegate tester",
        ] {
            assert!(matches!(read(line, Lang::En), Some(Err(_))), "{line}");
        }
        let refused = |line| match read(line, Lang::Zh) {
            Some(Err(Refused(words))) => words,
            other => panic!("{other:?}"),
        };
        assert!(refused("/delegate worker").starts_with("/delegate worker: "));
        assert!(refused("/theme dark").starts_with("/theme"));
        for line in ["hello", "/etc/hosts is what?", "/", "a /help"] {
            assert_eq!(read(line, Lang::En), None, "{line}");
        }
    }
}
