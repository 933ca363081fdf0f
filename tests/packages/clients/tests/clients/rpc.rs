//! The client of gRPC.

use super::Seen;
use conformance::clients::Situation;
use demo::flaky::Flaky;
use holdoff::core::{Facts, GrpcCode};
use holdoff::{Failure, classify::clues_of};
use std::sync::Arc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::{Request, Status};

/// Messages without content.
struct Nothing;

impl Codec for Nothing {
    type Encode = ();
    type Decode = ();
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Nothing {
    type Item = ();
    type Error = Status;

    fn encode(&mut self, (): (), _: &mut EncodeBuf<'_>) -> Result<(), Status> {
        Ok(())
    }
}

impl Decoder for Nothing {
    type Item = ();
    type Error = Status;

    fn decode(&mut self, _: &mut DecodeBuf<'_>) -> Result<Option<()>, Status> {
        Ok(Some(()))
    }
}

pub(super) async fn tonic(flaky: Arc<Flaky>, situation: Arc<Situation>) -> Seen {
    let origin = flaky.expand(situation.url.as_deref().unwrap_or("{h2c}"));
    let channel = tonic::transport::Endpoint::from_shared(origin).unwrap().connect_lazy();
    let mut client = tonic::client::Grpc::new(channel);
    client.ready().await.unwrap();
    let mut request = Request::new(());
    if let Some(pushback) = &situation.pushback {
        request.metadata_mut().insert("pushback", pushback.parse().unwrap());
    }
    let path = format!("/flaky.Flaky/{}", situation.grpc.as_deref().unwrap_or("OK"));
    let Err(status) = client.unary::<(), (), _>(request, path.parse().unwrap(), Nothing).await else {
        return Seen { failure: None, facts: Facts::NONE, texts: String::new() };
    };
    let pushback = status.metadata().get("grpc-retry-pushback-ms").map(|value| value.as_bytes());
    let code = status.code() as u32;
    let grpc = GrpcCode::from_code(code).unwrap_or(GrpcCode::Unknown).code();
    let facts = Facts { grpc, unsent: clues_of(&status).is_unsent(), ..Facts::NONE };
    Seen { failure: Failure::from_grpc(code, pushback), facts, texts: status.to_string() }
}
