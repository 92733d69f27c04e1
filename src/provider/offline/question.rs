//! What is asked: the words of a question that are worth searching for, in which language, and
//! which well-known matters it touches. It knows no files.

use super::table::{CHINESE, CHINESE_FILLERS, COMPANIONS, STOP_WORDS};
use super::topics::{Kind, TOPICS, Topic};

/// Characters of a question that are kept: what a person typed, not what was pasted.
const MAX_QUESTION_CHARS: usize = 2_000;
/// Words that are searched for at most.
const MAX_KEYWORDS: usize = 8;

/// The language to answer in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// English, and whatever is not Chinese.
    English,
    /// Chinese.
    Chinese,
}

impl Language {
    /// Chinese if there are Han characters and no kana.
    pub fn of(text: &str) -> Self {
        let kana = |c: char| matches!(c, '\u{3040}'..='\u{30FF}');
        if text.contains(is_han) && !text.contains(kana) { Self::Chinese } else { Self::English }
    }

    /// The one of two texts that is in this language.
    pub fn pick<'a>(self, english: &'a str, chinese: &'a str) -> &'a str {
        match self {
            Self::English => english,
            Self::Chinese => chinese,
        }
    }
}

/// A question, understood as far as words go.
#[derive(Debug, Clone)]
pub struct Question {
    /// The language to answer in.
    pub language: Language,
    /// Lower-case stems, the first the first asked for.
    pub keywords: Vec<String>,
    /// Those of them that an answer must have: of a question about well-known matters only the
    /// words for these.
    pub telling: Vec<String>,
    /// The matters that its words touch.
    pub topics: Vec<&'static Topic>,
    /// True if it asks about these matters and nothing else.
    pub is_of_topics: bool,
    words: Vec<Word>,
}

/// A word worth searching for.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Word {
    stem: String,
    said: String,
}

impl Question {
    /// Takes a question apart.
    pub fn new(text: &str) -> Self {
        let text: String = text.chars().take(MAX_QUESTION_CHARS).collect();
        let mut words: Vec<Word> = Vec::new();
        for word in words_of(&text) {
            if words.len() < MAX_KEYWORDS && words.iter().all(|other| other.stem != word.stem) {
                words.push(word);
            }
        }
        let keywords: Vec<String> = words.iter().map(|word| word.stem.clone()).collect();
        let mut topics = topics_of(&keywords);
        let is_of_topics = !topics.is_empty()
            && keywords.iter().all(|word| belongs(word, &topics) || is_companion(word));
        if topics.len() > 1 {
            topics.retain(|topic| topic.kind != Kind::Configuration);
        }
        words.retain(|word| !is_of_topics || belongs(&word.stem, &topics));
        let telling = words.iter().map(|word| word.stem.clone()).collect();
        Self { language: Language::of(&text), keywords, telling, topics, is_of_topics, words }
    }

    /// The telling words as they were written.
    pub fn said(&self) -> Vec<&str> {
        let mut said: Vec<&str> = Vec::new();
        for word in &self.words {
            if !said.contains(&word.said.as_str()) {
                said.push(&word.said);
            }
        }
        said
    }

    /// What is searched for because `said` was written.
    pub fn stems_of<'a>(&'a self, said: &'a str) -> impl Iterator<Item = &'a str> {
        self.words.iter().filter(move |word| word.said == said).map(|word| word.stem.as_str())
    }

    /// What it asks about one of its matters.
    pub fn about(&self, topic: &'static Topic) -> Self {
        let mut part = self.clone();
        part.telling.retain(|word| belongs(word, &[topic]));
        part.topics = vec![topic];
        part
    }

    /// True if it asks what the project is tested with, rather than about one certain test.
    pub fn is_about_test_frameworks(&self) -> bool {
        const AROUND: [&str; 14] = [
            "test",
            "unittest",
            "unit",
            "integration",
            "librar",
            "runner",
            "suite",
            "suit",
            "tool",
            "测试",
            "单测",
            "单元测试",
            "集成测试",
            "工具",
        ];
        let has = |word: &str| self.keywords.iter().any(|keyword| keyword == word);
        let plain = || self.keywords.iter().all(|word| AROUND.contains(&word.as_str()));
        (has("test") || has("unittest")) && (has("framework") || plain())
    }
}

fn topics_of(keywords: &[String]) -> Vec<&'static Topic> {
    // A question without any telling word is about the project as such.
    let as_such = keywords.is_empty().then(|| "about".to_owned());
    let touching: Vec<String> = keywords.iter().cloned().chain(as_such).collect();
    TOPICS.iter().filter(|topic| topic.is_touched_by(&touching)).collect()
}

