//! Calls for streams and events.

use std::ptr::null_mut;
use std::time::Duration;

use super::bindings::*;
use super::{Acl, Handle, NpuError};

impl Acl {
    pub(in super::super) fn create_stream(&self) -> Result<Handle, NpuError> {
        let mut stream = null_mut();
        // SAFETY: a place for the result.
        self.check("aclrtCreateStream", unsafe { self.calls.aclrtCreateStream(&raw mut stream) })?;
        Ok(Handle::new(stream))
    }

    pub(in super::super) fn destroy_stream(&self, stream: Handle) -> Result<(), NpuError> {
        // SAFETY: made by `create_stream`, and its owner is being dropped.
        self.check("aclrtDestroyStream", unsafe { self.calls.aclrtDestroyStream(stream.pointer()) })
    }

    /// Waits until the stream has completed all work, at most `limit`.
    pub(in super::super) fn synchronize(&self, stream: Handle, limit: Duration) -> Result<(), NpuError> {
        // SAFETY: made by `create_stream`, and its owner lives.
        let code = unsafe { self.calls.aclrtSynchronizeStreamWithTimeout(stream.pointer(), milliseconds(limit)) };
        self.check("aclrtSynchronizeStreamWithTimeout", code)
    }

    /// Creates an event that can be recorded repeatedly. Waiting for it means waiting for its latest record.
    pub(in super::super) fn create_event(&self) -> Result<Handle, NpuError> {
        let mut event = null_mut();
        // SAFETY: a place for the result.
        let code = unsafe { self.calls.aclrtCreateEventExWithFlag(&raw mut event, ACL_EVENT_SYNC) };
        self.check("aclrtCreateEventExWithFlag", code)?;
        Ok(Handle::new(event))
    }

    pub(in super::super) fn destroy_event(&self, event: Handle) -> Result<(), NpuError> {
        // SAFETY: made by `create_event`, and its owner is being dropped.
        self.check("aclrtDestroyEvent", unsafe { self.calls.aclrtDestroyEvent(event.pointer()) })
    }

    /// Whether all work enqueued before the latest record of an event is complete.
    pub(in super::super) fn is_reached(&self, event: Handle) -> Result<bool, NpuError> {
        let mut status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
        // SAFETY: the owner of the event lives; a place for the result.
        let code = unsafe { self.calls.aclrtQueryEventStatus(event.pointer(), &raw mut status) };
        self.check("aclrtQueryEventStatus", code)?;
        Ok(status == ACL_EVENT_RECORDED_STATUS_COMPLETE)
    }

    /// Waits on the host until all work enqueued before the latest record of an event is complete, at most `limit`.
    pub(in super::super) fn wait_on_host(&self, event: Handle, limit: Duration) -> Result<(), NpuError> {
        // SAFETY: the owner of the event lives.
        let code = unsafe { self.calls.aclrtSynchronizeEventWithTimeout(event.pointer(), milliseconds(limit)) };
        self.check("aclrtSynchronizeEventWithTimeout", code)
    }

    pub(in super::super) fn record_event(&self, event: Handle, stream: Handle) -> Result<(), NpuError> {
        // SAFETY: the owners of both live.
        let code = unsafe { self.calls.aclrtRecordEvent(event.pointer(), stream.pointer()) };
        self.check("aclrtRecordEvent", code)
    }

    /// Makes work that is enqueued later on `stream` wait for the latest record of an event.
    pub(in super::super) fn wait_for_event(&self, stream: Handle, event: Handle) -> Result<(), NpuError> {
        // SAFETY: the owners of both live.
        let code = unsafe { self.calls.aclrtStreamWaitEvent(stream.pointer(), event.pointer()) };
        self.check("aclrtStreamWaitEvent", code)
    }
}

/// A limit in milliseconds, as the library takes it. It is at least 1, because the library's -1 means no limit.
fn milliseconds(limit: Duration) -> i32 {
    i32::try_from(limit.as_millis()).unwrap_or(i32::MAX).max(1)
}
