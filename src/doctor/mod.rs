//! `offshoot doctor`: what was found around the program, in words, with what to do about it. It
//! changes nothing, shows no secret and asks the server for no answer, only for its list of models.

mod fence;
mod finding;
mod model;
mod places;
mod roles;
mod server;
mod settings;
mod terminal;

use crate::domain::exit::Exit;
use crate::settings::{Settings, SettingsError};

pub use finding::{Finding, Section};
pub use roles::table as roles;
pub use terminal::Terminal;

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Findings(pub Vec<Section>);

impl Findings {
    /// The page, ready for a terminal.
    pub fn page(&self) -> String {
        let mut page = format!("offshoot {}\n", env!("CARGO_PKG_VERSION"));
        for section in &self.0 {
            section.write(&mut page);
        }
        page.push_str(match self.exit() {
            Exit::Completed => "\noffshoot can be used.\n",
            _ => "\noffshoot cannot be used before what is marked FAIL is repaired.\n",
        });
        page
    }

    /// 0 if offshoot can be used, 1 if something that it needs is broken.
    pub fn exit(&self) -> Exit {
        let broken = self.0.iter().flat_map(|section| &section.findings).any(Finding::is_broken);
        if broken { Exit::Failed } else { Exit::Completed }
    }
}

/// Looks at everything. Takes some seconds at most, where a server does not answer.
pub async fn examine(settings: &Settings, terminal: &Terminal) -> Findings {
    let (server, offered) = server::examine(settings).await;
    Findings(vec![
        settings::examine(settings),
        server,
        model::examine(settings, &offered),
        places::workspace(settings),
        places::sessions(settings),
        terminal.examine(),
        fence::examine().await,
    ])
}

/// Where the settings themselves are not usable: only what does not need them.
pub fn without_settings(error: &SettingsError, terminal: &Terminal) -> Findings {
    let settings = Section::new("settings", vec![Finding::broken(error.to_string())]);
    Findings(vec![settings, terminal.examine(), untried()])
}

fn untried() -> Section {
    let words = "not tried; it is once the settings can be read";
    Section::new("fence", vec![Finding::note(words)])
}
