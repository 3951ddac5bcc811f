// Both ends of the connections: the leader's, which waits for any rank, and a rank's, which waits for the leader alone.
#include "lib/exploration/distributed/Sockets.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include <arpa/inet.h>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <mutex>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <optional>
#include <poll.h>
#include <string>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace accord {
namespace {

/// Closes itself.
class Descriptor {
public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor &&other) noexcept : number_(other.release()) {}
  Descriptor &operator=(Descriptor &&other) noexcept {
    if (this != &other) {
      close();
      number_ = other.release();
    }
    return *this;
  }
  ~Descriptor() { close(); }
  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  void close() {
    if (number_ >= 0)
      ::close(number_);
    number_ = -1;
  }
  int release() { return std::exchange(number_, -1); }

private:
  int number_ = -1;
};

/// Messages leave at once; the other machine's end is noticed within a minute or so.
void tune(int socket) {
  auto set = [socket](int level, int option, int value) {
    setsockopt(socket, level, option, &value, sizeof value); // without it things go on, only slower
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 20);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set(IPPROTO_TCP, TCP_KEEPCNT, 4);
}

/// Longer ones are no messages of ours.
constexpr size_t kMaxMessageBytes = size_t(1) << 28;

/// A length of four bytes, least first, then the message.
std::string framed(const std::string &message) {
  std::string frame;
  for (int i = 0; i < 4; ++i)
    frame += char(message.size() >> (8 * i));
  return frame + message;
}

/// Takes the first whole message out of what was received. `broken`: there is none to come.
std::optional<std::string> unframed(std::string &received, bool &broken) {
  if (received.size() < 4)
    return std::nullopt;
  size_t size = 0;
  for (int i = 0; i < 4; ++i)
    size |= size_t(uint8_t(received[i])) << (8 * i);
  broken = size > kMaxMessageBytes;
  if (broken || received.size() < 4 + size)
    return std::nullopt;
  std::string message = received.substr(4, size);
  received.erase(0, 4 + size);
  return message;
}

/// Of this machine that are up, those that only it can reach not among them.
std::vector<std::string> addresses() {
  std::vector<std::string> all;
  ifaddrs *first = nullptr;
  if (getifaddrs(&first) != 0)
    return all;
  for (ifaddrs *one = first; one; one = one->ifa_next) {
    if (!one->ifa_addr || one->ifa_addr->sa_family != AF_INET || !(one->ifa_flags & IFF_UP) ||
        (one->ifa_flags & IFF_LOOPBACK))
      continue;
    char text[INET_ADDRSTRLEN] = {};
    auto *address = reinterpret_cast<sockaddr_in *>(one->ifa_addr);
    if (inet_ntop(AF_INET, &address->sin_addr, text, sizeof text))
      all.emplace_back(text);
  }
  freeifaddrs(first);
  return all;
}

class LeaderSockets : public LeaderLink {
public:
  LeaderSockets(Descriptor listening, Descriptor waking, std::string secret, size_t ranks)
      : listening_(std::move(listening)), waking_(std::move(waking)), secret_(std::move(secret)), ranks_(ranks + 1) {}

  size_t ranks() const override { return ranks_.size() - 1; }

  void send(size_t rank, std::string message) override {
    std::lock_guard lock(mutex_);
    Connection &to = ranks_.at(rank);
    if (!to.socket)
      return;
    to.leaving += framed(message);
    write(to); // what does not leave now leaves with `next`; so does the news of a loss
  }

  std::optional<Event> next(std::chrono::milliseconds wait) override {
    {
      std::lock_guard lock(mutex_);
      if (auto event = taken())
        return event;
    }
    // New connections and losses come from this thread alone, so the numbers stay what they are;
    // `drop` only shuts a socket down.
    std::vector<pollfd> polled{{waking_.get(), POLLIN, 0}, {listening_.get(), POLLIN, 0}};
    {
      std::lock_guard lock(mutex_);
      for (const Connection &one : strangers_)
        polled.push_back({one.socket.get(), POLLIN, 0});
      for (const Connection &one : ranks_)
        polled.push_back({one.socket.get(), // a negative one is passed over
                          static_cast<short>(POLLIN | (one.leaving.empty() ? 0 : POLLOUT)), 0});
    }
    int ready = poll(polled.data(), polled.size(), wait.count());
    if (ready <= 0)
      return std::nullopt;
    std::lock_guard lock(mutex_);
    if (polled[0].revents) {
      uint64_t times;
      (void)!read(waking_.get(), &times, sizeof times);
    }
    size_t strangers = strangers_.size();
    for (size_t i = 0; i < strangers; ++i)
      if (polled[2 + i].revents)
        receive(strangers_[i]);
    for (size_t i = 0; i < ranks_.size(); ++i)
      if (short what = polled[2 + strangers + i].revents) {
        if (what & POLLOUT)
          write(ranks_[i]);
        if (what & ~POLLOUT)
          receive(ranks_[i]);
      }
    meet();
    if (polled[1].revents)
      greet();
    return taken();
  }

