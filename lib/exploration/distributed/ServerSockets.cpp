// Finds the leader, and waits for it alone.
#include "lib/exploration/distributed/SocketTools.h"
#include "lib/exploration/distributed/Sockets.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <mutex>
#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>

namespace accord {
namespace {

class ServerSocket : public ServerLink {
public:
  explicit ServerSocket(Descriptor socket) : socket_(std::move(socket)) {}

  bool send(const std::string &message) override {
    std::string frame = framed(message);
    std::lock_guard lock(mutex_);
    for (size_t at = 0; at < frame.size();) {
      ssize_t sent = ::send(socket_.get(), frame.data() + at, frame.size() - at, MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR)
        continue;
      if (sent <= 0)
        return false;
      at += static_cast<size_t>(sent);
    }
    return true;
  }

  std::optional<std::string> receive() override {
    for (bool broken = false; !broken;) {
      if (auto message = unframed(received_, broken))
        return message;
      char part[1 << 16];
      ssize_t got = broken ? 0 : recv(socket_.get(), part, sizeof part, 0);
      if (got > 0)
        received_.append(part, static_cast<size_t>(got));
      else if (got == 0 || errno != EINTR)
        break;
    }
    return std::nullopt;
  }

private:
  Descriptor socket_;
  std::string received_;
  std::mutex mutex_; ///< of sending
};

/// Tries one address for a few seconds.
Descriptor connected(llvm::StringRef host, uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  if (inet_pton(AF_INET, host.str().c_str(), &address.sin_addr) != 1)
    return {};
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  timeval timeout{5, 0}; // of connect, too
  setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
  if (!socket || connect(socket.get(), reinterpret_cast<sockaddr *>(&address), sizeof address) != 0)
    return {};
  timeval none{0, 0};
  setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &none, sizeof none);
  tune(socket.get());
  return socket;
}

} // namespace

std::variant<std::unique_ptr<ServerLink>, std::string> joinLeader(const std::string &invitation, size_t rank) {
  llvm::SmallVector<llvm::StringRef> words;
  llvm::StringRef(invitation).split(words, ' ');
  uint16_t port = 0;
  if (words.size() < 3 || words[1].getAsInteger(10, port))
    return "the process that leads the search says nothing of where it is";
  llvm::SmallVector<llvm::StringRef> hosts(words.begin() + 3, words.end());
  if (words[2] == hostName())
    hosts.insert(hosts.begin(), "127.0.0.1");
  for (llvm::StringRef host : hosts)
    if (Descriptor socket = connected(host, port)) {
      auto link = std::make_unique<ServerSocket>(std::move(socket));
      if (link->send(fmt::format("{} {}", words[0].str(), rank)))
        return link;
    }
  return fmt::format("the process that leads the search cannot be reached on {} ({})", words[2].str(),
                     std::strerror(errno));
}

} // namespace accord
