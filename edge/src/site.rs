//! What every handler gets beside the request: the way to the objects, the settings, and the time of arrival.

use std::rc::Rc;

use shared::config::Config;
use shared::time::Timestamp;
use worker::{Context, Env};

use crate::object_client::Objects;

/// One request's surroundings. It is cheap to clone, for what goes on after the answer.
#[derive(Clone)]
pub(crate) struct Site {
    /// The platform's bindings.
    pub(crate) env: Env,
    /// The platform's word for this request: it keeps going what must end after the answer.
    pub(crate) context: Rc<Context>,
    /// The configuration.
    pub(crate) settings: Rc<Config>,
    /// The way to the objects.
    pub(crate) objects: Objects,
    /// When the request arrived, read once.
    pub(crate) now: Timestamp,
}

impl Site {
    /// Goes on with `work` after the answer, and after the caller has gone.
    pub(crate) fn go_on(&self, work: impl Future<Output = ()> + 'static) {
        self.context.wait_until(work);
    }
}
