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
    if (stream->graph != nullptr) {
        stream->graph->work.push_back(std::move(next));
        stream->graph->streams[stream] += 1;
        return true;
    }
    stream->work.push_back(std::move(next));
    stream->places += 1;
    state().changed.notify_all();
    return true;
}

// Waits until a stream has no work left, for at most `milliseconds`; -1 means without a limit.
static int synchronize(const char *call, aclrtStream handle, int32_t milliseconds) {
    Stream *stream = static_cast<Stream *>(handle);
    std::unique_lock<std::mutex> lock(state().mutex);
    if (state().streams.count(stream) == 0 || milliseconds < -1 || milliseconds == 0) {
        return ended(call, BAD_HANDLE, "a stream, and a time or -1");
    }
    if (stream->graph != nullptr) {
        return ended(call, STREAM_CAPTURED, "the stream is captured");
    }
    const auto idle = [&] { return stream->work.empty() && !stream->busy; };
    if (milliseconds == -1) {
        state().changed.wait(lock, idle);
    } else if (!state().changed.wait_for(lock, std::chrono::milliseconds(milliseconds), idle)) {
        return ended(call, STREAM_TIMEOUT, "the stream has work that has not ended");
    }
    learned(stream, stream->places);
    const int error = stream->error;
    return ended(call, error, error == ACL_SUCCESS ? "" : "work on the stream failed: " + state().failure);
}

// Waits until a stream has reached an event.
static int synchronize_event(const char *call, aclrtEvent handle, int32_t milliseconds) {
    std::unique_lock<std::mutex> lock(state().mutex);
    Event *event = static_cast<Event *>(handle);
    if (state().events.count(event) == 0 || milliseconds < -1 || milliseconds == 0) {
        return ended(call, BAD_HANDLE, "an event, and a time or -1");
    }
    if (event->captured != 0) {
        return ended(call, EVENT_CAPTURED, "the event was recorded on a stream that was captured");
    }
    if (event->recorded == 0) {
        return ended(call, BAD_HANDLE, "an event that was recorded");
    }
    const auto reached = [&] { return event->reached >= event->recorded; };
    if (milliseconds == -1) {
        state().changed.wait(lock, reached);
    } else if (!state().changed.wait_for(lock, std::chrono::milliseconds(milliseconds), reached)) {
        return ended(call, EVENT_TIMEOUT, "the stream has not come to the event");
    }
    learned(event->stream, event->place);
    return ended(call, ACL_SUCCESS);
}

static int create_stream(const char *call, aclrtStream *handle) {
    if (current_device() < 0) {
        return ended(call, NO_DEVICE_SET, "this thread has set no device");
    }
    std::lock_guard<std::mutex> lock(state().mutex);
    Stream *stream = new Stream;
    stream->device = current_device();
    stream->thread = std::thread([stream] { work(*stream); });
    state().streams.insert(stream);
    *handle = stream;
    return ended(call, ACL_SUCCESS);
}

// Flags of events: streams can wait for the event, the host can query it, and it records a time.
constexpr uint32_t EVENT_FLAGS = ACL_EVENT_SYNC | 2 | 8;

} // namespace standin

using namespace standin;

aclError aclrtCreateStream(aclrtStream *handle) { return create_stream("aclrtCreateStream", handle); }

aclError aclrtCreateStreamWithConfig(aclrtStream *handle, uint32_t, uint32_t) {
    return create_stream("aclrtCreateStreamWithConfig", handle);
}

