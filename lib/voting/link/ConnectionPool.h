// Kept-alive connections of HTTP/1.1 to one server, for many requests at once that nobody waits for.
//
// Asio and Beast are large: only the .cpp files that move bytes include this.
#pragma once
#include "lib/service/call/ByteStream.h"
#include "lib/service/call/HttpCall.h"
#include "lib/support/Result.h"
#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace accord::voting {
namespace asio = boost::asio;

struct PoolLimits {
  size_t connections = 256;        ///< at once; a request above is answered with `Busy`
  double abandon = 10;             ///< seconds for an answer; then the connection is closed
  size_t bytes = size_t(32) << 20; ///< of the body of an answer
  /// Seconds until the next attempt to connect after one that failed, doubled each time. Until one succeeds, requests
  /// are refused at once: a host that is gone without a word costs none of them anything.
  double backOff = 0.1, maxBackOff = 1;
  /// Whether a request goes out again where a kept connection turns out to have ended: of requests that may arrive
  /// twice.
  bool retries = true;
};

struct CallReply {
  enum class Outcome : uint8_t {
    Answered,
    Refused, ///< nobody takes a connection
    Broken,  ///< the connection ended, or what came is no answer of HTTP
    Busy,    ///< all connections are waiting for answers
  } outcome = Outcome::Answered;
  int status = 0;
  std::string body = {};
};

/// All of it belongs to the thread of `io`. Destroyed, it calls nobody back.
class ConnectionPool {
public:
  using Done = std::function<void(CallReply)>;
  /// Resolves the host once. Error A0801: it has no address.
  static Result<std::unique_ptr<ConnectionPool>> open(asio::io_context &io, const service::HttpUrl &url,
                                                      PoolLimits limits);
  ~ConnectionPool();
  ConnectionPool(const ConnectionPool &) = delete;

  /// Sends a request with a JSON document. `done` is called once, maybe before this returns. Never waits.
  void post(const std::string &target, std::shared_ptr<const std::string> body, Done done);
  size_t busy() const { return busy_.size(); }

private:
  using Clock = std::chrono::steady_clock;
  struct Link;
  using LinkPtr = std::shared_ptr<Link>;

  ConnectionPool(asio::io_context &io, std::string host, PoolLimits limits);
  void onUnreached();
  void probe();
  void connect(const LinkPtr &link);
  void send(const LinkPtr &link);
  void read(const LinkPtr &link);
  void fail(const LinkPtr &link, CallReply::Outcome outcome);
  void tick();

  asio::io_context &io_;
  const std::string host_;
  const PoolLimits limits_;
  std::vector<service::Socket::endpoint_type> endpoints_;
  std::vector<LinkPtr> idle_;
  std::set<LinkPtr> busy_;
  asio::steady_timer timer_;
  Clock::time_point retryAt_;
  double backOff_ = 0;     ///< seconds; above 0: the last attempt to connect failed
  bool isProbing_ = false; ///< an attempt without a request is under way
  bool isTicking_ = false;
};

} // namespace accord::voting
