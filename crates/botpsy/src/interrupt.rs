//! Ctrl-C: once ends the answer, twice ends the program.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::{Exit, OrFail};

/// Makes Ctrl-C raise a flag that providers look at; pressed while it is raised, it ends the program.
pub(crate) fn watch() -> anyhow::Result<Arc<AtomicBool>> {
    let cancel = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&cancel);
    ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(Exit::Interrupted as i32);
        }
    })
    .or_failed("run it again; if that does not help, report it")?;
    Ok(cancel)
}
