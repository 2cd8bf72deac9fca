//! Whoever answers the owner: a model in this process, or one behind an endpoint.

use std::env;
use std::fs;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, anyhow};
use botpsy_chat::{BaseUrl, Endpoint, EndpointError, EndpointOptions, Key, Provider};

use crate::args::{AnsweringArgs, EndpointArgs};
use crate::failure::{OrFail, bad_input, failed};
use crate::settings::Settings;
use crate::{home, model_flags, output};

/// The variable with the key of an endpoint.
pub(crate) const KEY_VARIABLE: &str = "BOTPSY_API_KEY";

/// Whoever answers.
pub(crate) struct Answering {
    provider: Box<dyn Provider>,
    remark: Option<String>,
}

impl Answering {
    /// The model that the flags name, or the endpoint, or that of the settings; what leaves this machine is told.
    pub(crate) fn open(args: &AnsweringArgs) -> anyhow::Result<Answering> {
        let overrides = model_flags::chat_overrides(&args.sampling, &args.thinking);
        let Some(options) = chosen(args)? else {
            let model = model_flags::load(&args.load, overrides)?;
            let remark = model.remark().map(str::to_owned);
            return Ok(Answering { provider: Box::new(model), remark });
        };
        model_flags::check(&overrides)?;
        if let Some(told) = leaving(&options.base) {
            output::note(&told);
        }
        let endpoint = Endpoint::new(EndpointOptions { overrides, ..options }).map_err(endpoint_error)?;
        // `botpsy serve` says when its model is a demonstration. A server that does not answer now will not answer the request
        // either, and that says why.
        let is_here = endpoint.options().base.is_loopback();
        let remark = is_here.then(|| endpoint.remark(&AtomicBool::new(false)).unwrap_or_default()).flatten();
        Ok(Answering { provider: Box::new(endpoint), remark })
    }

    pub(crate) fn provider(&self) -> &dyn Provider {
        &*self.provider
    }

    /// What is to be said about it, such as that it is a demonstration.
    pub(crate) fn remark(&self) -> Option<&str> {
        self.remark.as_deref()
    }
}

/// The endpoint, if one is to answer.
fn chosen(args: &AnsweringArgs) -> anyhow::Result<Option<EndpointOptions>> {
    if args.load.model.model.is_some() {
        return Ok(None);
    }
    let EndpointArgs { endpoint, model_name } = &args.endpoint;
    let settings = match home::config_folder() {
        Some(_) => Some(Settings::load()?),
        None => None,
    };
    let settled = settings.as_ref().map(settled).transpose()?.flatten();
    let mut options = match (endpoint, settled) {
        (None, Some(settled)) => settled,
        (None, None) if model_name.is_some() => {
            let error = anyhow!("--model-name names a model of an endpoint, and there is none");
            return Err(bad_input(error, "give --endpoint URL, or settle one: botpsy config set endpoint URL"));
        }
        (None, None) => return Ok(None),
        (Some(url), settled) => {
            let base = BaseUrl::parse(url).map_err(endpoint_error)?;
            // Key and model of the settings belong to the endpoint that is named there, and to no other.
            match settled {
                Some(settled) if settled.base == base => settled,
                _ => options(base, None)?,
            }
        }
    };
    options.model = model_name.clone().or(options.model);
    Ok(Some(options))
}

/// The endpoint of the settings.
pub(crate) fn settled(settings: &Settings) -> anyhow::Result<Option<EndpointOptions>> {
    let Some(url) = &settings.endpoint.value else { return Ok(None) };
    let base = BaseUrl::parse(url).map_err(endpoint_error)?;
    let options = options(base, Some(settings))?;
    Ok(Some(EndpointOptions { model: settings.model_name.value.clone(), ..options }))
}

fn options(base: BaseUrl, settings: Option<&Settings>) -> anyhow::Result<EndpointOptions> {
    let file = settings.and_then(|settings| settings.key_file.value.as_ref());
    let key = match env::var_os(KEY_VARIABLE).filter(|key| !key.is_empty()) {
        Some(key) => Some(Key::parse(&key.to_string_lossy()).map_err(endpoint_error)?),
        None => match file {
            Some(file) => {
                let name = || format!("key_file: {}", file.display());
                let text = fs::read_to_string(file)
                    .with_context(name)
                    .or_bad_input("make it readable, or correct the setting")?;
                let key = Key::parse(&text).map_err(anyhow::Error::from).with_context(name);
                Some(key.or_bad_input("put the key into it, and nothing else")?)
            }
            None => None,
        },
    };
    let certificates = match env::var_os("SSL_CERT_FILE").filter(|file| base.is_encrypted() && !file.is_empty()) {
        Some(file) => {
            let read = fs::read(&file).with_context(|| format!("SSL_CERT_FILE: {}", file.display()));
            Some(read.or_bad_input("correct the variable, or unset it")?)
        }
        None => None,
    };
    Ok(EndpointOptions { key, certificates, ..EndpointOptions::new(base) })
}

/// That what is asked does not stay here, if it does not.
pub(crate) fn leaving(base: &BaseUrl) -> Option<String> {
    let how = if base.is_encrypted() { "" } else { ", readable by anybody on the way" };
    (!base.is_loopback()).then(|| format!("what you ask and what tools return leaves this machine, to {base}{how}"))
}

/// An error of an endpoint, with the next step.
pub(crate) fn endpoint_error(error: EndpointError) -> anyhow::Error {
    let help = error.help();
    if error.is_bad_input() { bad_input(error, help) } else { failed(error, help) }
}
