//! The listeners of rank 0 for groups that don't exist yet, identified by numbers that are never reused.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hpmoe_runtime::Joining;

use crate::error::Failure;
use crate::header::HpmoeListener;
use crate::joining::invalid;

struct Listeners {
    made: HpmoeListener,
    open: BTreeMap<HpmoeListener, TcpListener>,
}

static LISTENERS: Mutex<Listeners> = Mutex::new(Listeners { made: 0, open: BTreeMap::new() });

/// Starts listening. Returns the listener's number, and the port.
pub(crate) fn listen(address: &str, joining: &Joining) -> Result<(HpmoeListener, u16), Failure> {
    let listener = joining.listen(address).map_err(invalid)?;
    let port =
        listener.local_addr().map_err(|error| Failure::invalid(format!("the port can't be found: {error}")))?.port();
    let mut listeners = lock();
    listeners.made += 1;
    let number = listeners.made;
    listeners.open.insert(number, listener);
    Ok((number, port))
}

/// Takes a listener out of the list. Its handle becomes invalid.
pub(crate) fn take(number: HpmoeListener) -> Result<TcpListener, Failure> {
    lock().open.remove(&number).ok_or_else(|| {
        let what = "a group has taken it, it was freed, or this library has never made it";
        Failure::invalid(format!("there is no listener {number}: {what}; make one with hpmoe_listen"))
    })
}

fn lock() -> MutexGuard<'static, Listeners> {
    LISTENERS.lock().unwrap_or_else(PoisonError::into_inner)
}
