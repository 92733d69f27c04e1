//! Why a run ended as it did and what is held against a report, in a few words of both languages: one
//! for each code, so that no code can come up for which the screen has none.

use crate::domain::report::WarningCode;
use crate::domain::violation::Code;

use super::super::lang::Lang;

/// What a code means.
pub fn reason(code: Code, lang: Lang) -> &'static str {
    match code {
        Code::Cancelled => lang.pick("cancelled", "已取消"),
        Code::InvalidTask => lang.pick("the task is not acceptable", "任务不合要求"),
        Code::DuplicateTask => lang.pick("the same task is there already", "任务重复"),
        Code::DepthExceeded => lang.pick("too deep", "层级过深"),
        Code::DelegationLimit => lang.pick("no delegations left", "委派次数已用完"),
        Code::ContextNotFound => lang.pick("no such context", "上下文不存在"),
        Code::ContextForbidden => lang.pick("context that may not be given", "上下文禁止外传"),
        Code::PermissionEscalation => lang.pick("a permission that is not held", "权限越界"),
        Code::ToolEscalation => lang.pick("a tool that is not held", "工具越界"),
        Code::PathEscalation => lang.pick("a path that is not held", "路径越界"),
        Code::InvalidBudget => lang.pick("a budget that is not there", "预算不成立"),
        Code::BudgetExhausted => lang.pick("used up", "已用尽"),
        Code::Timeout => lang.pick("time is up", "时间已到"),
        Code::UsageExceeded => lang.pick("one request used too much", "单次请求超额"),
        Code::LoopDetected => lang.pick("it repeated itself", "陷入重复"),
        Code::Denied => lang.pick("a call was denied", "有调用被否决"),
        Code::ProviderError => lang.pick("the provider failed", "模型服务出错"),
        Code::ContextExceeded => lang.pick("too long for the model", "超出模型窗口"),
        Code::Refused => lang.pick("the model refused", "模型拒绝回答"),
        Code::Internal => lang.pick("internal error", "内部错误"),
        Code::InvalidResult => lang.pick("the answer breaks the contract", "回答违反契约"),
    }
}

/// What a doubt about a report is about.
pub fn doubt(code: WarningCode, lang: Lang) -> &'static str {
    match code {
        WarningCode::Unstructured => lang.pick("not in the asked form", "格式不符"),
        WarningCode::NoText => lang.pick("it says nothing", "没有内容"),
        WarningCode::NoToolsUsed => lang.pick("nothing was looked up", "未使用工具"),
        WarningCode::EvidenceMissing => lang.pick("not there", "出处不存在"),
        WarningCode::EvidenceNotRead => lang.pick("never read", "出处未读"),
        WarningCode::EvidenceLine => lang.pick("no such line", "行号不存在"),
        WarningCode::EvidenceScope => lang.pick("out of its scope", "出处越界"),
        WarningCode::EvidenceViaBash => lang.pick("seen by a command only", "仅经命令看到"),
        WarningCode::ClaimedUnchanged => lang.pick("claimed, not changed", "声称已改，实未改"),
        WarningCode::ChangedUnclaimed => lang.pick("changed, not claimed", "已改动，未申明"),
        WarningCode::ChangedOutside => lang.pick("changed out of its scope", "越界改动"),
        WarningCode::TestsNotRun => lang.pick("tests not seen to pass", "未见测试通过"),
        WarningCode::CallRefused => lang.pick("a call was not allowed", "有调用未获准"),
        WarningCode::FieldDropped => lang.pick("a field was dropped", "有字段被丢弃"),
        WarningCode::Cut => lang.pick("cut", "已截断"),
        WarningCode::Unfinished => lang.pick("not finished", "未完成"),
        WarningCode::Unconfirmed => lang.pick("unconfirmed below it", "下级未证实"),
        WarningCode::MustNot => lang.pick("against must_not", "违反禁令"),
        WarningCode::DoneWhen => lang.pick("not there at the end", "完成条件未见"),
        WarningCode::Claimed => lang.pick("it says so itself", "子代理自述"),
    }
}
