//! The page of keys and commands, from the tables that the keys and commands themselves are read
//! from.

use super::super::keymap::{CONTEXTS, bindings, heading};
use super::super::lang::Lang;
use super::super::overlay::Paragraph;
use super::super::slash::COMMANDS;

/// All of it.
pub fn page(lang: Lang) -> Vec<Paragraph> {
    let mut page = Vec::new();
    for context in CONTEXTS {
        page.push(Paragraph::heading(heading(context, lang)));
        for binding in bindings().filter(|binding| binding.context == context) {
            let (english, chinese) = binding.does;
            let does = lang.pick(english, chinese);
            let text = match binding.command {
                Some(command) => format!("{does}  {command}"),
                None => does.to_owned(),
            };
            page.push(Paragraph::named(binding.shown, text));
        }
        page.push(Paragraph::gap());
    }
    page.push(Paragraph::heading(lang.pick("Commands", "命令")));
    for (name, takes, english, chinese) in COMMANDS {
        let label = format!("{name} {takes}");
        page.push(Paragraph::named(label.trim_end(), lang.pick(english, chinese)));
    }
    page
}