aclError aclrtDestroyStream(aclrtStream handle) {
    Stream *stream = static_cast<Stream *>(handle);
    {
        std::lock_guard<std::mutex> lock(state().mutex);
        if (state().streams.count(stream) == 0) {
            return ended("aclrtDestroyStream", BAD_HANDLE, "no such stream");
        }
        if (stream->graph != nullptr) {
            return ended("aclrtDestroyStream", STREAM_CAPTURED, "the stream is captured");
        }
        state().streams.erase(stream);
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
    return synchronize("aclrtSynchronizeStreamWithTimeout", handle, milliseconds);
}

aclError aclrtSynchronizeStream(aclrtStream handle) { return synchronize("aclrtSynchronizeStream", handle, -1); }

aclError aclrtSynchronizeDeviceWithTimeout(int32_t milliseconds) {
    std::vector<Stream *> streams;
    {
        std::lock_guard<std::mutex> lock(state().mutex);
        for (Stream *stream : state().streams) {
            if (stream->device == current_device() && stream->graph == nullptr) {
                streams.push_back(stream);
            }
        }
    }
    for (Stream *stream : streams) {
        if (const int error = synchronize("aclrtSynchronizeDevice", stream, milliseconds); error != ACL_SUCCESS) {
            return error;
        }
    }
    return ended("aclrtSynchronizeDevice", current_device() < 0 ? NO_DEVICE_SET : ACL_SUCCESS);
}

aclError aclrtSynchronizeDevice() { return aclrtSynchronizeDeviceWithTimeout(-1); }

aclError aclrtCreateEventExWithFlag(aclrtEvent *handle, uint32_t flag) {
    if (flag == 0 || (flag & ~EVENT_FLAGS) != 0) {
        return ended("aclrtCreateEventExWithFlag", PARAMETER, "flags of an event");
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
    if (event->captured != 0) {
        return ended("aclrtQueryEventStatus", EVENT_CAPTURED, "the event was recorded on a stream that was captured");
    }
    const bool reached = event->recorded > 0 && event->reached >= event->recorded;
    *status = reached ? ACL_EVENT_RECORDED_STATUS_COMPLETE : ACL_EVENT_RECORDED_STATUS_NOT_READY;
    if (reached) {
        learned(event->stream, event->place);
    }
    return ended("aclrtQueryEventStatus", ACL_SUCCESS);
}

aclError aclrtSynchronizeEventWithTimeout(aclrtEvent handle, int32_t milliseconds) {
    return synchronize_event("aclrtSynchronizeEventWithTimeout", handle, milliseconds);
}

aclError aclrtSynchronizeEvent(aclrtEvent handle) { return synchronize_event("aclrtSynchronizeEvent", handle, -1); }

aclError aclrtResetEvent(aclrtEvent handle, aclrtStream stream) {
    std::lock_guard<std::mutex> lock(state().mutex);
    if (state().events.count(static_cast<Event *>(handle)) == 0 ||
        state().streams.count(static_cast<Stream *>(stream)) == 0) {
        return ended("aclrtResetEvent", BAD_HANDLE, "an event and a stream");
    }
    return ended("aclrtResetEvent", ACL_SUCCESS);
}

aclError aclrtEventElapsedTime(float *milliseconds, aclrtEvent start, aclrtEvent end) {
    std::lock_guard<std::mutex> lock(state().mutex);
    const Event *from = static_cast<Event *>(start), *to = static_cast<Event *>(end);
    const auto reached = [](const Event *event) {
        return state().events.count(const_cast<Event *>(event)) != 0 && event->recorded > 0 &&
               event->reached >= event->recorded;
    };
    if (!reached(from) || !reached(to)) {
        return ended("aclrtEventElapsedTime", BAD_HANDLE, "two events that streams have come to");
    }
    *milliseconds = std::chrono::duration<float, std::milli>(to->time - from->time).count();
    return ended("aclrtEventElapsedTime", ACL_SUCCESS);
}

aclError aclrtRecordEvent(aclrtEvent handle, aclrtStream stream) {
    std::lock_guard<std::mutex> lock(state().mutex);
    Event *event = static_cast<Event *>(handle);
    if (state().events.count(event) == 0 || state().streams.count(static_cast<Stream *>(stream)) == 0) {
        return ended("aclrtRecordEvent", BAD_HANDLE, "an event and a stream");
    }
    Stream *recording = static_cast<Stream *>(stream);
    event->stream = recording;
    event->captured = recording->graph != nullptr ? recording->graph->number : 0;
    if (recording->graph != nullptr) {
        // Captured work runs in the order of the capture, so no stream needs to wait.
        event->place = recording->graph->streams[recording];
        return ended("aclrtRecordEvent", ACL_SUCCESS, named(stream) + ", captured");
    }
    const uint64_t number = ++event->recorded;
    enqueue(stream, [=] {
        std::lock_guard<std::mutex> inner(state().mutex);
        event->reached = number;
        event->time = std::chrono::steady_clock::now();
        state().changed.notify_all();
        return ACL_SUCCESS;
    });
    event->place = recording->places;
    return ended("aclrtRecordEvent", ACL_SUCCESS, named(stream));
}

aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent handle) {
    std::lock_guard<std::mutex> lock(state().mutex);
    Event *event = static_cast<Event *>(handle);
    if (state().events.count(event) == 0 || state().streams.count(static_cast<Stream *>(stream)) == 0) {
        return ended("aclrtStreamWaitEvent", BAD_HANDLE, "a stream and an event");
    }
    Stream *waiting = static_cast<Stream *>(stream);
    if (waiting->graph != nullptr || event->captured != 0) {
        const int error = wait_captured(*waiting, *event);
        return error != ACL_SUCCESS ? error : ended("aclrtStreamWaitEvent", ACL_SUCCESS, named(stream) + ", captured");
    }
    const uint64_t number = event->recorded;
    enqueue(stream, [=] {
        std::unique_lock<std::mutex> inner(state().mutex);
        state().changed.wait(inner, [&] { return event->reached >= number; });
        return ACL_SUCCESS;
    });
    return ended("aclrtStreamWaitEvent", ACL_SUCCESS, named(stream));
}