/// True if a word, or what it means in English, is one of these topics'.
fn belongs(word: &str, topics: &[&Topic]) -> bool {
    let has = |word: &str| topics.iter().any(|topic| topic.stems.contains(&word));
    let known = CHINESE.iter().find(|(chinese, _)| *chinese == word);
    has(word) || known.is_some_and(|(_, english)| english.iter().any(|word| has(word)))
}

fn is_companion(word: &str) -> bool {
    let known = CHINESE.iter().find(|(chinese, _)| *chinese == word);
    let is = |word: &str| COMPANIONS.contains(&word);
    is(word) || known.is_some_and(|(_, english)| english.iter().all(|word| is(word)))
}

/// The words worth searching for, in the order they were asked.
fn words_of(text: &str) -> Vec<Word> {
    let lower = text.to_lowercase();
    let mut words = Vec::new();
    for run in lower.split(|c: char| !(c.is_alphanumeric() || c == '_')) {
        // A run may mix scripts, as in `用pytest吗`.
        let mut rest = run;
        while let Some(first) = rest.chars().next() {
            let han = is_han(first);
            let end = rest.find(|c| is_han(c) != han).unwrap_or(rest.len());
            let (part, after) = rest.split_at(end);
            if han {
                words.extend(chinese_words(part));
            } else if part.chars().count() > 1 && !STOP_WORDS.contains(&part) {
                words.push(Word { stem: stem(part).to_owned(), said: part.to_owned() });
            }
            rest = after;
        }
    }
    words
}

/// The English words for the known Chinese ones in `run`, and what is left of it as it is.
fn chinese_words(run: &str) -> Vec<Word> {
    let mut words: Vec<(usize, Word)> = Vec::new();
    let word = |stem: &str, said: &str| Word { stem: stem.to_owned(), said: said.to_owned() };
    let mut left = run.to_owned();
    for (chinese, english) in CHINESE {
        while let Some(at) = left.find(chinese) {
            words.extend(english.iter().map(|stem| (at, word(stem, chinese))));
            words.push((at, word(chinese, chinese)));
            // Blanks of the same length keep the positions of the others.
            left.replace_range(at..at + chinese.len(), &" ".repeat(chinese.len()));
        }
    }
    for filler in CHINESE_FILLERS {
        left = left.replace(filler, &" ".repeat(filler.len()));
    }
    for part in left.split(' ').filter(|part| part.chars().count() > 1) {
        words.push((left.find(part).unwrap_or(usize::MAX), word(part, part)));
    }
    words.sort_by_key(|(at, _)| *at);
    words.into_iter().map(|(_, word)| word).collect()
}

/// A word without its English ending, if enough of it is left.
pub fn stem(word: &str) -> &str {
    for ending in ["ies", "ing", "ed", "es", "y", "s"] {
        if let Some(stem) = word.strip_suffix(ending)
            && stem.len() >= 4 - usize::from(ending == "s")
            && !(ending == "s" && stem.ends_with('s'))
        {
            return stem;
        }
    }
    word
}

/// True for Chinese characters.
pub fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_the_stems_of_what_is_asked_in_order() {
        for (text, expected) in [
            ("Which test framework does this project use?", vec!["test", "framework"]),
            ("where are dependencies of the parsers parsed?", vec!["dependenc", "parser", "pars"]),
            ("这个项目使用什么测试框架？", vec!["test", "测试", "framework", "框架"]),
            ("用pytest吗", vec!["pytest"]),
            ("解释一下量子纠缠", vec!["量子纠缠"]),
            ("what is it?", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(Question::new(text).keywords, expected, "{text}");
        }
    }

    #[test]
    fn endings_go_only_where_a_word_is_left() {
        for (word, expected) in [
            ("tests", "test"),
            ("testing", "test"),
            ("class", "class"),
            ("bus", "bus"),
            ("uses", "use"),
            ("caches", "cach"),
            ("ring", "ring"),
            ("library", "librar"),
            ("libraries", "librar"),
        ] {
            assert_eq!(stem(word), expected);
        }
    }

    #[test]
    fn asking_for_the_framework_is_told_from_asking_for_a_test() {
        for (text, expected) in [
            ("Which test framework does this project use?", true),
            ("这个项目用的是哪个测试框架？", true),
            ("What are the unit tests run with?", true),
            ("How are the tests run?", true),
            ("Where is the login test?", false),
            ("What is the build system?", false),
        ] {
            let question = Question::new(text);
            assert_eq!(question.is_about_test_frameworks(), expected, "{:?}", question.keywords);
        }
    }

    #[test]
    fn the_language_follows_the_script() {
        assert_eq!(Language::of("用什么 framework?"), Language::Chinese);
        assert_eq!(Language::of("これは何ですか、漢字"), Language::English);
        assert_eq!(Language::of("plain"), Language::English);
    }
}
