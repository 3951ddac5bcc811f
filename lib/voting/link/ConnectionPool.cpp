// Beast 1.74 asserts what a server can bring about: the end of a body in chunks that arrives byte by byte.
#define BOOST_DISABLE_ASSERTS
#include "lib/voting/link/ConnectionPool.h"
#include <fmt/format.h>
#include <utility>

namespace accord::voting {
namespace {
namespace http = service::http;
using ErrorCode = service::ErrorCode;
using Outcome = CallReply::Outcome;

constexpr auto kTick = std::chrono::milliseconds(100);

} // namespace

struct ConnectionPool::Link {
  explicit Link(asio::io_context &io) : socket(io.get_executor()) {}

  service::Socket socket;
  service::beast::flat_buffer buffer;
  std::optional<http::response_parser<http::string_body>> parser;
  std::string target, head;
  std::shared_ptr<const std::string> body;
  Done done;
  Clock::time_point began;
  bool wasUsed = false; ///< an answer came over it before
  bool isRetry = false;
  bool isConnecting = false;
  bool isGone = false; ///< nobody is told any more
};

Result<std::unique_ptr<ConnectionPool>> ConnectionPool::open(asio::io_context &io, const service::HttpUrl &url,
                                                             PoolLimits limits) {
  ErrorCode error;
  auto found = asio::ip::tcp::resolver(io).resolve(url.host, url.port, error);
  if (error || found.empty())
    return Error{Code::BadCommandLine, fmt::format("'{}' has no address: {}", url.host, error.message())};
  const bool isSix = url.host.find(':') != std::string::npos;
  const std::string host = fmt::format("{}{}{}:{}", isSix ? "[" : "", url.host, isSix ? "]" : "", url.port);
  std::unique_ptr<ConnectionPool> pool(new ConnectionPool(io, host, limits));
  for (const auto &one : found)
    pool->endpoints_.push_back(one.endpoint());
  return std::move(pool);
}

ConnectionPool::ConnectionPool(asio::io_context &io, std::string host, PoolLimits limits)
    : io_(io), host_(std::move(host)), limits_(limits), timer_(io) {}

ConnectionPool::~ConnectionPool() {
  ErrorCode ignored;
  for (const LinkPtr &link : busy_) {
    link->isGone = true;
    (void)link->socket.close(ignored);
  }
}

void ConnectionPool::post(const std::string &target, std::shared_ptr<const std::string> body, Done done) {
  if (!isTicking_) {
    isTicking_ = true;
    tick();
  }
  LinkPtr link;
  if (!idle_.empty()) {
    link = std::move(idle_.back());
    idle_.pop_back();
  } else if (busy_.size() >= limits_.connections) {
    return done({.outcome = Outcome::Busy});
  } else if (backOff_ > 0) {
    return done({.outcome = Outcome::Refused});
  } else {
    link = std::make_shared<Link>(io_);
  }
  link->target = target;
  link->head =
      fmt::format("POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
                  target, host_, body->size());
  link->body = std::move(body);
  link->done = std::move(done);
  link->began = Clock::now();
  busy_.insert(link);
  if (link->wasUsed)
    send(link);
  else
    connect(link);
}

void ConnectionPool::onUnreached() {
  backOff_ = backOff_ == 0 ? limits_.backOff : std::min(2 * backOff_, limits_.maxBackOff);
  retryAt_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(backOff_));
}

/// Connects without a request, so that none has to find out whether the server is back.
void ConnectionPool::probe() {
  auto link = std::make_shared<Link>(io_);
  link->began = Clock::now();
  isProbing_ = true;
  busy_.insert(link);
  connect(link);
}

void ConnectionPool::connect(const LinkPtr &link) {
  link->isConnecting = true;
  asio::async_connect(link->socket, endpoints_, [this, link](ErrorCode error, const auto &) {
    if (link->isGone)
      return;
    link->isConnecting = false;
    if (error) {
      onUnreached();
      return fail(link, Outcome::Refused);
    }
    backOff_ = 0;
    ErrorCode ignored;
    (void)link->socket.set_option(asio::ip::tcp::no_delay(true), ignored);
    if (link->done)
      return send(link);
    isProbing_ = false;
    link->wasUsed = true; // it may end before its first request, as any that is kept
    busy_.erase(link);
    idle_.push_back(link);
  });
}

void ConnectionPool::send(const LinkPtr &link) {
  const std::array<asio::const_buffer, 2> pieces{asio::buffer(link->head), asio::buffer(*link->body)};
  asio::async_write(link->socket, pieces, [this, link](ErrorCode error, size_t) {
    if (link->isGone)
      return;
    if (error)
      fail(link, Outcome::Broken);
    else
      read(link);
  });
}

void ConnectionPool::read(const LinkPtr &link) {
  link->parser.emplace();
  link->parser->body_limit(limits_.bytes);
  http::async_read(link->socket, link->buffer, *link->parser, [this, link](ErrorCode error, size_t) {
    if (link->isGone)
      return;
    if (error)
      return fail(link, Outcome::Broken);
    CallReply reply{.status = static_cast<int>(link->parser->get().result_int()),
                    .body = std::move(link->parser->get().body())};
    const bool stays = link->parser->get().keep_alive();
    link->parser.reset();
    link->wasUsed = true;
    link->isRetry = false;
    busy_.erase(link);
    Done done = std::exchange(link->done, nullptr);
    if (stays)
      idle_.push_back(link);
    done(std::move(reply));
  });
}

void ConnectionPool::fail(const LinkPtr &link, Outcome outcome) {
  busy_.erase(link);
  link->isGone = true;
  ErrorCode ignored;
  (void)link->socket.close(ignored);
  Done done = std::exchange(link->done, nullptr);
  if (!done) {
    isProbing_ = false;
    return;
  }
  // A server may close what it keeps at any time. Then all that were kept have probably ended.
  if (link->wasUsed && !link->isRetry && limits_.retries && outcome == Outcome::Broken &&
      Clock::now() - link->began < kTick) {
    idle_.clear();
    if (backOff_ > 0)
      return done({.outcome = Outcome::Refused});
    auto next = std::make_shared<Link>(io_);
    next->target = std::move(link->target), next->head = std::move(link->head), next->body = std::move(link->body);
    next->done = std::move(done);
    next->began = link->began;
    next->isRetry = true;
    busy_.insert(next);
    return connect(next);
  }
  done({.outcome = outcome});
}

/// Ends those that wait for too long.
void ConnectionPool::tick() {
  timer_.expires_after(kTick);
  timer_.async_wait([this](ErrorCode error) {
    if (error)
      return; // it is destroyed
    const auto oldest =
        Clock::now() - std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limits_.abandon));
    std::vector<LinkPtr> late;
    for (const LinkPtr &link : busy_)
      if (link->began < oldest)
        late.push_back(link);
    for (const LinkPtr &link : late) {
      if (link->isConnecting)
        onUnreached();
      fail(link, link->isConnecting ? Outcome::Refused : Outcome::Broken);
    }
    if (backOff_ > 0 && !isProbing_ && Clock::now() >= retryAt_)
      probe();
    tick();
  });
}

} // namespace accord::voting
