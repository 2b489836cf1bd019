//! The only maker of object names and of the addresses inside objects, and the only caller of objects.
//!
//! Each call has its patience: an object that does not answer is not waited for longer. It retries nothing: the
//! platform itself repeats a call that did not arrive, and every message may come twice (L7).

use std::fmt;

use serde::{Serialize, de::DeserializeOwned};
use shared::json;
use shared::placement::ObjectName;
use shared::time::Millis;
use worker::js_sys::Uint8Array;
use worker::web_sys::{Request as RawRequest, RequestInit};
use worker::{Env, ObjectNamespace, Response, ResponseBody};

use crate::body::{self, Body};
use crate::message::{self, Answer, Call};
use crate::object::MESSAGE_BYTES_MAX;

/// How long an object may take that has nothing to wait for.
pub(crate) const PATIENCE: Millis = Millis::from_secs(5);

/// The fleet is one object.
const FLEET_NAME: &str = "fleet";

/// The way to the objects.
#[derive(Clone)]
pub(crate) struct Objects {
    env: Env,
}

/// An object did not do what was asked.
#[derive(Debug)]
pub(crate) enum CallError {
    /// No answer within the patience: it may have done it, or do it later.
    Unanswered,
    /// The object panicked. It lives on, and what it had begun is given back.
    Panicked,
    /// The call failed, or the object said that it failed; why, for the log.
    Failed(String),
}

impl Objects {
    /// The objects that this environment binds.
    pub(crate) fn of(env: &Env) -> Self {
        Self { env: env.clone() }
    }

    /// Asks the object that owns the operation. `patience` covers the whole answer.
    pub(crate) async fn ask(
        &self,
        call: &Call,
        body: &[u8],
        patience: Millis,
    ) -> Result<(Answer, Vec<u8>), CallError> {
        let message = message::encode(call, body).map_err(|error| CallError::Failed(error.0))?;
        let name = call.place().object();
        let bytes = self
            .operations(&name, "/message", &message, patience)
            .await?;
        let (answer, body) = message::decode(&bytes).map_err(|error| CallError::Failed(error.0))?;
        if let Answer::Failed { why } = answer {
            return Err(CallError::Failed(why));
        }
        Ok((answer, body))
    }

    /// Asks an operations object on an operator's behalf, in JSON.
    pub(crate) async fn operator<M: Serialize, A: DeserializeOwned>(
        &self,
        name: &ObjectName,
        message: &M,
    ) -> Result<A, CallError> {
        let message = to_json(message)?;
        from_json(
            &self
                .operations(name, "/operator", &message, PATIENCE)
                .await?,
        )
    }

    /// Asks the fleet, in JSON.
    pub(crate) async fn fleet<M: Serialize, A: DeserializeOwned>(
        &self,
        message: &M,
    ) -> Result<A, CallError> {
        let message = to_json(message)?;
        let namespace = self.namespace("FLEET")?;
        from_json(&call(&namespace, FLEET_NAME, "/", &message, PATIENCE).await?)
    }

    /// Asks an operations object at a path of its own.
    pub(crate) async fn operations(
        &self,
        name: &ObjectName,
        path: &str,
        message: &[u8],
        patience: Millis,
    ) -> Result<Vec<u8>, CallError> {
        let namespace = self.namespace("OPERATIONS")?;
        call(&namespace, &name.to_string(), path, message, patience).await
    }

    fn namespace(&self, binding: &str) -> Result<ObjectNamespace, CallError> {
        self.env.durable_object(binding).map_err(CallError::from)
    }
}

async fn call(
    namespace: &ObjectNamespace,
    name: &str,
    path: &str,
    message: &[u8],
    patience: Millis,
) -> Result<Vec<u8>, CallError> {
    let exchange = async {
        let init = RequestInit::new();
        init.set_method("POST");
        init.set_body(&Uint8Array::from(message));
        let address = format!("https://object{path}");
        let request =
            RawRequest::new_with_str_and_init(&address, &init).map_err(worker::Error::from)?;
        let stub = namespace.get_by_name(name)?; // a new one each time: after an error a stub may stay broken
        let response = stub.fetch_with_request(request.into()).await?;
        read(&response).await
    };
    let answered = body::within(patience, exchange).await;
    answered.unwrap_or(Err(CallError::Unanswered))
}

async fn read(response: &Response) -> Result<Vec<u8>, CallError> {
    let stream = match response.body() {
        ResponseBody::Stream(stream) => Some(stream.clone()),
        ResponseBody::Empty | ResponseBody::Body(_) => None,
    };
    let bytes = match body::read(stream, MESSAGE_BYTES_MAX).await {
        Body::Whole(bytes) => bytes,
        Body::TooLarge(_) => {
            return Err(CallError::Failed(String::from("the answer is too large")));
        }
        Body::Broken(why) => return Err(CallError::Failed(why)),
    };
    match response.status_code() {
        200 => Ok(bytes),
        500 if bytes == b"panic" => Err(CallError::Panicked),
        status => {
            let said = String::from_utf8_lossy(&bytes);
            Err(CallError::Failed(format!("status {status}: {said}")))
        }
    }
}

fn to_json<M: Serialize>(message: &M) -> Result<Vec<u8>, CallError> {
    serde_json::to_vec(message).map_err(|error| CallError::Failed(error.to_string()))
}

fn from_json<A: DeserializeOwned>(bytes: &[u8]) -> Result<A, CallError> {
    json::read(bytes).map_err(|error| CallError::Failed(error.to_string()))
}

impl From<worker::Error> for CallError {
    fn from(error: worker::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unanswered => f.write_str("the object did not answer in time"),
            Self::Panicked => f.write_str("the object panicked"),
            Self::Failed(why) => write!(f, "the object failed: {why}"),
        }
    }
}
