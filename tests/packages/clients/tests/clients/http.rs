//! The clients of HTTP.

use super::{LIMIT, Seen};
use conformance::clients::{Limit, Situation};
use demo::flaky::Flaky;
use http_body_util::{BodyExt as _, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use std::sync::Arc;

pub(super) async fn reqwest(flaky: Arc<Flaky>, situation: Arc<Situation>) -> Seen {
    // The first of them stays.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let authority = reqwest::Certificate::from_pem(flaky.authority.as_bytes()).unwrap();
    let mut client = reqwest::Client::builder().tls_certs_only([authority]).no_proxy();
    if let Some(proxy) = &situation.proxy {
        client = client.proxy(reqwest::Proxy::all(flaky.expand(proxy)).unwrap());
    }
    client = match situation.limit {
        Some(Limit::Connect) => client.connect_timeout(LIMIT),
        Some(Limit::Read) => client.timeout(LIMIT),
        None => client,
    };
    let client = client.build().unwrap();
    let url = flaky.expand(situation.url.as_ref().unwrap());
    let get = async || {
        let answer = client.get(&url).send().await?;
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        answer.bytes().await?;
        Ok::<_, reqwest::Error>((status, headers))
    };
    if situation.first {
        get().await.unwrap();
    }
    match get().await {
        Ok((status, headers)) => Seen::of_answer(status, &headers),
        Err(error) => Seen::of_error(&error),
    }
}

pub(super) async fn ureq(flaky: Arc<Flaky>, situation: Arc<Situation>) -> Seen {
    tokio::task::spawn_blocking(move || blocking(&flaky, &situation)).await.unwrap()
}

fn blocking(flaky: &Flaky, situation: &Situation) -> Seen {
    let authority = ureq::tls::Certificate::from_pem(flaky.authority.as_bytes()).unwrap();
    let tls = ureq::tls::TlsConfig::builder()
        .root_certs(ureq::tls::RootCerts::new_with_certs(&[authority]))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build();
    let mut config = ureq::Agent::config_builder().tls_config(tls).http_status_as_error(false);
    config = config.proxy(situation.proxy.as_ref().map(|proxy| ureq::Proxy::new(&flaky.expand(proxy)).unwrap()));
    config = match situation.limit {
        Some(Limit::Connect) => config.timeout_connect(Some(LIMIT)),
        Some(Limit::Read) => config.timeout_recv_response(Some(LIMIT)).timeout_recv_body(Some(LIMIT)),
        None => config,
    };
    let agent = config.build().new_agent();
    let url = flaky.expand(situation.url.as_ref().unwrap());
    let get = || {
        let mut answer = agent.get(&url).call()?;
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        answer.body_mut().read_to_vec()?;
        Ok::<_, ureq::Error>((status, headers))
    };
    if situation.first {
        get().unwrap();
    }
    match get() {
        Ok((status, headers)) => Seen::of_answer(status, &headers),
        Err(error) => Seen::of_error(&error),
    }
}

/// The client has no TLS: HTTP/2 is spoken from the first byte on.
pub(super) async fn hyper(flaky: Arc<Flaky>, situation: Arc<Situation>) -> Seen {
    let url = situation.url.as_ref().unwrap().replace("{h2}", "{h2c}");
    let client: Client<_, Empty<hyper::body::Bytes>> =
        Client::builder(TokioExecutor::new()).http2_only(url.contains("{h2c}")).build_http();
    let url = flaky.expand(&url);
    let get = async || {
        let request = hyper::Request::get(&url).body(Empty::new())?;
        let (head, body) = client.request(request).await?.into_parts();
        body.collect().await?;
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>((head.status.as_u16(), head.headers))
    };
    if situation.first {
        get().await.unwrap();
    }
    match get().await {
        Ok((status, headers)) => Seen::of_answer(status, &headers),
        Err(error) => Seen::of_error(&*error),
    }
}
