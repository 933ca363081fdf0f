//! Certificates: a good one, and bad ones, which no client may accept.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, KeyUsagePurpose};
use std::io;
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// The names of a good certificate.
const NAMES: [&str; 2] = ["localhost", "127.0.0.1"];

/// The acceptors of all certificates.
pub(super) struct Certificates {
    /// The authority's certificate in PEM.
    pub(super) authority: String,
    pub(super) good: TlsAcceptor,
    pub(super) http2: TlsAcceptor,
    pub(super) self_signed: TlsAcceptor,
    pub(super) expired: TlsAcceptor,
    pub(super) wrong_name: TlsAcceptor,
}

impl Certificates {
    pub(super) fn new() -> io::Result<Self> {
        make().map_err(io::Error::other)
    }
}

type Failed = Box<dyn std::error::Error + Send + Sync>;

fn make() -> Result<Certificates, Failed> {
    let mut authority = CertificateParams::new([])?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    authority.distinguished_name.push(rcgen::DnType::CommonName, "authority of the flaky server");
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;
    let signed = |names: &[&str], protocol: &[u8], expired: bool| {
        let mut params = params(names)?;
        if expired {
            params.not_before = rcgen::date_time_ymd(2020, 1, 1);
            params.not_after = rcgen::date_time_ymd(2021, 1, 1);
        }
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &authority)?;
        acceptor(certificate.der().clone(), &key, protocol)
    };
    let key = KeyPair::generate()?;
    let lone = params(&NAMES)?.self_signed(&key)?;
    Ok(Certificates {
        authority: authority.pem(),
        good: signed(&NAMES, b"http/1.1", false)?,
        http2: signed(&NAMES, b"h2", false)?,
        self_signed: acceptor(lone.der().clone(), &key, b"http/1.1")?,
        expired: signed(&NAMES, b"http/1.1", true)?,
        wrong_name: signed(&["elsewhere.example"], b"http/1.1", false)?,
    })
}

fn params(names: &[&str]) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>())?;
    params.use_authority_key_identifier_extension = true;
    params.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ServerAuth];
    Ok(params)
}

fn acceptor(certificate: CertificateDer<'static>, key: &KeyPair, protocol: &[u8]) -> Result<TlsAcceptor, Failed> {
    let key = PrivateKeyDer::try_from(key.serialize_der())?;
    let mut config = ServerConfig::builder().with_no_client_auth().with_single_cert(vec![certificate], key)?;
    config.alpn_protocols = vec![protocol.to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