  void wake() override {
    uint64_t once = 1;
    (void)!::write(waking_.get(), &once, sizeof once);
  }

  void drop(size_t rank) override {
    std::lock_guard lock(mutex_);
    Connection &one = ranks_.at(rank);
    one.reported = true;
    if (one.socket)
      shutdown(one.socket.get(), SHUT_RDWR);
  }

private:
  struct Connection {
    Descriptor socket;
    std::string received, leaving;
    bool broken = false;   ///< nothing more comes
    bool reported = false; ///< and it is known
  };

  static void write(Connection &to) {
    while (!to.leaving.empty()) {
      ssize_t sent = ::send(to.socket.get(), to.leaving.data(), to.leaving.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0 && errno == EINTR)
        continue;
      if (sent <= 0)
        return; // full, or lost: reading says which
      to.leaving.erase(0, sent);
    }
  }

  static void receive(Connection &from) {
    char part[1 << 16];
    ssize_t got = recv(from.socket.get(), part, sizeof part, MSG_DONTWAIT);
    if (got > 0)
      from.received.append(part, got);
    else if (got == 0 || (errno != EAGAIN && errno != EINTR))
      from.broken = true;
  }

  void greet() {
    Descriptor socket(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    constexpr size_t kStrangers = 1024;
    if (!socket || strangers_.size() > ranks_.size() + kStrangers)
      return;
    tune(socket.get());
    strangers_.emplace_back().socket = std::move(socket);
  }

  /// Who has said the secret and a number that is free is a rank.
  void meet() {
    for (Connection &one : strangers_) {
      if (one.received.size() > 4096)
        one.broken = true; // a rank waits for `Begin` before it says more than who it is
      auto said = unframed(one.received, one.broken);
      if (!said)
        continue;
      auto [secret, number] = llvm::StringRef(*said).split(' ');
      size_t rank = 0;
      if (secret != secret_ || number.getAsInteger(10, rank) || rank == 0 || rank >= ranks_.size() ||
          ranks_[rank].socket || ranks_[rank].reported) {
        one.broken = true;
        continue;
      }
      ranks_[rank] = std::exchange(one, {});
      one.broken = true;
    }
    std::erase_if(strangers_, [](const Connection &one) { return one.broken; });
  }

  /// The next message that is there whole, of each rank in turn, or that one is lost.
  std::optional<Event> taken() {
    for (size_t i = 0; i < ranks_.size(); ++i) {
      size_t rank = last_ = (last_ + 1) % ranks_.size();
      Connection &one = ranks_[rank];
      if (!one.socket)
        continue;
      if (!one.reported)
        if (auto message = unframed(one.received, one.broken))
          return Event{rank, std::move(message)};
      if (one.broken) {
        one.socket.close();
        one.leaving.clear();
        if (!std::exchange(one.reported, true))
          return Event{rank, std::nullopt};
      }
    }
    return std::nullopt;
  }

  Descriptor listening_, waking_;
  const std::string secret_;
  std::mutex mutex_;
  std::vector<Connection> ranks_; ///< by number; the first is this process and has none
  std::vector<Connection> strangers_;
  size_t last_ = 0;
};

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
      at += sent;
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
        received_.append(part, got);
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

std::string hostName() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

std::variant<std::unique_ptr<LeaderLink>, std::string> listenForRanks(size_t ranks, std::string &invitation) {
  auto error = [] { return fmt::format("cannot listen for the other ranks: {}", std::strerror(errno)); };
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  Descriptor waking(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  sockaddr_in address{};
  address.sin_family = AF_INET; // any address, any port
  socklen_t size = sizeof address;
  auto *any = reinterpret_cast<sockaddr *>(&address);
  unsigned char secret[16];
  if (!socket || !waking || bind(socket.get(), any, size) != 0 || listen(socket.get(), SOMAXCONN) != 0 ||
      getsockname(socket.get(), any, &size) != 0 || getrandom(secret, sizeof secret, 0) != sizeof secret)
    return error();
  std::string hex = llvm::toHex(llvm::ArrayRef<uint8_t>(secret), /*LowerCase=*/true);
  invitation = fmt::format("{} {} {}", hex, ntohs(address.sin_port), hostName());
  for (const std::string &one : addresses())
    invitation += " " + one;
  return std::make_unique<LeaderSockets>(std::move(socket), std::move(waking), hex, ranks);
}

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
