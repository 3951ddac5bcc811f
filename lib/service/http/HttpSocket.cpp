#include "lib/service/http/HttpSocket.h"
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace accord::service {

OwnedFd &OwnedFd::operator=(OwnedFd &&other) noexcept {
  if (this != &other) {
    reset();
    fd_ = other.fd_;
    other.fd_ = -1;
  }
  return *this;
}

void OwnedFd::reset() {
  if (fd_ >= 0)
    close(fd_);
  fd_ = -1;
}

Result<OwnedFd> listenAt(const std::string &address, int port) {
  auto wrong = [&](const std::string &why) {
    return Error{Code::BadCommandLine, fmt::format("cannot listen at '{}', port {}: {}", address, port, why)};
  };
  if (port < 0 || port > 65535)
    return wrong("a port is 0 to 65535");
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo *found = nullptr;
  if (int error = getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found))
    return wrong(gai_strerror(error));
  std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> all(found, freeaddrinfo);
  std::string why = "no such address";
  for (addrinfo *one = found; one; one = one->ai_next) {
    OwnedFd fd(socket(one->ai_family, one->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, one->ai_protocol));
    int on = 1;
    if (fd.get() >= 0 && setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
        bind(fd.get(), one->ai_addr, one->ai_addrlen) == 0 && listen(fd.get(), SOMAXCONN) == 0)
      return fd;
    why = std::strerror(errno);
  }
  return wrong(why);
}

int portOf(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (getsockname(fd, reinterpret_cast<sockaddr *>(&address), &size) != 0)
    return 0;
  if (address.ss_family == AF_INET6)
    return ntohs(reinterpret_cast<sockaddr_in6 *>(&address)->sin6_port);
  return ntohs(reinterpret_cast<sockaddr_in *>(&address)->sin_port);
}

void blockSignals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

TlsContext::~TlsContext() { SSL_CTX_free(context_); }

Result<std::shared_ptr<TlsContext>> TlsContext::open(const std::string &certificate, const std::string &key) {
  auto context = std::make_shared<TlsContext>(SSL_CTX_new(TLS_server_method()));
  auto wrong = [](const std::string &file) {
    char text[256] = "";
    ERR_error_string_n(ERR_peek_last_error(), text, sizeof(text));
    ERR_clear_error();
    return Error{Code::BadCommandLine, fmt::format("cannot use '{}' for TLS: {}", file, text)};
  };
  SSL_CTX *raw = context->get();
  if (!raw || !SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION))
    return wrong(certificate);
  SSL_CTX_set_options(raw, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_mode(raw, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  if (SSL_CTX_use_certificate_chain_file(raw, certificate.c_str()) != 1)
    return wrong(certificate);
  if (SSL_CTX_use_PrivateKey_file(raw, key.c_str(), SSL_FILETYPE_PEM) != 1 || SSL_CTX_check_private_key(raw) != 1)
    return wrong(key);
  return context;
}

HttpSocket::HttpSocket(OwnedFd fd, const TlsContext *tls) : fd_(std::move(fd)) {
  int on = 1;
  setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  if (!tls)
    return;
  ssl_ = SSL_new(tls->get());
  if (ssl_) {
    SSL_set_fd(ssl_, fd_.get());
    SSL_set_accept_state(ssl_);
  } else
    fd_.reset(); // never plain where TLS was asked for
}

HttpSocket::~HttpSocket() { SSL_free(ssl_); }

HttpSocket::Outcome HttpSocket::outcomeOf(int result) {
  int error = SSL_get_error(ssl_, result);
  ERR_clear_error();
  if (error == SSL_ERROR_WANT_READ)
    return Outcome::WantsRead;
  return error == SSL_ERROR_WANT_WRITE ? Outcome::WantsWrite : Outcome::Ended;
}

HttpSocket::Outcome HttpSocket::read(char *buffer, size_t size, size_t &moved) {
  moved = 0;
  if (ssl_) {
    ERR_clear_error();
    int result = SSL_read_ex(ssl_, buffer, size, &moved);
    return result > 0 ? Outcome::Moved : outcomeOf(result);
  }
  ssize_t got = recv(fd_.get(), buffer, size, 0);
  if (got > 0) {
    moved = got;
    return Outcome::Moved;
  }
  return got < 0 && (errno == EAGAIN || errno == EINTR) ? Outcome::WantsRead : Outcome::Ended;
}

HttpSocket::Outcome HttpSocket::write(std::string_view bytes, size_t &moved) {
  moved = 0;
  if (ssl_) {
    ERR_clear_error();
    int result = SSL_write_ex(ssl_, bytes.data(), bytes.size(), &moved);
    return result > 0 ? Outcome::Moved : outcomeOf(result);
  }
  ssize_t sent = send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent >= 0) {
    moved = sent;
    return Outcome::Moved;
  }
  return errno == EAGAIN || errno == EINTR ? Outcome::WantsWrite : Outcome::Ended;
}

void HttpSocket::endWriting() {
  if (ssl_) {
    ERR_clear_error();
    if (SSL_is_init_finished(ssl_))
      SSL_shutdown(ssl_);
    ERR_clear_error();
  }
  shutdown(fd_.get(), SHUT_WR);
}

} // namespace accord::service
