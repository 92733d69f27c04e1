//! What the screen itself knows: where the reader is, what is folded, what is being typed. None of
//! it comes from the runtime, and none of it is ever told to it.

use std::collections::VecDeque;
use std::time::Duration;

use crate::domain::approval::Mode;
use crate::domain::command::BudgetChoice;
use crate::domain::event::Timestamp;
use crate::domain::rules::Rules;
use crate::story::Story;

use super::asking::Questions;
use super::composer::Composer;
use super::conversation_pane::ConversationPane;
use super::delegations_pane::DelegationsPane;
use super::lang::Lang;
use super::layout::{Areas, Choices, Focus};
use super::overlay::Overlay;
use super::paint::{Palette, Tone};
use super::trust::Trust;
use super::view::approval;
use super::view::detail::PageFacts;

/// What the header shows and no event tells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeaderFacts {
    /// The workspace as people write it, `~/code/demo`.
    pub workspace: String,
    /// The branch that is checked out.
    pub branch: Option<String>,
    /// Who answers.
    pub model: String,
    /// What is allowed: `read-only`, `ask`...
    pub mode: String,
    /// How commands are fenced; `None` while there are none.
    pub fence: Option<String>,
    /// The rules of the configuration about calls.
    pub rules: Rules,
    /// The model's context window in tokens, if known.
    pub context_window: Option<u64>,
    /// False for the embedded researcher: then one line says so and what to do.
    pub language_model: bool,
}

/// Where answers come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answers {
    /// A language model.
    Model,
    /// A file of prepared turns.
    Script,
    /// The embedded researcher.
    Search,
}

/// How long the question whether to stop stands, in ms.
pub const QUESTION_MS: u64 = 3_000;
/// Within this time a second Ctrl+C quits, in ms.
pub const QUIT_MS: u64 = 2_000;
/// How long the screen's own notice stands, in ms.
pub const FLASH_MS: u64 = 5_000;
/// From one picture of the spinner to the next, in ms.
pub const SPINNER_MS: u64 = 125;

/// A notice of the screen itself, in the footer for a few seconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flash {
    /// The words.
    pub text: String,
    /// How serious.
    pub tone: Tone,
    /// Since when.
    pub since: Timestamp,
}

/// The state of the view.
#[derive(Debug)]
pub struct Screen {
    /// Which language it speaks.
    pub lang: Lang,
    /// The colours, or none.
    pub palette: Palette,
    /// The terminal's size in cells.
    pub size: (u16, u16),
    /// What the header shows and no event tells.
    pub header: HeaderFacts,
    /// Where answers come from.
    pub answers: Answers,
    /// What the keys go to.
    pub focus: Focus,
    /// What is being typed.
    pub composer: Composer,
    /// Where the reader is in the conversation.
    pub conversation: ConversationPane,
    /// Where the reader is among the children.
    pub delegations: DelegationsPane,
    /// The page over the panes.
    pub overlay: Option<Overlay>,
    /// True for one pane on the full screen.
    pub zoomed: bool,
    /// The conversation's part of the panes' room, in percent.
    pub divider: u16,
    /// When it was asked whether to stop everything.
    pub question: Option<Timestamp>,
    /// When Ctrl+C was pressed last.
    pub interrupted: Option<Timestamp>,
    /// The screen's own notice.
    pub flash: Option<Flash>,
    /// What the user sent and the history does not have yet, oldest first.
    pub pending: VecDeque<String>,
    /// The budget that was set and that no answer has got yet.
    pub next_budget: Option<BudgetChoice>,
    /// The calls that are asked about.
    pub questions: Questions,
    /// The question before the chat.
    pub trust: Option<Trust>,
    /// The permission mode that was asked for and does not hold yet.
    pub asked_mode: Option<Mode>,
    /// True while the answer to `/diff` has not come.
    pub asked_diff: bool,
    /// True once the session was asked to end.
    pub leaving: bool,
}

impl Screen {
    /// A screen on which nothing has happened.
    pub fn new(lang: Lang, palette: Palette, header: HeaderFacts, size: (u16, u16)) -> Self {
        Self {
            lang,
            palette,
            size,
            answers: if header.language_model { Answers::Model } else { Answers::Search },
            header,
            focus: Focus::Composer,
            composer: Composer::new(lang),
            conversation: ConversationPane::new(lang),
            delegations: DelegationsPane::default(),
            overlay: None,
            zoomed: false,
            divider: 52,
            question: None,
            interrupted: None,
            flash: None,
            pending: VecDeque::new(),
            next_budget: None,
            questions: Questions::default(),
            trust: None,
            asked_mode: None,
            asked_diff: false,
            leaving: false,
        }
    }

    /// Where everything is at the moment.
    pub fn areas(&self, story: &Story) -> Areas {
        let (width, height) = self.size;
        let rows = self.composer.height(composer_width(width));
        let choices = Choices {
            focus: self.focus,
            zoomed: self.zoomed,
            divider: self.divider,
            composer_rows: u16::try_from(rows).unwrap_or(u16::MAX),
            has_children: !story.delegations().nodes().is_empty(),
        };
        Areas::of(width, height, choices)
    }

