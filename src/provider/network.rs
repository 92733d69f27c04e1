//! How servers are reached: connection time, certificates, proxies. It builds clients, sends nothing
//! and knows no format.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::{Certificate, Client, ClientBuilder, redirect};

use super::ProviderError;
use super::http::{Endpoint, network_words};

/// How servers are reached. Proxies are those of the environment: `HTTPS_PROXY`, `NO_PROXY`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    /// Time that a connection may take to come up, TLS included.
    pub connect: Duration,
    /// PEM certificates to trust besides the system's.
    pub ca_file: Option<PathBuf>,
}

impl Default for Network {
    fn default() -> Self {
        Self { connect: Duration::from_secs(10), ca_file: None }
    }
}

impl Network {
    /// A client for one endpoint. Reading the machine's certificates blocks for about 100 ms in a
    /// debug build, so it is done beside the runtime.
    pub(super) async fn client(&self, endpoint: &Endpoint) -> Result<Client, ProviderError> {
        let (network, endpoint) = (self.clone(), endpoint.clone());
        let built = tokio::task::spawn_blocking(move || network.build(&endpoint)).await;
        built.unwrap_or_else(|error| {
            Err(ProviderError::Setup(format!("the HTTP client could not be built: {error}")))
        })
    }

    fn build(&self, endpoint: &Endpoint) -> Result<Client, ProviderError> {
        // Fails only if a provider is installed already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let start = || self.start(endpoint);
        let built = match &self.ca_file {
            // Without TLS no certificates are needed, and a machine may have none.
            _ if endpoint.url().scheme() == "http" => start().tls_certs_only([]).build(),
            None => start().build(),
            Some(path) => {
                let own = certificates(path)?;
                let with_the_systems = start().tls_certs_merge(own.clone()).build();
                with_the_systems.or_else(|_| start().tls_certs_only(own).build())
            }
        };
        built.map_err(|error| {
            ProviderError::Setup(format!(
                "TLS connections cannot be made on this machine: {}; install the system's CA \
                 certificates (often a package named ca-certificates), or name a file of them \
                 as ca_file in config.toml",
                network_words(error)
            ))
        })
    }

    fn start(&self, endpoint: &Endpoint) -> ClientBuilder {
        let builder = Client::builder()
            .user_agent(concat!("offshoot/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(self.connect)
            // A redirect could carry the conversation, or a key, to another host.
            .redirect(redirect::Policy::none());
        if !endpoint.is_loopback() {
            return builder;
        }
        // What is called local must not leave the machine: through a proxy, or because whoever
        // resolves names here has another address for `x.localhost`.
        let here = [IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST)];
        let here = here.map(|address| SocketAddr::new(address, 0));
        match endpoint.url().domain() {
            Some(name) => builder.no_proxy().resolve_to_addrs(name, &here),
            None => builder.no_proxy(),
        }
    }
}

/// The certificates of a PEM file.
fn certificates(path: &Path) -> Result<Vec<Certificate>, ProviderError> {
    let failed = |why: String| {
        let shown = path.display();
        ProviderError::Setup(format!("the certificates of ca_file {shown} cannot be used: {why}"))
    };
    let pem = std::fs::read(path).map_err(|error| failed(error.to_string()))?;
    Certificate::from_pem_bundle(&pem).map_err(|error| failed(network_words(error)))
}
