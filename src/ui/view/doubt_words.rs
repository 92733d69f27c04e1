//! What a doubt of a report is about, in a word or two of both languages. It knows only codes; the
//! words about this very report are the report's own.

use crate::domain::report::WarningCode;

use super::super::lang::Lang;

/// What stands before the words of a warning.
pub fn label(code: WarningCode, lang: Lang) -> &'static str {
    match code {
        WarningCode::MustNot => lang.pick("against must_not", "违反禁令"),
        WarningCode::DoneWhen => lang.pick("not done", "未见完成"),
        WarningCode::Unconfirmed => lang.pick("unconfirmed below", "下级未证实"),
        WarningCode::Unstructured
        | WarningCode::NoText
        | WarningCode::NoToolsUsed
        | WarningCode::EvidenceMissing
        | WarningCode::EvidenceNotRead
        | WarningCode::EvidenceLine
        | WarningCode::EvidenceScope
        | WarningCode::EvidenceViaBash
        | WarningCode::ClaimedUnchanged
        | WarningCode::ChangedUnclaimed
        | WarningCode::ChangedOutside
        | WarningCode::TestsNotRun
        | WarningCode::CallRefused
        | WarningCode::FieldDropped
        | WarningCode::Cut
        | WarningCode::Unfinished
        | WarningCode::Claimed => lang.pick("warning", "警告"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_term_is_named_in_both_languages() {
        for code in [WarningCode::MustNot, WarningCode::DoneWhen, WarningCode::Unconfirmed] {
            for lang in [Lang::En, Lang::Zh] {
                assert_ne!(label(code, lang), label(WarningCode::Claimed, lang), "{code:?}");
            }
            assert_ne!(label(code, Lang::En), label(code, Lang::Zh), "{code:?}");
        }
    }
}
