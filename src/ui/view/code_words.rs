//! Why a run ended as it did, in a few words of both languages: one for each code, so that no code
//! can come up for which the screen has none.

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
