// Graphs: captured work, which can run any number of times.
#include "state.h"

#include <cstdio>

namespace standin {

// The capture mode that a thread has set for itself.
static aclmdlRICaptureMode &mode_of_thread() {
    thread_local aclmdlRICaptureMode mode = ACL_MODEL_RI_CAPTURE_MODE_GLOBAL;
    return mode;
}

// Number of captures that this thread has begun and that have not ended yet.
static int &begun() {
    thread_local int captures = 0;
    return captures;
}

bool forbidden() {
    for (const Stream *stream : state().streams) {
        const Graph *graph = stream->graph.get();
        if (graph == nullptr || graph->mode == ACL_MODEL_RI_CAPTURE_MODE_RELAXED ||
            mode_of_thread() == ACL_MODEL_RI_CAPTURE_MODE_RELAXED) {
            continue;
        }
        // If the mode of the thread or of the capture is thread-local, only the thread that began the capture is restricted.
        const bool local = graph->mode == ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL ||
                           mode_of_thread() == ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL;
        if (begun() > 0 || !local) {
            return true;
        }
    }
    return false;
}

int wait_captured(Stream &stream, const Event &event) {
    const char *call = "aclrtStreamWaitEvent";
    if (event.captured == 0) {
        return ended(call, CAPTURE_DEPENDENCY, "the event was recorded on a stream that is not captured");
    }
    Stream &recorded = *event.stream;
    if (state().streams.count(event.stream) == 0 || recorded.graph == nullptr ||
        recorded.graph->number != event.captured || (stream.graph != nullptr && stream.graph != recorded.graph)) {
        return ended(call, EVENT_CAPTURED, "the event was recorded in another capture, or in one that has ended");
    }
    if (stream.graph == nullptr) {
        stream.graph = recorded.graph;
        stream.graph->streams[&stream] = 0;
    } else if (&recorded != &stream && stream.graph->streams[&recorded] == event.place) {
        // From now on, new work of this stream follows all work of the recorded stream.
        stream.graph->streams[&recorded] = 0;
        stream.graph->streams[&stream] += 1;
    }
    return ACL_SUCCESS;
}

// Ends a capture. Returns an error if some stream has work that the first stream does not wait for.
static int release(Graph &graph) {
    int error = ACL_SUCCESS;
    const std::map<Stream *, uint64_t> streams = std::move(graph.streams);
    graph.streams.clear();
    for (const auto &[stream, tasks] : streams) {
        error = stream != graph.first && tasks != 0 ? STREAM_UNJOINED : error;
        stream->graph = nullptr;
    }
    return error;
}

} // namespace standin

using namespace standin;

aclError aclmdlRICaptureBegin(aclrtStream handle, aclmdlRICaptureMode mode) {
    const char *call = "aclmdlRICaptureBegin";
    std::lock_guard<std::mutex> lock(state().mutex);
    Stream *stream = static_cast<Stream *>(handle);
    if (state().streams.count(stream) == 0 || mode < 0 || mode > ACL_MODEL_RI_CAPTURE_MODE_RELAXED) {
        return ended(call, PARAMETER, "a stream and a mode from 0 to 2");
    }
    if (stream->graph != nullptr) {
        return ended(call, STREAM_CAPTURED, "the stream is captured");
    }
    stream->graph = std::make_shared<Graph>();
    stream->graph->streams[stream] = 0;
    stream->graph->first = stream;
    stream->graph->mode = mode;
    stream->graph->number = ++state().captures;
    begun() += 1;
    return ended(call, ACL_SUCCESS, named(handle));
}

aclError aclmdlRICaptureGetInfo(aclrtStream handle, aclmdlRICaptureStatus *status, aclmdlRI *model) {
    std::lock_guard<std::mutex> lock(state().mutex);
    Stream *stream = static_cast<Stream *>(handle);
    if (state().streams.count(stream) == 0 || status == nullptr) {
        return ended("aclmdlRICaptureGetInfo", PARAMETER, "a stream and a place");
    }
    const bool captured = stream->graph != nullptr;
    *status = captured ? ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE : ACL_MODEL_RI_CAPTURE_STATUS_NONE;
    if (model != nullptr) {
        *model = stream->graph.get();
    }
    return ended("aclmdlRICaptureGetInfo", ACL_SUCCESS);
}

aclError aclmdlRICaptureThreadExchangeMode(aclmdlRICaptureMode *mode) {
    if (mode == nullptr || *mode < 0 || *mode > ACL_MODEL_RI_CAPTURE_MODE_RELAXED) {
        return ended("aclmdlRICaptureThreadExchangeMode", PARAMETER, "a mode from 0 to 2");
    }
    std::swap(*mode, mode_of_thread());
    return ended("aclmdlRICaptureThreadExchangeMode", ACL_SUCCESS);
}

aclError aclmdlRICaptureEnd(aclrtStream handle, aclmdlRI *model) {
    const char *call = "aclmdlRICaptureEnd";
    std::lock_guard<std::mutex> lock(state().mutex);
    Stream *stream = static_cast<Stream *>(handle);
    if (state().streams.count(stream) == 0 || model == nullptr) {
        return ended(call, PARAMETER, "a stream and a place");
    }
    if (stream->graph == nullptr || stream->graph->first != stream) {
        return ended(call, STREAM_NOT_CAPTURED, "a stream whose capture has begun");
    }
    const std::shared_ptr<Graph> graph = stream->graph;
    begun() -= begun() > 0 ? 1 : 0;
    if (const int error = release(*graph); error != ACL_SUCCESS) {
        return ended(call, error, "a captured stream has work that the first stream does not wait for");
    }
    state().graphs[graph.get()] = graph;
    *model = graph.get();
    return ended(call, ACL_SUCCESS, std::to_string(graph->work.size()) + " tasks");
}

aclError aclmdlRIDebugPrint(aclmdlRI model) {
    std::lock_guard<std::mutex> lock(state().mutex);
    const auto found = state().graphs.find(model);
    if (found == state().graphs.end()) {
        return ended("aclmdlRIDebugPrint", PARAMETER, "no such graph");
    }
    std::fprintf(stderr, "stand-in for CANN: a graph of %zu tasks\n", found->second->work.size());
    return ended("aclmdlRIDebugPrint", ACL_SUCCESS);
}

aclError aclmdlRIExecuteAsync(aclmdlRI model, aclrtStream handle) {
    const char *call = "aclmdlRIExecuteAsync";
    std::lock_guard<std::mutex> lock(state().mutex);
    const auto found = state().graphs.find(model);
    Stream *stream = static_cast<Stream *>(handle);
    if (found == state().graphs.end() || state().streams.count(stream) == 0) {
        return ended(call, PARAMETER, "a graph and a stream");
    }
    if (stream->graph != nullptr) {
        return ended(call, STREAM_CAPTURED, "the stream is captured");
    }
    enqueue(handle, [graph = found->second] {
        for (const auto &work : graph->work) {
            if (const int error = work(); error != ACL_SUCCESS) {
                return error;
            }
        }
        return static_cast<int>(ACL_SUCCESS);
    });
    return ended(call, ACL_SUCCESS, named(handle));
}

aclError aclmdlRIDestroy(aclmdlRI model) {
    std::lock_guard<std::mutex> lock(state().mutex);
    if (state().graphs.erase(model) == 0) {
        return ended("aclmdlRIDestroy", PARAMETER, "no such graph");
    }
    return ended("aclmdlRIDestroy", ACL_SUCCESS);
}
