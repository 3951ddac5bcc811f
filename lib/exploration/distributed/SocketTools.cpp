#include "lib/exploration/distributed/SocketTools.h"
#include "lib/exploration/distributed/Sockets.h"
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace accord {

Descriptor &Descriptor::operator=(Descriptor &&other) noexcept {
  if (this != &other) {
    close();
    number_ = other.release();
  }
  return *this;
}
void Descriptor::close() {
  if (number_ >= 0)
    ::close(number_);
  number_ = -1;
}
int Descriptor::release() { return std::exchange(number_, -1); }

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

std::string framed(const std::string &message) {
  std::string frame;
  for (int i = 0; i < 4; ++i)
    frame += static_cast<char>(message.size() >> (8 * i));
  return frame + message;
}

std::optional<std::string> unframed(std::string &received, bool &broken) {
  if (received.size() < 4)
    return std::nullopt;
  size_t size = 0;
  for (int i = 0; i < 4; ++i)
    size |= size_t(static_cast<unsigned char>(received[i])) << (8 * i);
  broken = size > kMaxMessageBytes;
  if (broken || received.size() < 4 + size)
    return std::nullopt;
  std::string message = received.substr(4, size);
  received.erase(0, 4 + size);
  return message;
}

std::string hostName() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

} // namespace accord
