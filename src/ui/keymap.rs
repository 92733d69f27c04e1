//! What keys mean and where. Key handling, the footer, the help page and the README's table are all
//! read from one table; a key that is not in it does not exist.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

pub use super::key_table::bindings;

use super::composer::Edit;
use super::lang::Lang;
use super::wrap;

/// What a key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Send the input, or open a new line after a backslash.
    Send,
    /// Change the input.
    Edit(Edit),
    /// A row up in the input, or an older prompt.
    InputUp,
    /// A row down in the input, or a newer prompt.
    InputDown,
    /// The start of the input's line, or of the conversation.
    InputStart,
    /// The end of the input's line, or of the conversation.
    InputEnd,
    /// Cancel the active child.
    CancelChild,
    /// Cancel the selected child.
    CancelSelected,
    /// Steer the selected child.
    Steer(Push),
    /// Close, leave, or ask whether to stop.
    Escape,
    /// The next pane.
    NextPane,
    /// To the conversation.
    ToConversation,
    /// To the children.
    ToDelegations,
    /// To the input.
    ToComposer,
    /// Move what is shown or selected.
    Move(Move),
    /// Open what is selected.
    Open,
    /// Answer the call that waits for a person's word.
    Answer(Key),
    /// Change a delegation that is asked about.
    Amend(Amend),
    /// Send the reason that was typed.
    SendReason,
    /// Back to the question without a reason.
    LeaveReason,
    /// Open the question that was put off.
    Reopen,
    /// Trust, or do not, what the folder brings along.
    Trust(bool),
    /// The next permission mode.
    NextMode,
    /// Fold or unfold the selected child.
    Fold,
    /// Show all, live or failed children.
    Filter,
    /// One pane on the full screen, or both.
    Zoom,
    /// The divider to the left, or up.
    DividerLess,
    /// The divider to the right, or down.
    DividerMore,
    /// Draw everything anew.
    Repaint,
    /// Go to the background.
    Suspend,
    /// The page of keys.
    Help,
    /// Clear the input, ask whether to stop, or quit.
    Interrupt,
    /// Quit from an empty input.
    EndOfInput,
}

/// A way to steer the selected child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Push {
    /// Start nothing new, or go on.
    Pause,
    /// Report in the next turn.
    WrapUp,
    /// Use half as much again.
    Extend,
    /// Write to it.
    Message,
}

/// A way to answer a call that waits for a person's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// Yes, this once.
    Once,
    /// Yes, for this run.
    Child,
    /// Yes, for the session.
    Session,
    /// No.
    No,
    /// No, with a reason to be typed.
    Reason,
    /// Not now.
    Later,
}

/// A way to change a delegation before its child starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amend {
    /// To the line above that can be changed.
    Up,
    /// To the line below.
    Down,
    /// The chosen number to the next smaller one.
    Lower,
    /// And back, never above what was shown.
    Raise,
    /// Drop the chosen key, or take it back.
    Drop,
}

/// A way to move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    /// A row up.
    Up,
    /// A row down.
    Down,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// To the start.
    Start,
    /// To the end, and follow it.
    End,
    /// The call or child before; in the children: fold.
    Left,
    /// The call or child after; in the children: unfold.
    Right,
}

/// Where a key works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Context {
    /// In the input.
    Composer,
    /// In both panes.
    Panes,
    /// Among the children.
    Delegations,
    /// On a page that lies over the panes.
    Overlay,
    /// While a call is asked about.
    Approval,
    /// While a delegation is asked about, beside [`Self::Approval`].
    Preflight,
    /// While the reason for a no is typed.
    Reason,
    /// While it is asked whether the folder is trusted.
    Trust,
    /// While anything is asked.
    Asked,
    /// Everywhere.
    Everywhere,
}

/// A key with what is held down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chord(pub KeyCode, pub KeyModifiers);

/// How the footer names a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hint {
    /// A word or two, in both languages.
    pub words: (&'static str, &'static str),
    /// Where there is no room, the highest is given up first, the last of equal ones.
    pub rank: u8,
    /// The keys, if they are not the first that the table names.
    pub key: Option<&'static str>,
}

