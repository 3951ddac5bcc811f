// A server that sends bytes as it is told, for tests of what clients do with them.
#pragma once
#include <arpa/inet.h>
#include <atomic>
#include <functional>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace accord::service {

/// Takes one connection after the other and does with each what it is told; the second argument says that the test
/// ends.
class RawServer {
public:
  explicit RawServer(std::function<void(int, const std::atomic<bool> &)> serve) {
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET, address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(listener, reinterpret_cast<sockaddr *>(&address), size), 0);
    EXPECT_EQ(listen(listener, 16), 0);
    getsockname(listener, reinterpret_cast<sockaddr *>(&address), &size);
    port = ntohs(address.sin_port);
    thread = std::thread([this, serve] {
      while (!isOver) {
        pollfd ready{listener, POLLIN, 0};
        if (poll(&ready, 1, 20) <= 0)
          continue;
        const int client = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
        if (client >= 0)
          serve(client, isOver), close(client);
      }
    });
  }
  ~RawServer() {
    isOver = true;
    thread.join();
    close(listener);
  }
  std::string url(const std::string &scheme = "http") const { return scheme + "://127.0.0.1:" + std::to_string(port); }

private:
  int listener = -1, port = 0;
  std::atomic<bool> isOver = false;
  std::thread thread;
};

} // namespace accord::service
