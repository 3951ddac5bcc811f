// A server for HTTP/1.1 and TLS over Boost.Beast and Asio: one thread moves the bytes of all connections, a few others
// answer requests.
//
// No client can hold more than its connection: the head, the body and the answer of a request each have a time, and
// everything that is kept of a client is bounded. An answer may stay open: its pieces are sent as they come, by
// anybody.
#pragma once
#include "lib/service/http/HttpMessage.h"
#include "lib/support/Result.h"
#include <atomic>
#include <functional>
#include <memory>
#include <variant>

namespace accord::service {

struct HttpServerOptions {
  std::string address = "127.0.0.1";
  int port = 0;                 ///< 0: any that is free
  std::string certificate, key; ///< files in PEM; both empty: no TLS
  HttpLimits limits;
  size_t workers = 16;                    ///< threads that answer requests, and so wait for the disk
  size_t connections = 2048;              ///< at once; others get 503
  size_t connectionsPerAddress = 1280;    ///< of IPv6: of a /64
  size_t requestsPerConnection = 100000;  ///< then it is closed
  size_t bodiesInAll = size_t(256) << 20; ///< bytes of bodies above 64 KiB that are held at once; others get 503
  size_t bodiesPerAddress = size_t(64) << 20;
  double headSeconds = 10;  ///< from the first byte of a request to the end of its head; also for TLS to begin
  double bodySeconds = 30;  ///< from the end of the head to that of the body
  double idleSeconds = 60;  ///< between two requests
  double writeSeconds = 30; ///< to take an answer, and more for a long one; of an open one: to take all there is
  double writeBytesPerSecond = 65536; ///< of long answers
};

/// An answer that stays open.
struct HttpStream {
  uint64_t connection = 0;
  std::atomic<bool> isClosed = false; ///< the client has gone
  std::atomic<size_t> pending = 0;    ///< bytes that it has not taken yet
};

/// Keeps the answer open. With `streams`, the head goes out at once and pieces may follow (`HttpServer::send`);
/// without, a whole answer follows (`HttpServer::finish`).
struct HttpOpen {
  bool streams = false;
  HttpResponse head = {};
  std::function<void(std::shared_ptr<HttpStream>)> opened; ///< called once, by the thread of the connections
};
using HttpReply = std::variant<HttpResponse, HttpOpen>;

struct HttpCounters {
  std::atomic<uint64_t> accepted = 0, refused = 0, requests = 0, malformed = 0, late = 0, open = 0, streams = 0;
  std::atomic<uint64_t> answers[6] = {}; ///< by the first digit of their status
};

struct HttpHandlers {
  std::function<HttpReply(const HttpRequest &)> answer; ///< by a worker; may block
  /// The answer to what cannot be taken: what is no request, one that is late (408), one too many (503). Must not
  /// block.
  std::function<HttpResponse(const HttpRequest &, const HttpRefusal &)> refuse;
};

class HttpServer {
public:
  /// Error A0801: it cannot listen, or the certificate cannot be used.
  static Result<std::unique_ptr<HttpServer>> start(HttpServerOptions options, HttpHandlers handlers);
  virtual ~HttpServer() = default;
  virtual int port() const = 0;
  /// Ends: takes no connection, gives those that are being answered half a second, closes all. Returns when no thread
  /// of it is left; may be called twice.
  virtual void stop() = 0;
  /// A piece of an open answer. From any thread; of a connection that has gone it does nothing.
  virtual void send(const std::shared_ptr<HttpStream> &stream, std::shared_ptr<const std::string> piece) = 0;
  /// The whole answer, or for one that streams its end.
  virtual void finish(const std::shared_ptr<HttpStream> &stream, HttpResponse response) = 0;
  virtual const HttpCounters &counters() const = 0;
};

} // namespace accord::service