/// One line of the table.
#[derive(Debug)]
pub struct Binding {
    /// Where it works.
    pub context: Context,
    /// The keys.
    pub chords: &'static [Chord],
    /// The keys as people write them.
    pub shown: &'static str,
    /// What they ask for.
    pub action: Action,
    /// What they do, in both languages.
    pub does: (&'static str, &'static str),
    /// How the footer names it; none if it is not shown there.
    pub footer: Option<Hint>,
    /// The slash command that does the same.
    pub command: Option<&'static str>,
}

/// The contexts that a key is looked up in, the nearest first.
pub fn contexts(overlay: bool, composer: bool, delegations: bool) -> &'static [Context] {
    match (overlay, composer, delegations) {
        (true, _, _) => &[Context::Overlay, Context::Everywhere],
        (false, true, _) => &[Context::Composer, Context::Everywhere],
        (false, false, true) => &[Context::Delegations, Context::Panes, Context::Everywhere],
        (false, false, false) => &[Context::Panes, Context::Everywhere],
    }
}

/// The contexts of a question about a call.
pub const APPROVAL: &[Context] = &[Context::Approval, Context::Asked, Context::Everywhere];
/// The contexts of a question about a delegation.
pub const PREFLIGHT: &[Context] =
    &[Context::Preflight, Context::Approval, Context::Asked, Context::Everywhere];
/// The contexts of a reason that is typed.
pub const REASON: &[Context] = &[Context::Reason, Context::Composer, Context::Everywhere];
/// The contexts of the question whether the folder is trusted.
pub const TRUST: &[Context] = &[Context::Trust, Context::Asked, Context::Everywhere];

/// What a key asks for in these contexts.
pub fn action(key: KeyEvent, contexts: &[Context]) -> Option<Action> {
    let chord = chord(key);
    let in_context = |context: &Context| {
        let bound =
            |binding: &&Binding| binding.context == *context && binding.chords.contains(&chord);
        bindings().find(bound).map(|binding| binding.action)
    };
    contexts.iter().find_map(in_context)
}

/// Upper-case letters carry a shift in some terminals and none in others.
fn chord(key: KeyEvent) -> Chord {
    let modifiers = match key.code {
        KeyCode::Char(_) => key.modifiers - KeyModifiers::SHIFT,
        _ => key.modifiers,
    };
    Chord(key.code, modifiers)
}

/// The footer's line in these contexts, at most this many cells: what it has no room for is given
/// up by rank, and the way to all keys stands last.
///
/// `children` if a live child can only be seen from another pane: then the way there is named.
/// Answers in `idle` would do nothing and are left out.
pub fn footer(
    contexts: &[Context],
    children: bool,
    idle: &[Key],
    lang: Lang,
    cells: usize,
) -> String {
    let mut hints: Vec<(Hint, String)> = Vec::new();
    for binding in bindings().filter(|binding| works(binding, contexts)) {
        let Some(mut hint) = binding.footer else { continue };
        if matches!(binding.action, Action::Answer(key) if idle.contains(&key)) {
            continue;
        }
        if is_asked(contexts) && !counts_while_asked(binding, contexts) {
            continue;
        }
        if children && binding.action == Action::NextPane {
            hint = Hint { words: ("children", "子代理"), rank: 1, key: Some("Tab:") };
        }
        let key = hint.key.or_else(|| binding.shown.split(',').next()).unwrap_or(binding.shown);
        let text = format!("{key} {}", lang.pick(hint.words.0, hint.words.1));
        if hints.iter().all(|(other, _)| other.words != hint.words) {
            hints.push((hint, text));
        }
    }
    hints.sort_by_key(|(hint, _)| hint.rank == 0);
    let line = |hints: &[(Hint, String)]| {
        hints.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join(" · ")
    };
    while hints.len() > 1 && wrap::cells(&line(&hints)) > cells {
        let least = hints.iter().enumerate().max_by_key(|(_, (hint, _))| hint.rank);
        let Some((index, _)) = least else { break };
        hints.remove(index);
    }
    line(&hints)
}

fn is_asked(contexts: &[Context]) -> bool {
    let asks =
        |context: &Context| matches!(context, Context::Approval | Context::Reason | Context::Trust);
    contexts.iter().any(asks)
}

