// Connects the processes of the stand-in for CANN's SHMEM library: process 0 listens, and the others connect to it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace standin::shmem {

class Store {
  public:
    ~Store() { end(); }

    // Joins the processes at an address, "tcp://1.2.3.4:5678". Process 0 listens on `socket` if it is a socket. Returns
    // the requirement that is not met, or "".
    std::string begin(int process, int processes, const char *address, int socket, uint32_t seconds);

    // Collects the text that each process passes, in the order of the processes' numbers. All processes must call it.
    // Returns false if one has ended or is late.
    bool gather(const std::string &mine, std::vector<std::string> &all);

    void end();

  private:
    using Time = std::chrono::steady_clock::time_point;

    Time deadline() const { return std::chrono::steady_clock::now() + std::chrono::seconds(seconds_); }
    std::string listen(const char *host, const char *port, int socket);
    std::string connect(const char *host, const char *port);

    int process_ = 0;
    uint32_t seconds_ = 0;
    // In process 0, a connection to each other process; in another process, only one, to process 0.
    std::vector<int> links_;
};

} // namespace standin::shmem
