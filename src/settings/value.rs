//! One setting's value, and what kinds there are: read from a configuration file or from a text.
//! It refuses to know which setting it belongs to.

use secrecy::{ExposeSecret, SecretString};
use toml::de::{DeArray, DeValue};

/// What a setting takes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    /// A text that is not blank.
    Text,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A whole number within these bounds, both included.
    Whole(u64, u64),
    /// A whole number above 0, or `unlimited`.
    Amount,
    /// US dollars above 0, or `unlimited`.
    Dollars,
    /// A number within these bounds, both included.
    Number(f64, f64),
    /// True or false.
    Switch,
    /// A list of texts: a program and its arguments.
    Words,
    /// A table of texts, whose values may be secret.
    Pairs,
    /// A list, which may be empty.
    List(Items),
}

/// What the items of a list are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Items {
    /// Rules about calls, read later so that each can be told apart.
    Rules,
    /// Files and folders.
    Places,
    /// Names of variables.
    Variables,
}

/// What a setting holds.
#[derive(Debug, Clone)]
pub(super) enum Value {
    Text(String),
    Whole(u64),
    Number(f64),
    Unlimited,
    Switch(bool),
    Words(Vec<String>),
    Pairs(Vec<(String, SecretString)>),
    List(Vec<String>),
}

impl Kind {
    /// What it takes, for an error message.
    pub fn takes(self) -> String {
        match self {
            Self::Text => "a text".to_owned(),
            Self::Choice(words) => {
                words.join(", ").replacen(", ", " or ", usize::from(words.len() == 2))
            }
            Self::Whole(least, most) => format!("a whole number from {least} to {most}"),
            Self::Amount => "a number above 0, or the word `unlimited`".to_owned(),
            Self::Dollars => "a number of US dollars above 0, or the word `unlimited`".to_owned(),
            Self::Number(least, most) => format!("a number from {least} to {most}"),
            Self::Switch => "true or false".to_owned(),
            Self::Words => {
                "a list of a program and its arguments, such as [\"pass\", \"show\", \"key\"]; no \
                 shell reads it"
                    .to_owned()
            }
            Self::Pairs => "a table of texts, such as { \"X-Team\" = \"tools\" }".to_owned(),
            Self::List(Items::Rules) => {
                "a list of rules, such as [\"write_file(docs)\", \"bash(cargo test)\"]".to_owned()
            }
            Self::List(Items::Places) => {
                "a list of files and folders, such as [\"~/notes\"]".to_owned()
            }
            Self::List(Items::Variables) => {
                "a list of names of variables, such as [\"JAVA_HOME\"]".to_owned()
            }
        }
    }

    /// Reads what was typed or set in the environment.
    pub fn of_text(self, text: &str) -> Option<Value> {
        let text = text.trim();
        match self {
            Self::Text => (!text.is_empty()).then(|| Value::Text(text.to_owned())),
            Self::Choice(words) => words.contains(&text).then(|| Value::Text(text.to_owned())),
            Self::Amount | Self::Dollars if text == "unlimited" => Some(Value::Unlimited),
            Self::Whole(..) | Self::Amount => self.of_whole(text.parse().ok()?),
            Self::Dollars => self.of_number(text.strip_prefix('$').unwrap_or(text).parse().ok()?),
            Self::Number(..) => self.of_number(text.parse().ok()?),
            Self::Switch => text.parse().ok().map(Value::Switch),
            Self::Words | Self::Pairs | Self::List(_) => None,
        }
    }

    /// Reads what a configuration file holds.
    pub fn of_toml(self, value: &DeValue<'_>) -> Option<Value> {
        match (self, value) {
            (Self::Text | Self::Choice(_), DeValue::String(text)) => self.of_text(text),
            (Self::Amount | Self::Dollars, DeValue::String(text)) if text.trim() == "unlimited" => {
                Some(Value::Unlimited)
            }
            (_, DeValue::Integer(number)) => {
                let whole = u64::from_str_radix(number.as_str(), number.radix()).ok()?;
                self.of_whole(whole)
            }
            (_, DeValue::Float(number)) => self.of_number(number.as_str().parse().ok()?),
            (Self::Switch, DeValue::Boolean(on)) => Some(Value::Switch(*on)),
            (Self::List(kind), DeValue::Array(items)) => {
                let items = texts(items)?;
                items.iter().all(|item| kind.fits(item)).then_some(Value::List(items))
            }
            (Self::Words, DeValue::Array(items)) => {
                let words = texts(items)?;
                words
                    .first()
                    .is_some_and(|program| !program.trim().is_empty())
                    .then_some(Value::Words(words))
            }
            (Self::Pairs, DeValue::Table(table)) => {
                let pairs = table.iter().map(|(name, value)| {
                    let text = value.get_ref().as_str()?;
                    Some((name.get_ref().to_string(), SecretString::from(text)))
                });
                Some(Value::Pairs(pairs.collect::<Option<_>>()?))
            }
            _ => None,
        }
    }