    /// Brings everything that depends on the size and on what is new up to date, at the cost of
    /// what is visible. The views only read after that.
    pub fn prepare(&mut self, story: &Story, now: Timestamp) -> Areas {
        let areas = self.areas(story);
        let intro = self.intro();
        self.conversation.arrange(story, &self.pending, intro, areas.conversation);
        self.delegations.arrange(story, areas.delegations);
        if let Some(mut overlay) = self.overlay.take() {
            let facts = PageFacts {
                model: &self.header.model,
                next: self.next_budget,
                mode: self.mode(story),
                fence: self.fence(story),
                rules: &self.header.rules,
            };
            overlay.arrange(story, facts, self.lang, areas, now);
            self.overlay = Some(overlay);
        }
        approval::arrange(self, story, areas, now);
        areas
    }

    /// True if there is more text than the newest frame has taken in.
    pub fn is_behind(&self) -> bool {
        self.conversation.is_behind() || self.delegations.is_behind()
    }

    /// True if letters go into the input.
    pub fn is_typing(&self) -> bool {
        self.is_asked() || (self.focus == Focus::Composer && self.overlay.is_none())
    }

    /// True while a question lies over the panes. Letters that come at once are a text then: an
    /// answer is one key.
    pub fn is_asked(&self) -> bool {
        self.trust.is_some() || self.questions.open.is_some()
    }

    /// The permission mode that holds.
    pub fn mode<'a>(&'a self, story: &'a Story) -> &'a str {
        story.session().map_or(&self.header.mode, |session| &session.permission_mode)
    }

    /// How commands are fenced, what is missing included.
    pub fn fence<'a>(&'a self, story: &'a Story) -> Option<&'a str> {
        let told = story.session().map(|session| session.fence.as_str());
        told.or(self.header.fence.as_deref())
    }

    /// Takes note of who answers, which may have been found only after the first frame.
    pub fn answered_by(&mut self, provider: &str, model: &str) {
        self.answers = match provider {
            "script" => Answers::Script,
            "offline" => Answers::Search,
            _ => Answers::Model,
        };
        model.clone_into(&mut self.header.model);
    }

    /// The conversation's first words.
    pub fn intro(&self) -> &'static str {
        match self.answers {
            Answers::Model => {
                self.lang.pick("Ask something. F1 shows the keys.", "请提问。F1 查看按键。")
            }
            Answers::Script => self.lang.pick(
                "script · no language model: answers are played from a file. F1 shows the keys.",
                "脚本 · 没有语言模型：回答按文件播放。F1 查看按键。",
            ),
            Answers::Search => self.lang.pick(
                "offline · no language model: answers come from searching this folder.\n\
                 For a model set ANTHROPIC_API_KEY or OPENAI_API_KEY, or run Ollama.",
                "离线 · 没有语言模型：回答来自对此文件夹的搜索。\n\
                 如需模型，请设置 ANTHROPIC_API_KEY 或 OPENAI_API_KEY，或运行 Ollama。",
            ),
        }
    }

    /// Says something in the footer.
    pub fn say(&mut self, text: impl Into<String>, tone: Tone, now: Timestamp) {
        self.flash = Some(Flash { text: text.into(), tone, since: now });
    }

    /// Lets go of what has had its time.
    pub fn expire(&mut self, now: Timestamp) {
        let over = |since: Timestamp, limit: u64| now.millis_since(since) >= limit;
        if self.question.is_some_and(|since| over(since, QUESTION_MS)) {
            self.question = None;
        }
        if self.interrupted.is_some_and(|since| over(since, QUIT_MS)) {
            self.interrupted = None;
        }
        if self.flash.as_ref().is_some_and(|flash| over(flash.since, FLASH_MS)) {
            self.flash = None;
        }
    }

    /// When the next frame is due although nothing happens; `None` if nothing ages.
    pub fn next_wake(&self, story: &Story, now: Timestamp) -> Option<Duration> {
        let left = |since: Timestamp, limit: u64| limit.saturating_sub(now.millis_since(since));
        let running =
            story.is_running() || story.runs_own_command() || story.delegations().live_count() > 0;
        let due = [
            running.then_some(SPINNER_MS - now.0 % SPINNER_MS),
            self.question.map(|since| left(since, QUESTION_MS)),
            self.interrupted.map(|since| left(since, QUIT_MS)),
            self.flash.as_ref().map(|flash| left(flash.since, FLASH_MS)),
        ];
        due.into_iter().flatten().min().map(|ms| Duration::from_millis(ms.max(1)))
    }
}

/// Cells for the input's text: its prompt, the border and room for the caret are taken off.
pub fn composer_width(width: u16) -> usize {
    usize::from(width.saturating_sub(5)).max(1)
}
