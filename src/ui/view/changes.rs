//! Changed files in words: a sign says how each changed, so that colour is never needed for it.

use crate::domain::event::Change;
use crate::story::Changed;

use super::super::lang::Lang;
use super::super::overlay::Paragraph;
use super::super::paint::Tone;

/// Files that a line names at most.
const NAMED: usize = 20;

/// `changed +a.rs ~b.rs -c.rs`.
pub fn line(changed: &Changed, lang: Lang) -> String {
    let mut files: Vec<String> = changed
        .iter()
        .take(NAMED)
        .map(|(path, change)| format!("{}{path}", sign(change)))
        .collect();
    if changed.len() > NAMED {
        files.push("…".to_owned());
    }
    match (changed.len(), lang) {
        (1, Lang::En) => format!("changed 1 file: {}", files.join(" ")),
        (many, Lang::En) => format!("changed {many} files: {}", files.join(" ")),
        (many, Lang::Zh) => format!("改动 {many} 个文件：{}", files.join(" ")),
    }
}

/// That nobody vouches for what a child left behind.
pub fn needs_review(lang: Lang) -> &'static str {
    lang.pick("needs review", "需要复核")
}

/// The same in a sentence.
pub fn unvouched(lang: Lang) -> &'static str {
    lang.pick(
        "needs review: it changed files and did not complete; /diff #N shows them",
        "需要复核：它改动了文件但未完成；/diff #N 查看",
    )
}

/// The files of a page, one below the other.
pub fn paragraphs(changed: &Changed, lang: Lang) -> Vec<Paragraph> {
    let mut page = vec![Paragraph::heading(lang.pick("Files changed", "改动的文件"))];
    for (path, change) in changed.iter() {
        let (word, tone) = match change {
            Change::Added => (lang.pick("added", "新增"), Tone::Good),
            Change::Modified => (lang.pick("modified", "修改"), Tone::Plain),
            Change::Deleted => (lang.pick("deleted", "删除"), Tone::Bad),
        };
        page.push(Paragraph::named(format!("{} {word}", sign(change)), path).toned(tone));
    }
    page.push(Paragraph::gap());
    page
}

fn sign(change: Change) -> char {
    match change {
        Change::Added => '+',
        Change::Modified => '~',
        Change::Deleted => '-',
    }
}
