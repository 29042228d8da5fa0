// How processes of the stand-in for CANN's SHMEM library find each other: process 0 listens, the others are connected to it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace standin::shmem {

class Store {
  public:
    ~Store() { end(); }

    // Joins the processes at an address, "tcp://1.2.3.4:5678". Process 0 takes the socket, if it is one. An error in words.
    std::string begin(int process, int processes, const char *address, int socket, uint32_t seconds);

    // What each process passes, in the order of their numbers. All of them call it. False where one is gone or late.
    bool gather(const std::string &mine, std::vector<std::string> &all);

    void end();

  private:
    using Time = std::chrono::steady_clock::time_point;

    Time deadline() const { return std::chrono::steady_clock::now() + std::chrono::seconds(seconds_); }
    std::string listen(const char *host, const char *port, int socket);
    std::string connect(const char *host, const char *port);

    int process_ = 0;
    uint32_t seconds_ = 0;
    // Of process 0: to each other one. Of the others: the first alone, to process 0.
    std::vector<int> links_;
};

} // namespace standin::shmem
