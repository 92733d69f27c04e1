//! The interface's language. A text stands where it is used, in both languages side by side, so
//! that neither can be forgotten.

use std::str::FromStr;

/// Which language the interface speaks. Models speak what they are spoken to in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Lang {
    /// English.
    #[default]
    En,
    /// Chinese, simplified.
    Zh,
}

impl Lang {
    /// The text in this language.
    pub fn pick<'a>(self, english: &'a str, chinese: &'a str) -> &'a str {
        match self {
            Self::En => english,
            Self::Zh => chinese,
        }
    }
}

impl FromStr for Lang {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "en" => Ok(Self::En),
            "zh" => Ok(Self::Zh),
            other => Err(format!("`{other}` is no language of the interface: choose en or zh")),
        }
    }
}
