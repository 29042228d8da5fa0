#include "store.h"

#include <cerrno>
#include <cstring>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace standin::shmem {

using Clock = std::chrono::steady_clock;

// Waits until a socket can be read or written. Returns false if the deadline has passed.
static bool ready(int socket, short events, Clock::time_point deadline) {
    pollfd wanted = {socket, events, 0};
    const auto rest = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    return poll(&wanted, 1, rest > 0 ? static_cast<int>(rest) : 0) > 0;
}

static bool receive(int socket, void *to, size_t bytes, Clock::time_point deadline) {
    for (size_t done = 0; done < bytes;) {
        const ssize_t got =
            ready(socket, POLLIN, deadline) ? recv(socket, static_cast<char *>(to) + done, bytes - done, 0) : -1;
        if (got <= 0) {
            return false;
        }
        done += static_cast<size_t>(got);
    }
    return true;
}

static bool send(int socket, const void *from, size_t bytes, Clock::time_point deadline) {
    for (size_t done = 0; done < bytes;) {
        const ssize_t sent = ready(socket, POLLOUT, deadline)
                                 ? ::send(socket, static_cast<const char *>(from) + done, bytes - done, MSG_NOSIGNAL)
                                 : -1;
        if (sent <= 0) {
            return false;
        }
        done += static_cast<size_t>(sent);
    }
    return true;
}

static bool send(int socket, const std::string &text, Clock::time_point deadline) {
    const uint32_t bytes = static_cast<uint32_t>(text.size());
    return send(socket, &bytes, sizeof bytes, deadline) && send(socket, text.data(), bytes, deadline);
}

static bool receive(int socket, std::string &text, Clock::time_point deadline) {
    uint32_t bytes = 0;
    if (!receive(socket, &bytes, sizeof bytes, deadline) || bytes > 1 << 20) {
        return false;
    }
    text.resize(bytes);
    return receive(socket, text.data(), bytes, deadline);
}

static addrinfo *resolved(const char *host, const char *port) {
    addrinfo hints = {};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    addrinfo *found = nullptr;
    return getaddrinfo(host, port, &hints, &found) == 0 ? found : nullptr;
}

std::string Store::begin(int process, int processes, const char *address, int socket, uint32_t seconds) {
    process_ = process;
    seconds_ = seconds;
    std::string text = address;
    const bool v4 = text.compare(0, 6, "tcp://") == 0, v6 = text.compare(0, 8, "tcp6://[") == 0;
    const size_t colon = text.rfind(':');
    if (!v4 && !v6) {
        return "an address that begins with tcp:// or tcp6://[";
    }
    const std::string host = v4 ? text.substr(6, colon - 6) : text.substr(8, text.rfind(']') - 8);
    const std::string port = text.substr(colon + 1);
    if (std::atoi(port.c_str()) <= 1024) {
        return "a port above 1024";
    }
    links_.assign(process == 0 ? static_cast<size_t>(processes) : 1, -1);
    return process == 0 ? listen(host.c_str(), port.c_str(), socket) : connect(host.c_str(), port.c_str());
}

std::string Store::listen(const char *host, const char *port, int socket) {
    if (socket <= 0) {
        addrinfo *at = resolved(host, port);
        socket = at != nullptr ? ::socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;
        const bool bound = socket >= 0 && bind(socket, at->ai_addr, at->ai_addrlen) == 0;
        if (at != nullptr) {
            freeaddrinfo(at);
        }
        if (!bound) {
            return "an address of this machine that is free";
        }
    }
    const Time until = deadline();
    std::string wrong = ::listen(socket, 64) == 0 ? "" : "a socket that can listen";
    for (size_t joined = 1; wrong.empty() && joined < links_.size();) {
        const int link = ready(socket, POLLIN, until) ? accept(socket, nullptr, nullptr) : -1;
        int32_t process = -1;
        if (link < 0 || !receive(link, &process, sizeof process, until)) {
            wrong = "all processes within the limit";
        } else if (process <= 0 || static_cast<size_t>(process) >= links_.size() || links_[process] >= 0) {
            wrong = "each process once";
        } else {
            links_[process] = link;
            joined += 1;
        }
    }
    ::close(socket);
    return wrong;
}

std::string Store::connect(const char *host, const char *port) {
    const Time until = deadline();
    addrinfo *at = resolved(host, port);
    while (at != nullptr && links_[0] < 0 && Clock::now() < until) {
        const int link = ::socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const int32_t process = process_;
        if (::connect(link, at->ai_addr, at->ai_addrlen) == 0 && send(link, &process, sizeof process, until)) {
            links_[0] = link;
        } else {
            ::close(link);
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
    }
    if (at != nullptr) {
        freeaddrinfo(at);
    }
    return links_[0] >= 0 ? "" : "process 0 at its address";
}

bool Store::gather(const std::string &mine, std::vector<std::string> &all) {
    const Time until = deadline();
    if (process_ != 0) {
        uint32_t count = 0;
        if (!send(links_[0], mine, until) || !receive(links_[0], &count, sizeof count, until)) {
            return false;
        }
        all.assign(count, "");
        for (std::string &text : all) {
            if (!receive(links_[0], text, until)) {
                return false;
            }
        }
        return true;
    }
    all.assign(links_.size(), mine);
    for (size_t process = 1; process < links_.size(); ++process) {
        if (!receive(links_[process], all[process], until)) {
            return false;
        }
    }
    const uint32_t count = static_cast<uint32_t>(all.size());
    for (size_t process = 1; process < links_.size(); ++process) {
        bool sent = send(links_[process], &count, sizeof count, until);
        for (const std::string &text : all) {
            sent = sent && send(links_[process], text, until);
        }
        if (!sent) {
            return false;
        }
    }
    return true;
}

void Store::end() {
    for (int link : links_) {
        if (link >= 0) {
            ::close(link);
        }
    }
    links_.clear();
}

} // namespace standin::shmem
