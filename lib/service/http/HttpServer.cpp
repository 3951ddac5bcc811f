#include "lib/service/http/HttpServer.h"
#include "lib/service/http/HttpConnection.h"
#include <algorithm>
#include <arpa/inet.h>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <fmt/format.h>
#include <mutex>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace accord::service {
namespace {

using State = HttpConnection::State;

constexpr uint64_t kListener = 0, kWake = 1; ///< connections count from 2
constexpr size_t kFreeBody = size_t(64) << 10;
constexpr size_t kTurnedAway = 128; ///< connections above the limit that are told so

double steadyNow() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The address in numbers, and under which it is counted: of IPv6 the first half, which one client has for itself.
std::pair<std::string, std::string> namesOf(const sockaddr_storage &address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family != AF_INET6) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in &>(address).sin_addr, text, sizeof(text));
    return {text, text};
  }
  in6_addr bytes = reinterpret_cast<const sockaddr_in6 &>(address).sin6_addr;
  inet_ntop(AF_INET6, &bytes, text, sizeof(text));
  std::string whole = text;
  if (IN6_IS_ADDR_V4MAPPED(&bytes))
    return {whole.substr(whole.rfind(':') + 1), whole.substr(whole.rfind(':') + 1)};
  std::memset(bytes.s6_addr + 8, 0, 8);
  inet_ntop(AF_INET6, &bytes, text, sizeof(text));
  return {whole, text};
}

/// What a client may call its request: it is printed in logs and headers.
bool isRequestId(std::string_view text) {
  return !text.empty() && text.size() <= 64 &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) || c == '.' || c == '_' || c == '-'; });
}

class Server final : public HttpServer {
public:
  Server(HttpServerOptions options, HttpHandlers handlers, std::shared_ptr<TlsContext> tls, OwnedFd listener)
      : options_(std::move(options)), handlers_(std::move(handlers)), tls_(std::move(tls)),
        listener_(std::move(listener)), poll_(epoll_create1(EPOLL_CLOEXEC)),
        wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)), port_(portOf(listener_.get())) {}
  ~Server() override { Server::stop(); }

  bool run();
  int port() const override { return port_; }
  void stop() override;
  void send(const std::shared_ptr<HttpStream> &stream, std::shared_ptr<const std::string> piece) override {
    stream->pending += piece->size();
    post({.connection = stream->connection, .kind = Message::Kind::Piece, .piece = std::move(piece)});
  }
  void finish(const std::shared_ptr<HttpStream> &stream, HttpResponse response) override {
    post({.connection = stream->connection, .kind = Message::Kind::Finish, .response = std::move(response)});
  }
  const HttpCounters &counters() const override { return counters_; }

private:
  /// What the thread of the connections is told.
  struct Message {
    uint64_t connection = 0;
    enum class Kind : uint8_t { Answer, Open, Piece, Finish } kind = Kind::Answer;
    HttpResponse response = {};
    HttpOpen open = {};
    std::shared_ptr<const std::string> piece = {};
  };
  struct Work {
    uint64_t connection = 0;
    HttpRequest request;
  };
  struct PerAddress {
    size_t connections = 0, bodies = 0;
  };

  void post(Message message);
  void wake();
  void takeWake();
  void loop();
  void workLoop();
  void acceptAll();
  void accept(OwnedFd fd, const sockaddr_storage &address);
  void take(std::vector<Message> messages);
  void onEvents(HttpConnection &connection, uint32_t events);
  void react(HttpConnection &connection);
  void refuse(HttpConnection &connection, HttpRefusal refusal);
  bool isBodyTooMuch(HttpConnection &connection);
  void settle(HttpConnection &connection);
  void remove(HttpConnection &connection);
  void checkTimes();
  void watch(int fd, uint64_t id, uint32_t events, int operation);
  std::string nextId();

  HttpServerOptions options_;
  HttpHandlers handlers_;
  std::shared_ptr<TlsContext> tls_;
  OwnedFd listener_, poll_, wake_;
  const int port_;
  HttpCounters counters_;

  // Of the thread of the connections alone.
  std::map<uint64_t, std::unique_ptr<HttpConnection>> connections_;
  std::map<std::string, PerAddress> addresses_;
  uint64_t lastId_ = kWake, lastRequest_ = 0;
  size_t bodies_ = 0;
  double now_ = 0, checked_ = 0, listensAgain_ = 0;
  bool isEnding_ = false;
  const uint64_t started_ = std::chrono::system_clock::now().time_since_epoch() / std::chrono::seconds(1);

  std::mutex mailMutex_;
  std::vector<Message> mail_;
  std::mutex workMutex_;
  std::condition_variable workThere_;
  std::deque<Work> work_;
  bool workEnds_ = false;
  std::atomic<bool> ends_ = false;
  std::mutex stopMutex_;
  std::thread thread_;
  std::vector<std::thread> workers_;
};