/// True for the keys that do anything while something is asked.
fn counts_while_asked(binding: &Binding, contexts: &[Context]) -> bool {
    match binding.context {
        Context::Approval
        | Context::Preflight
        | Context::Reason
        | Context::Trust
        | Context::Asked => true,
        Context::Everywhere => {
            binding.action == Action::CancelChild && !contexts.contains(&Context::Trust)
        }
        Context::Composer | Context::Panes | Context::Delegations | Context::Overlay => false,
    }
}

/// True if this is what its first key means here, and not hidden by a nearer context.
fn works(binding: &Binding, contexts: &[Context]) -> bool {
    let bound = |context: &Context| {
        let first = binding.chords.first();
        let has = |other: &&Binding| {
            other.context == *context && first.is_some_and(|chord| other.chords.contains(chord))
        };
        bindings().find(has)
    };
    let meant = contexts.iter().find_map(bound);
    meant.is_some_and(|meant| std::ptr::eq(meant, binding))
}

/// A context's heading on the help page.
pub fn heading(context: Context, lang: Lang) -> &'static str {
    match context {
        Context::Composer => lang.pick("In the input", "输入框"),
        Context::Panes => lang.pick("In the panes", "两栏中"),
        Context::Delegations => lang.pick("In the delegations", "委派栏"),
        Context::Overlay => lang.pick("On a page like this one", "本类页面"),
        Context::Approval => lang.pick("When a call asks for approval", "调用请求批准时"),
        Context::Preflight => lang.pick("Before a child starts", "子代理启动前"),
        Context::Reason => lang.pick("In the reason for a no", "填写拒绝理由时"),
        Context::Trust => lang.pick("When asked to trust a folder", "询问是否信任文件夹时"),
        Context::Asked => lang.pick("In any question", "任何询问中"),
        Context::Everywhere => lang.pick("Everywhere", "任何地方"),
    }
}

/// The contexts in the order of the help page.
pub const CONTEXTS: [Context; 10] = [
    Context::Everywhere,
    Context::Composer,
    Context::Panes,
    Context::Delegations,
    Context::Overlay,
    Context::Approval,
    Context::Preflight,
    Context::Reason,
    Context::Trust,
    Context::Asked,
];

/// The table of keys as the README shows it.
pub fn keys_markdown() -> String {
    let mut table = String::from("| where | key | does | command |\n|---|---|---|---|\n");
    for context in CONTEXTS {
        for binding in bindings().filter(|binding| binding.context == context) {
            let place = heading(context, Lang::En);
            let keys: Vec<String> =
                binding.shown.split(", ").map(|key| format!("`{key}`")).collect();
            let command = binding.command.map(|command| format!("`{command}`")).unwrap_or_default();
            let line =
                format!("| {place} | {} | {} | {command} |\n", keys.join(" "), binding.does.0);
            table.push_str(&line);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_means_two_things_in_one_context() {
        for (index, binding) in bindings().enumerate() {
            for other in bindings().skip(index + 1) {
                let shared = binding.chords.iter().any(|chord| other.chords.contains(chord));
                assert!(
                    binding.context != other.context || !shared,
                    "{} and {}",
                    binding.shown,
                    other.shown
                );
            }
        }
    }

    #[test]
    fn the_nearest_context_wins() {
        let enter = KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE);
        assert_eq!(action(enter, contexts(false, true, false)), Some(Action::Send));
        assert_eq!(action(enter, contexts(false, false, true)), Some(Action::Open));
        assert_eq!(action(enter, contexts(true, true, false)), Some(Action::Escape));
        let question = KeyEvent::new(KeyCode::Char('?'), KeyModifiers::SHIFT);
        assert_eq!(action(question, contexts(false, true, false)), None);
        assert_eq!(action(question, contexts(false, false, false)), Some(Action::Help));
    }

    #[test]
    fn the_table_for_readers_has_every_binding() {
        let table = keys_markdown();
        assert_eq!(table.lines().count(), 2 + bindings().count());
        assert!(table.contains("`^X`") && table.contains("/cancel [#N]"));
    }
}
