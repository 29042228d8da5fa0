// Streams and events.
#include "state.h"

#include <chrono>
#include <cstdio>

namespace standin {

static void work(Stream &stream) {
    std::unique_lock<std::mutex> lock(state().mutex);
    current_device() = stream.device;
    while (true) {
        state().changed.wait(lock, [&] { return stream.ends || !stream.work.empty(); });
        if (stream.work.empty()) {
            return;
        }
        std::function<int()> next = std::move(stream.work.front());
        stream.work.pop_front();
        stream.busy = true;
        if (stream.error == ACL_SUCCESS) {
            lock.unlock();
            const int error = next();
            lock.lock();
            stream.error = error;
        }
        stream.busy = false;
        state().changed.notify_all();
    }
}

std::string named(aclrtStream handle) {
    char text[32];
    std::snprintf(text, sizeof text, "stream %p", handle);
    return text;
}

bool enqueue(aclrtStream handle, std::function<int()> next) {
    Stream *stream = static_cast<Stream *>(handle);
    if (state().streams.count(stream) == 0) {
        return false;
    }
    stream->work.push_back(std::move(next));
    stream->places += 1;
    state().changed.notify_all();
    return true;
}

} // namespace standin

using namespace standin;

aclError aclrtCreateStream(aclrtStream *handle) {
    if (current_device() < 0) {
        return ended("aclrtCreateStream", NO_DEVICE_SET, "this thread has set no device");
    }
    std::lock_guard<std::mutex> lock(state().mutex);
    Stream *stream = new Stream;
    stream->device = current_device();
    stream->thread = std::thread([stream] { work(*stream); });
    state().streams.insert(stream);
    *handle = stream;
    return ended("aclrtCreateStream", ACL_SUCCESS);
}

aclError aclrtDestroyStream(aclrtStream handle) {
    Stream *stream = static_cast<Stream *>(handle);
    {
        std::lock_guard<std::mutex> lock(state().mutex);
        if (state().streams.erase(stream) == 0) {
            return ended("aclrtDestroyStream", BAD_HANDLE, "no such stream");
        }
        stream->ends = true;
        state().changed.notify_all();
    }
    stream->thread.join();
    std::lock_guard<std::mutex> lock(state().mutex);
    learned(stream, stream->places);
    delete stream;
    return ended("aclrtDestroyStream", ACL_SUCCESS);
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream handle, int32_t milliseconds) {
    Stream *stream = static_cast<Stream *>(handle);
    std::unique_lock<std::mutex> lock(state().mutex);
    if (state().streams.count(stream) == 0 || milliseconds < -1 || milliseconds == 0) {
        return ended("aclrtSynchronizeStreamWithTimeout", BAD_HANDLE, "a stream, and a time or -1");
    }
    const auto idle = [&] { return stream->work.empty() && !stream->busy; };
    if (milliseconds == -1) {
        state().changed.wait(lock, idle);
    } else if (!state().changed.wait_for(lock, std::chrono::milliseconds(milliseconds), idle)) {
        return ended("aclrtSynchronizeStreamWithTimeout", STREAM_TIMEOUT, "the stream has work that has not ended");
    }
    learned(stream, stream->places);
    const int error = stream->error;
    return ended("aclrtSynchronizeStreamWithTimeout", error,
                 error == ACL_SUCCESS ? "" : "work on the stream failed: " + state().failure);
}

aclError aclrtCreateEventExWithFlag(aclrtEvent *handle, uint32_t flag) {
    if (flag != ACL_EVENT_SYNC) {
        return ended("aclrtCreateEventExWithFlag", PARAMETER, "an event that streams wait for");
    }
    std::lock_guard<std::mutex> lock(state().mutex);
    Event *event = new Event;
    state().events.insert(event);
    *handle = event;
    return ended("aclrtCreateEventExWithFlag", ACL_SUCCESS);
}

aclError aclrtDestroyEvent(aclrtEvent handle) {
    std::lock_guard<std::mutex> lock(state().mutex);
    Event *event = static_cast<Event *>(handle);
    if (state().events.count(event) == 0 || event->reached < event->recorded) {
        return ended("aclrtDestroyEvent", BAD_HANDLE, "an event that no stream has still to come to");
    }
    state().events.erase(event);
    delete event;
    return ended("aclrtDestroyEvent", ACL_SUCCESS);
}

aclError aclrtQueryEventStatus(aclrtEvent handle, aclrtEventRecordedStatus *status) {
    std::lock_guard<std::mutex> lock(state().mutex);
    Event *event = static_cast<Event *>(handle);
    if (state().events.count(event) == 0 || status == nullptr) {
        return ended("aclrtQueryEventStatus", BAD_HANDLE, "an event and a place");
    }
    const bool reached = event->recorded > 0 && event->reached >= event->recorded;
    *status = reached ? ACL_EVENT_RECORDED_STATUS_COMPLETE : ACL_EVENT_RECORDED_STATUS_NOT_READY;
    if (reached) {
        learned(event->stream, event->place);
    }
    return ended("aclrtQueryEventStatus", ACL_SUCCESS);
}

aclError aclrtSynchronizeEventWithTimeout(aclrtEvent handle, int32_t milliseconds) {
    std::unique_lock<std::mutex> lock(state().mutex);
    Event *event = static_cast<Event *>(handle);
    if (state().events.count(event) == 0 || event->recorded == 0 || milliseconds < -1 || milliseconds == 0) {
        return ended("aclrtSynchronizeEventWithTimeout", BAD_HANDLE, "an event that was recorded, and a time or -1");
    }
    const auto reached = [&] { return event->reached >= event->recorded; };
    if (milliseconds == -1) {
        state().changed.wait(lock, reached);
    } else if (!state().changed.wait_for(lock, std::chrono::milliseconds(milliseconds), reached)) {
        return ended("aclrtSynchronizeEventWithTimeout", EVENT_TIMEOUT, "the stream has not come to the event");
    }
    learned(event->stream, event->place);
    return ended("aclrtSynchronizeEventWithTimeout", ACL_SUCCESS);
}

aclError aclrtRecordEvent(aclrtEvent handle, aclrtStream stream) {
    std::lock_guard<std::mutex> lock(state().mutex);
    Event *event = static_cast<Event *>(handle);
    if (state().events.count(event) == 0 || state().streams.count(static_cast<Stream *>(stream)) == 0) {
        return ended("aclrtRecordEvent", BAD_HANDLE, "an event and a stream");
    }
    const uint64_t number = ++event->recorded;
    enqueue(stream, [=] {
        std::lock_guard<std::mutex> inner(state().mutex);
        event->reached = number;
        state().changed.notify_all();
        return ACL_SUCCESS;
    });
    event->stream = static_cast<Stream *>(stream);
    event->place = event->stream->places;
    return ended("aclrtRecordEvent", ACL_SUCCESS, named(stream));
}

aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent handle) {
    std::lock_guard<std::mutex> lock(state().mutex);
    Event *event = static_cast<Event *>(handle);
    if (state().events.count(event) == 0 || state().streams.count(static_cast<Stream *>(stream)) == 0) {
        return ended("aclrtStreamWaitEvent", BAD_HANDLE, "a stream and an event");
    }
    const uint64_t number = event->recorded;
    enqueue(stream, [=] {
        std::unique_lock<std::mutex> inner(state().mutex);
        state().changed.wait(inner, [&] { return event->reached >= number; });
        return ACL_SUCCESS;
    });
    return ended("aclrtStreamWaitEvent", ACL_SUCCESS, named(stream));
}
