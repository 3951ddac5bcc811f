// Sockets that never block, with and without TLS.
#pragma once
#include "lib/support/Result.h"
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct ssl_st;
struct ssl_ctx_st;

namespace accord::service {

/// A file descriptor that is closed with its owner.
class OwnedFd {
public:
  explicit OwnedFd(int fd = -1) : fd_(fd) {}
  OwnedFd(OwnedFd &&other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  OwnedFd &operator=(OwnedFd &&other) noexcept;
  ~OwnedFd() { reset(); }
  int get() const { return fd_; }
  void reset();

private:
  int fd_;
};

/// Listens at a name or a number of an address; port 0 is any free one. Error A0801: it is in use, not of this machine,
/// or not permitted.
Result<OwnedFd> listenAt(const std::string &address, int port);
/// Of a socket that listens.
int portOf(int fd);

/// A certificate with its key, for TLS 1.2 and newer.
class TlsContext {
public:
  /// Files in PEM; the certificate with those that it was signed by. Error A0801: they cannot be read, or do not fit.
  static Result<std::shared_ptr<TlsContext>> open(const std::string &certificate, const std::string &key);
  explicit TlsContext(ssl_ctx_st *context) : context_(context) {}
  TlsContext(const TlsContext &) = delete;
  ~TlsContext();
  ssl_ctx_st *get() const { return context_; }

private:
  ssl_ctx_st *context_;
};

/// For threads of a server: signals are for those of the program. Also SIGPIPE, which a write in TLS may raise.
void blockSignals();

/// One connection of a client.
class HttpSocket {
public:
  enum class Outcome : uint8_t {
    Moved,     ///< some bytes went
    WantsRead, ///< again when there is something to read
    WantsWrite,
    Ended ///< the other side closed, or an error
  };
  /// `tls` null: plain. TLS begins with the first read or write.
  HttpSocket(OwnedFd fd, const TlsContext *tls);
  HttpSocket(const HttpSocket &) = delete;
  ~HttpSocket();
  int fd() const { return fd_.get(); }
  Outcome read(char *buffer, size_t size, size_t &moved);
  Outcome write(std::string_view bytes, size_t &moved);
  /// Says that nothing more will be written.
  void endWriting();

private:
  Outcome outcomeOf(int result);
  OwnedFd fd_;
  ssl_st *ssl_ = nullptr;
};

} // namespace accord::service
