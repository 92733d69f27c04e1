//! The page of the context: what tasks can be given by key, and what is kept from them. It shows cards,
//! since that is all it gets.

use crate::domain::context_store::{Sensitivity, SnippetKind};
use crate::story::{Context, Known};

use super::super::lang::Lang;
use super::super::overlay::Paragraph;
use super::super::paint::Tone;
use super::words;

/// All of it.
pub fn page(context: &Context, lang: Lang) -> Vec<Paragraph> {
    let mut page = vec![Paragraph::heading(lang.pick(
        "What a task can be given by key: nothing else of this conversation reaches a child",
        "任务可按名取得的内容：除此之外，对话中的任何内容都不会到达子代理",
    ))];
    if context.iter().len() == 0 {
        let none = lang.pick("nothing yet", "暂无");
        page.push(Paragraph::plain(none).toned(Tone::Quiet));
    }
    page.extend(context.iter().map(|known| line(known, lang)));
    let how = lang.pick(
        "/pin NAME TEXT or /pin NAME @FILE adds one; /pin --local NAME ... one that only a model on \
         this machine may be given. A secret comes from --pin-secret NAME=@FILE at the start.",
        "/pin 名称 文字 或 /pin 名称 @文件 可添加；/pin --local 名称 … 添加只供本机模型使用的内容。\
         机密须在启动时用 --pin-secret 名称=@文件 给出。",
    );
    page.extend([Paragraph::gap(), Paragraph::plain(how).toned(Tone::Quiet)]);
    page
}

fn line(known: &Known, lang: Lang) -> Paragraph {
    let card = &known.card;
    let size = words::bytes(card.bytes);
    let (who, tone) = match known.sensitivity {
        Sensitivity::Normal => (lang.pick("normal", "普通"), Tone::Plain),
        Sensitivity::LocalOnly => (lang.pick("this machine only", "仅限本机"), Tone::Warning),
        Sensitivity::Secret => {
            (lang.pick("secret, given to no one", "机密，不给任何人"), Tone::Bad)
        }
    };
    let (kind, hash) = (kind(card.kind, lang), card.sha256.short());
    Paragraph::named(&card.key, format!("{kind} · {size} · {who} · {hash}")).toned(tone)
}

fn kind(kind: SnippetKind, lang: Lang) -> &'static str {
    match kind {
        SnippetKind::Request => lang.pick("your message", "你的消息"),
        SnippetKind::Rules => lang.pick("the project's rules", "项目规则"),
        SnippetKind::Report => lang.pick("a child's report", "子代理报告"),
        SnippetKind::Pin => lang.pick("pinned", "固定"),
        SnippetKind::Note => lang.pick("the parent's note", "父代理笔记"),
    }
}