    fn of_whole(self, whole: u64) -> Option<Value> {
        match self {
            Self::Whole(least, most) => {
                (least..=most).contains(&whole).then_some(Value::Whole(whole))
            }
            Self::Amount => (whole > 0).then_some(Value::Whole(whole)),
            #[expect(clippy::cast_precision_loss, reason = "bounds are far below")]
            Self::Dollars | Self::Number(..) => self.of_number(whole as f64),
            Self::Text
            | Self::Choice(_)
            | Self::Switch
            | Self::Words
            | Self::Pairs
            | Self::List(_) => None,
        }
    }

    fn of_number(self, number: f64) -> Option<Value> {
        let fits = match self {
            Self::Number(least, most) => (least..=most).contains(&number),
            // The ledger counts millionths; less than one would read as nothing.
            Self::Dollars => (1e-6..1e12).contains(&number),
            Self::Text
            | Self::Choice(_)
            | Self::Whole(..)
            | Self::Amount
            | Self::Switch
            | Self::Words
            | Self::Pairs
            | Self::List(_) => false,
        };
        fits.then_some(Value::Number(number))
    }
}

/// The items of an array, if all of them are texts.
fn texts(items: &DeArray<'_>) -> Option<Vec<String>> {
    items.iter().map(|item| item.get_ref().as_str().map(str::to_owned)).collect()
}

impl Items {
    fn fits(self, item: &str) -> bool {
        match self {
            Self::Rules | Self::Places => !item.trim().is_empty() && !item.contains('\0'),
            Self::Variables => {
                let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
                !item.is_empty() && item.chars().all(plain) && !item.starts_with(char::is_numeric)
            }
        }
    }
}

impl Value {
    /// As it is shown to people. What may be secret is not.
    pub fn shown(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Whole(whole) => whole.to_string(),
            Self::Number(number) => number.to_string(),
            Self::Unlimited => "unlimited".to_owned(),
            Self::Switch(on) => on.to_string(),
            Self::Words(words) => match words.as_slice() {
                [program, _, ..] => format!("{program} …"),
                words => words.concat(),
            },
            Self::Pairs(pairs) => {
                let names: Vec<&str> = pairs.iter().map(|(name, _)| name.as_str()).collect();
                format!("{} (values not shown)", names.join(", "))
            }
            Self::List(items) if items.is_empty() => "(none)".to_owned(),
            Self::List(items) => items.join(", "),
        }
    }

    /// As a number, to compare two of a kind; `unlimited` is more than any.
    #[expect(clippy::cast_precision_loss, reason = "only compared")]
    pub fn size(&self) -> Option<f64> {
        match self {
            Self::Whole(whole) => Some(*whole as f64),
            Self::Number(number) => Some(*number),
            Self::Unlimited => Some(f64::INFINITY),
            Self::Text(_) | Self::Switch(_) | Self::Words(_) | Self::Pairs(_) | Self::List(_) => {
                None
            }
        }
    }

    /// The secrets inside.
    pub fn secrets(&self) -> Vec<SecretString> {
        match self {
            Self::Pairs(pairs) => pairs.iter().map(|(_, value)| value.clone()).collect(),
            Self::Text(_)
            | Self::Whole(_)
            | Self::Number(_)
            | Self::Unlimited
            | Self::Switch(_)
            | Self::Words(_)
            | Self::List(_) => Vec::new(),
        }
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Pairs(one), Self::Pairs(two)) => {
                let open = |pairs: &[(String, SecretString)]| -> Vec<(String, String)> {
                    pairs.iter().map(|(n, v)| (n.clone(), v.expose_secret().to_owned())).collect()
                };
                open(one) == open(two)
            }
            (Self::List(one), Self::List(two)) => one == two,
            _ => self.shown() == other.shown(),
        }
    }
}