void Server::watch(int fd, uint64_t id, uint32_t events, int operation) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = id;
  epoll_ctl(poll_.get(), operation, fd, &event);
}

bool Server::run() {
  if (poll_.get() < 0 || wake_.get() < 0)
    return false;
  rlimit files{};
  rlim_t needed = options_.connections + kTurnedAway + 256;
  if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < needed) {
    files.rlim_cur = std::min(needed, files.rlim_max);
    setrlimit(RLIMIT_NOFILE, &files);
  }
  watch(listener_.get(), kListener, EPOLLIN, EPOLL_CTL_ADD);
  watch(wake_.get(), kWake, EPOLLIN, EPOLL_CTL_ADD);
  try {
    thread_ = std::thread([this] { loop(); });
    for (size_t i = 0; i < std::max<size_t>(1, options_.workers); ++i)
      workers_.emplace_back([this] { workLoop(); });
  } catch (const std::system_error &) { // no more threads
    stop();
    return false;
  }
  return true;
}

/// Has the thread of the connections look for what it is told.
void Server::wake() { eventfd_write(wake_.get(), 1); }

void Server::takeWake() {
  eventfd_t count = 0;
  eventfd_read(wake_.get(), &count);
}

void Server::stop() {
  std::scoped_lock lock(stopMutex_);
  ends_ = true;
  wake();
  if (thread_.joinable())
    thread_.join();
  {
    std::scoped_lock work(workMutex_);
    workEnds_ = true;
    work_.clear();
  }
  workThere_.notify_all();
  for (std::thread &worker : workers_)
    worker.join();
  workers_.clear();
}

void Server::post(Message message) {
  bool isFirst = false;
  {
    std::scoped_lock lock(mailMutex_);
    isFirst = mail_.empty();
    mail_.push_back(std::move(message));
  }
  if (isFirst)
    wake();
}

void Server::workLoop() {
  blockSignals();
  for (;;) {
    Work work;
    {
      std::unique_lock lock(workMutex_);
      workThere_.wait(lock, [&] { return workEnds_ || !work_.empty(); });
      if (workEnds_)
        return;
      work = std::move(work_.front());
      work_.pop_front();
    }
    Message message{.connection = work.connection};
    try {
      HttpReply reply = handlers_.answer(work.request);
      if (auto *open = std::get_if<HttpOpen>(&reply)) {
        message.kind = Message::Kind::Open;
        message.open = std::move(*open);
      } else
        message.response = std::move(std::get<HttpResponse>(reply));
    } catch (const std::exception &) { // of memory, or of a library below
      message.response = handlers_.refuse(work.request, {500, "the request failed in the server"});
    }
    post(std::move(message));
  }
}

void Server::loop() {
  blockSignals();
  std::vector<epoll_event> events(256);
  double ending = 0;
  for (;;) {
    int count = epoll_wait(poll_.get(), events.data(), static_cast<int>(events.size()), 100);
    now_ = steadyNow();
    for (int i = 0; i < count; ++i) {
      uint64_t id = events[i].data.u64;
      if (id == kListener)
        acceptAll();
      else if (id == kWake)
        takeWake();
      else if (auto found = connections_.find(id); found != connections_.end())
        onEvents(*found->second, events[i].events);
    }
    std::vector<Message> messages;
    {
      std::scoped_lock lock(mailMutex_);
      messages.swap(mail_);
    }
    take(std::move(messages));
    if (now_ - checked_ > 0.1)
      checkTimes();
    if (ends_ && !isEnding_) {
      isEnding_ = true;
      ending = now_;
      listener_.reset();
      for (auto next = connections_.begin(); next != connections_.end();) {
        HttpConnection &one = *(next++)->second;
        if (one.state() == State::Reading || one.stream)
          remove(one);
      }
    }
    if (isEnding_ && (connections_.empty() || now_ - ending > 0.5))
      break;
  }
  while (!connections_.empty())
    remove(*connections_.begin()->second);
}

