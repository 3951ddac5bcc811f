// A client that sends bytes as they are, for tests of what a server does with them.
#pragma once
#include <algorithm>
#include <arpa/inet.h>
#include <chrono>
#include <map>
#include <netinet/in.h>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

namespace accord::service {

class RawHttp {
public:
  /// `buffer`: bytes that the system keeps for it, 0: as usual.
  explicit RawHttp(int port, int buffer = 0) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    if (buffer > 0)
      setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer));
    isOpen_ = connect(fd_, reinterpret_cast<sockaddr *>(&address), sizeof(address)) == 0;
    linger gone{1, 0}; // so that thousands of them leave no ports behind
    setsockopt(fd_, SOL_SOCKET, SO_LINGER, &gone, sizeof(gone));
  }
  RawHttp(const RawHttp &) = delete;
  RawHttp(RawHttp &&other) noexcept : fd_(std::exchange(other.fd_, -1)), isOpen_(other.isOpen_), text(other.text) {}
  ~RawHttp() {
    if (fd_ >= 0)
      close(fd_);
  }
  bool isOpen() const { return isOpen_; }
  int fd() const { return fd_; }
  /// False: the other side has closed.
  bool send(std::string_view bytes) const {
    while (!bytes.empty()) {
      ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0)
        return false;
      bytes.remove_prefix(sent);
    }
    return true;
  }
  void endSending() const { shutdown(fd_, SHUT_WR); }

  /// Reads into `text` until `enough` or the end of the connection (then true) or the time.
  template <typename Enough> bool readUntil(double seconds, Enough enough) {
    auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (!enough()) {
      auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
      pollfd one{fd_, POLLIN, 0};
      if (left <= 0 || poll(&one, 1, static_cast<int>(left)) <= 0)
        return false;
      char buffer[65536];
      ssize_t got = recv(fd_, buffer, sizeof(buffer), 0);
      if (got <= 0) {
        hasEnded = true;
        return true;
      }
      text.append(buffer, got);
    }
    return true;
  }
  bool readToEnd(double seconds) {
    return readUntil(seconds, [] { return false; });
  }

private:
  int fd_;
  bool isOpen_ = false;

public:
  std::string text;
  bool hasEnded = false;
};

struct RawAnswer {
  int status = 0;                             ///< 0: there was none
  std::map<std::string, std::string> headers; ///< names in lower case
  std::string body;
};

/// The first answer of a text, and takes it away.
inline RawAnswer takeAnswer(std::string &text, bool isHead = false) {
  RawAnswer answer;
  size_t end = text.find("\r\n\r\n");
  if (end == std::string::npos || !text.starts_with("HTTP/1.1 "))
    return answer;
  answer.status = std::stoi(text.substr(9, 3));
  for (size_t at = text.find("\r\n") + 2; at < end + 2;) {
    size_t line = text.find("\r\n", at), colon = text.find(": ", at);
    std::string name = text.substr(at, colon - at);
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    answer.headers[name] = text.substr(colon + 2, line - colon - 2);
    at = line + 2;
  }
  size_t length = 0;
  if (auto found = answer.headers.find("content-length"); found != answer.headers.end() && !isHead)
    length = std::stoul(found->second);
  answer.body = text.substr(end + 4, length);
  text.erase(0, end + 4 + answer.body.size());
  return answer;
}

/// Sends one request on a connection of its own, and reads its answer to the end.
inline RawAnswer askRaw(int port, const std::string &bytes, double seconds = 5) {
  RawHttp client(port);
  client.send(bytes);
  client.readToEnd(seconds);
  bool isHead = bytes.starts_with("HEAD");
  return takeAnswer(client.text, isHead);
}

/// "GET /v1/cluster HTTP/1.1" with what belongs to it; the connection ends after it.
inline std::string requestText(const std::string &method, const std::string &target, const std::string &token = "",
                               const std::string &body = "", const std::string &more = "") {
  std::string text = method + " " + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
  if (!token.empty())
    text += "Authorization: Bearer " + token + "\r\n";
  if (!body.empty() && more.find("Content-Type") == std::string::npos)
    text += "Content-Type: application/json\r\n";
  if (!body.empty())
    text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  return text + more + "\r\n" + body;
}

} // namespace accord::service
