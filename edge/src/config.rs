//! The configuration, read from the environment once per isolate and checked by the rule (`shared::config`).
//!
//! While it is wrong nothing passes: every path answers 503. Which mistakes there are is said in the log alone.

use std::cell::OnceCell;
use std::rc::Rc;

use serde_json::{Map, Value};
use shared::config::Config;
use shared::json;
use wasm_bindgen::{JsCast, JsValue};
use worker::Env;
use worker::js_sys::{JSON, Object, Reflect};

use crate::telemetry::{Level, event};

/// The configuration, or nothing while it is wrong.
pub(crate) fn settings(env: &Env) -> Option<Rc<Config>> {
    thread_local! {
        static READ: OnceCell<Option<Rc<Config>>> = const { OnceCell::new() };
    }
    READ.with(|known| known.get_or_init(|| read(env)).clone())
}

/// Secrets are variables of the environment like any other, so one that is not seen is missing.
fn read(env: &Env) -> Option<Rc<Config>> {
    match Config::read(&variables(env), Some(&[])) {
        Ok(config) => Some(Rc::new(config)),
        Err(mistakes) => {
            for mistake in mistakes {
                event(Level::Error, "misconfigured", &[("mistake", &mistake)]);
            }
            None
        }
    }
}

/// The environment's texts and tables, as a JSON map.
fn variables(env: &Env) -> Map<String, Value> {
    let mut variables = Map::new();
    let env: &Object = env.unchecked_ref();
    for name in Object::keys(env).iter().filter_map(|name| name.as_string()) {
        let Ok(value) = Reflect::get(env, &JsValue::from_str(&name)) else {
            continue;
        };
        let value = match value.as_string() {
            Some(text) => Value::String(text),
            None if is_binding(&value) => continue,
            None => json(&value),
        };
        variables.insert(name, value);
    }
    variables
}

/// Objects, namespaces and files, as against tables: their class is one of the platform's.
fn is_binding(value: &JsValue) -> bool {
    value.is_object() && Object::from(value.clone()).constructor().name() != "Object"
}

/// A table of the environment. What has no JSON form is shown to the rule as null, which it refuses by name.
fn json(value: &JsValue) -> Value {
    let text = JSON::stringify(value).ok().map(String::from);
    text.and_then(|text| json::read(text.as_bytes()).ok())
        .unwrap_or(Value::Null)
}