void Server::acceptAll() {
  for (int i = 0; i < 64; ++i) {
    sockaddr_storage address{};
    socklen_t size = sizeof(address);
    OwnedFd fd(accept4(listener_.get(), reinterpret_cast<sockaddr *>(&address), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd.get() >= 0)
      accept(std::move(fd), address);
    else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
      watch(listener_.get(), kListener, 0, EPOLL_CTL_MOD); // else it would be told of them without end
      listensAgain_ = now_ + 0.2;
      return;
    } else if (errno != ECONNABORTED && errno != EINTR)
      return;
  }
}

void Server::accept(OwnedFd fd, const sockaddr_storage &address) {
  auto [name, key] = namesOf(address);
  PerAddress &mine = addresses_[key];
  bool isTooMany = connections_.size() >= options_.connections || mine.connections >= options_.connectionsPerAddress;
  if (isTooMany && connections_.size() >= options_.connections + kTurnedAway) {
    ++counters_.refused;
    if (mine.connections == 0)
      addresses_.erase(key);
    return;
  }
  auto made = std::make_unique<HttpConnection>(++lastId_, name, key, std::move(fd), tls_.get(), options_, now_);
  HttpConnection &connection = *made;
  ++mine.connections;
  connections_[connection.id] = std::move(made);
  ++counters_.accepted;
  counters_.open = connections_.size();
  watch(connection.socket.fd(), connection.id, 0, EPOLL_CTL_ADD);
  if (connection.socket.fd() < 0)
    connection.leave();
  else if (isTooMany) {
    ++counters_.refused;
    refuse(connection, {503, "too many connections are open"});
  }
  settle(connection);
}

void Server::onEvents(HttpConnection &connection, uint32_t events) {
  if (events & (EPOLLERR | EPOLLHUP) || (events & EPOLLRDHUP && connection.stream))
    connection.leave();
  if (connection.state() != State::Gone)
    connection.flush(now_);
  if (connection.state() == State::Draining)
    connection.drain();
  react(connection);
  for (int i = 0; i < 16 && connection.state() == State::Reading; ++i) {
    if (!connection.readSome(now_))
      break;
    react(connection);
  }
  settle(connection);
}

/// Goes on with what the parser has.
void Server::react(HttpConnection &connection) {
  while (connection.state() == State::Reading) {
    RequestParser &parser = connection.parser;
    if (parser.state() == RequestParser::State::Refused)
      return refuse(connection, parser.refusal());
    if (isBodyTooMuch(connection))
      return refuse(connection, {503, "too many large bodies are being read"});
    if (parser.state() == RequestParser::State::Body && parser.request().expectsContinue)
      connection.sendContinue(now_);
    if (parser.state() != RequestParser::State::Done)
      return;
    Work work{connection.id, connection.beginAnswer(now_)};
    ++counters_.requests;
    work.request.id = connection.requestId = nextId();
    if (std::string_view given = work.request.header("x-request-id"); isRequestId(given))
      work.request.id = connection.requestId = given;
    {
      std::scoped_lock lock(workMutex_);
      work_.push_back(std::move(work));
    }
    workThere_.notify_one();
  }
}

std::string Server::nextId() { return fmt::format("{:x}-{:x}", started_, ++lastRequest_); }

void Server::refuse(HttpConnection &connection, HttpRefusal refusal) {
  HttpRequest request = connection.parser.request();
  request.address = connection.address;
  request.group = connection.group;
  request.id = connection.requestId = nextId();
  if (refusal.status < 500)
    ++counters_.malformed;
  HttpResponse response = handlers_.refuse(request, refusal);
  response.closes = true;
  ++counters_.answers[std::min(5, response.status / 100)];
  connection.parser.drop();
  connection.answer(response, false, now_);
}

/// Counts the body against the limits of all and of the address.
bool Server::isBodyTooMuch(HttpConnection &connection) {
  size_t held = connection.parser.held(), above = held > kFreeBody ? held - kFreeBody : 0;
  if (above == connection.pooled)
    return false;
  PerAddress &mine = addresses_[connection.group];
  bool grows = above > connection.pooled;
  bodies_ += above - connection.pooled;
  mine.bodies += above - connection.pooled;
  connection.pooled = above;
  return grows && (bodies_ > options_.bodiesInAll || mine.bodies > options_.bodiesPerAddress);
}

void Server::take(std::vector<Message> messages) {
  for (Message &message : messages) {
    auto found = connections_.find(message.connection);
    if (found == connections_.end()) {
      if (message.kind == Message::Kind::Open) {
        auto stream = std::make_shared<HttpStream>();
        stream->isClosed = true;
        message.open.opened(stream);
      }
      continue;
    }
    HttpConnection &one = *found->second;
    switch (message.kind) {
    case Message::Kind::Open:
      one.stream = std::make_shared<HttpStream>();
      one.stream->connection = one.id;
      if (message.open.streams) {
        ++counters_.answers[std::min(5, message.open.head.status / 100)];
        one.beginStream(message.open.head, now_);
      }
      message.open.opened(one.stream);
      if (isEnding_)
        one.leave();
      break;
    case Message::Kind::Piece:
      one.addPiece(std::move(message.piece), now_);
      break;
    case Message::Kind::Finish:
    case Message::Kind::Answer:
      if (one.state() == State::Streaming)
        one.endStream(now_);
      else if (one.state() == State::Answering) {
        ++counters_.answers[std::min(5, message.response.status / 100)];
        one.answer(message.response, !isEnding_, now_);
      }
      break;
    }
    settle(one);
  }
}

/// Has epoll watch what it waits for now, or removes it.
void Server::settle(HttpConnection &connection) {
  if (connection.state() == State::Gone)
    return remove(connection);
  if (connection.pooled > 0 && connection.state() != State::Answering)
    isBodyTooMuch(connection); // a worker is done with it
  react(connection);           // with what came behind a request
  if (connection.state() == State::Gone)
    return remove(connection);
  uint32_t wanted = connection.wanted();
  if (wanted == connection.registered)
    return;
  connection.registered = wanted;
  watch(connection.socket.fd(), connection.id, wanted, EPOLL_CTL_MOD);
}

void Server::remove(HttpConnection &connection) {
  auto mine = addresses_.find(connection.group);
  bodies_ -= connection.pooled;
  mine->second.bodies -= connection.pooled;
  if (--mine->second.connections == 0)
    addresses_.erase(mine);
  connections_.erase(connection.id);
  counters_.open = connections_.size();
}

void Server::checkTimes() {
  checked_ = now_;
  if (listensAgain_ > 0 && now_ > listensAgain_ && !isEnding_) {
    listensAgain_ = 0;
    watch(listener_.get(), kListener, EPOLLIN, EPOLL_CTL_MOD);
  }
  uint64_t streams = 0;
  for (auto next = connections_.begin(); next != connections_.end();) {
    HttpConnection &one = *(next++)->second;
    streams += one.stream != nullptr;
    if (!one.isLate(now_))
      continue;
    ++counters_.late;
    if (one.isInRequest())
      refuse(one, {408, "a request takes too long to arrive"});
    else
      one.leave();
    settle(one);
  }
  counters_.streams = streams;
}

} // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::start(HttpServerOptions options, HttpHandlers handlers) {
  std::shared_ptr<TlsContext> tls;
  if (!options.certificate.empty() || !options.key.empty()) {
    ACCORD_TRY(context, TlsContext::open(options.certificate, options.key));
    tls = std::move(context);
  }
  ACCORD_TRY(listener, listenAt(options.address, options.port));
  auto server = std::make_unique<Server>(std::move(options), std::move(handlers), std::move(tls), std::move(listener));
  if (!server->run())
    return Error{Code::BadCommandLine, "cannot start a server: the machine gives no more threads or files"};
  return std::unique_ptr<HttpServer>(std::move(server));
}

} // namespace accord::service
