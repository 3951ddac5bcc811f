// Beast 1.74 asserts what a client can bring about: the end of a body in chunks that arrives byte by byte.
#define BOOST_DISABLE_ASSERTS
#include "lib/service/http/HttpServer.h"
#include "lib/service/http/HttpConnection.h"
#include "lib/support/ThreadRole.h"
#include <array>
#include <cerrno>
#include <chrono>
#include <sys/resource.h>
#include <thread>

namespace accord::service {
namespace {

using State = HttpConnection::State;
using Client = std::shared_ptr<HttpConnection>;

constexpr size_t kFreeBody = size_t(64) << 10; ///< of each request, not counted against the limit of all
constexpr size_t kTurnedAway = 128;            ///< connections above the limit that are told so
constexpr size_t kPart = 16384;                ///< bytes of a body that are made room for at once
constexpr size_t kThrownAway = size_t(1) << 20;

double steadyNow() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Threads begin with what is blocked where they are made.
struct SignalsBlocked {
  sigset_t before;
  SignalsBlocked() {
    pthread_sigmask(SIG_BLOCK, nullptr, &before);
    blockSignals();
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
};

class Server final : public HttpServer {
public:
  Server(HttpServerOptions options, HttpHandlers handlers)
      : options_(std::move(options)), handlers_(std::move(handlers)) {}
  ~Server() override { Server::stop(); }

  Result<void> run();
  int port() const override { return port_; }
  void stop() override;
  void send(const std::shared_ptr<HttpStream> &stream, std::shared_ptr<const std::string> piece) override;
  void finish(const std::shared_ptr<HttpStream> &stream, HttpResponse response) override;
  const HttpCounters &counters() const override { return counters_; }

private:
  struct PerAddress {
    size_t connections = 0, bodies = 0;
  };

  void loop();
  void work(uint64_t id, const HttpRequest &request);
  void awaitClients();
  void acceptAll();
  void accept(Socket socket, const Endpoint &peer);
  void greet(const Client &client);
  void awaitRequest(const Client &client);
  void readSome(const Client &client);
  void onBytes(const Client &client, size_t count);
  void readHead(const Client &client);
  void onHead(const Client &client);
  void readBody(const Client &client);
  void onBody(const Client &client, ErrorCode error);
  void onWrong(const Client &client, ErrorCode error);
  void submit(const Client &client);
  void refuse(const Client &client, const HttpRefusal &refusal);
  void answer(const Client &client, const HttpResponse &response, bool mayKeep);
  void keepOpen(uint64_t id, const HttpOpen &open);
  void complete(uint64_t id, const HttpResponse &response);
  void queue(const Client &client, std::shared_ptr<const std::string> bytes);
  void write(const Client &client);
  void onWritten(const Client &client, size_t pieces);
  void endWriting(const Client &client);
  void drain(const Client &client);
  bool isBodyTooMuch(const Client &client, size_t held);
  void remove(Client client); // the map may have it last
  void tick();
  void checkTimes(double now);
  void beginToEnd();
  Client clientOf(uint64_t id) const;
  std::string nextId() { return fmt::format("{:x}-{:x}", started_, ++lastRequest_); }

  const HttpServerOptions options_;
  const HttpHandlers handlers_;
  HttpCounters counters_;
  int port_ = 0;
  const uint64_t started_ = std::chrono::system_clock::now().time_since_epoch() / std::chrono::seconds(1);

  asio::io_context io_{1};
  std::unique_ptr<asio::ssl::context> tls_;
  // Of the thread of the connections alone.
  asio::ip::tcp::acceptor acceptor_{io_};
  asio::steady_timer timer_{io_};
  std::map<uint64_t, Client> clients_;
  std::map<std::string, PerAddress> addresses_;
  std::array<char, kPart> thrownAway_; ///< nobody reads it
  uint64_t lastId_ = 0, lastRequest_ = 0;
  size_t bodies_ = 0;
  double listensAgain_ = kNever, ending_ = kNever;

  std::mutex stopMutex_;
  std::thread thread_;
  std::optional<asio::thread_pool> workers_;
};

Result<void> Server::run() {
  rlimit files{};
  rlim_t needed = options_.connections + kTurnedAway + 256;
  if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < needed) {
    files.rlim_cur = std::min(needed, files.rlim_max);
    setrlimit(RLIMIT_NOFILE, &files);
  }
  if (!options_.certificate.empty() || !options_.key.empty()) {
    ACCORD_TRY(context, tlsContextOf(options_.certificate, options_.key));
    tls_ = std::move(context);
  }
  if (Result<void> done = listenAt(acceptor_, options_.address, options_.port); !done)
    return done;
  port_ = acceptor_.local_endpoint().port();
  SignalsBlocked whileThreadsBegin;
  workers_.emplace(std::max<size_t>(1, options_.workers));
  awaitClients();
  tick();
  thread_ = std::thread([this] { loop(); });
  return {};
}

void Server::loop() {
  nameThread("connections");
  for (;;)
    try {
      io_.run();
      return;
    } catch (const std::exception &) { // no memory: what it was for is late some time, and removed
    }
}

void Server::stop() {
  std::scoped_lock lock(stopMutex_);
  if (thread_.joinable()) {
    asio::post(io_, [this] { beginToEnd(); });
    thread_.join();
  }
  if (workers_) {
    workers_->stop();
    workers_->join();
  }
  while (!clients_.empty())
    remove(clients_.begin()->second);
}

void Server::send(const std::shared_ptr<HttpStream> &stream, std::shared_ptr<const std::string> piece) {
  stream->pending += piece->size();
  asio::post(io_, [this, id = stream->connection, piece = std::move(piece)] {
    if (Client client = clientOf(id); client && client->state == State::Streaming)
      queue(client, piece);
  });
}

void Server::finish(const std::shared_ptr<HttpStream> &stream, HttpResponse response) {
  asio::post(io_, [this, id = stream->connection, response = std::move(response)] { complete(id, response); });
}

Client Server::clientOf(uint64_t id) const {
  auto found = clients_.find(id);
  return found == clients_.end() ? nullptr : found->second;
}

/// By a worker.
void Server::work(uint64_t id, const HttpRequest &request) {
  [[maybe_unused]] static thread_local const bool isNamed = (nameThread("answers"), true);
  HttpReply reply;
  try {
    reply = handlers_.answer(request);
  } catch (const std::exception &) { // of memory, or of a library below
    reply = handlers_.refuse(request, {500, "the request failed in the server"});
  }
  asio::post(io_, [this, id, reply = std::move(reply)]() mutable {
    if (auto *open = std::get_if<HttpOpen>(&reply))
      keepOpen(id, *open);
    else
      complete(id, std::get<HttpResponse>(reply));
  });
}

void Server::awaitClients() {
  acceptor_.async_wait(asio::socket_base::wait_read, [this](ErrorCode error) {
    if (!error)
      acceptAll();
  });
}

void Server::acceptAll() {
  for (int i = 0; i < 64; ++i) {
    Endpoint peer;
    socklen_t size = peer.capacity();
    int fd = accept4(acceptor_.native_handle(), peer.data(), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      peer.resize(size);
      accept(Socket(io_.get_executor(), peer.protocol(), fd), peer);
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
      listensAgain_ = steadyNow() + 0.2; // else it would be told of them without end
      return;
    } else if (errno != ECONNABORTED && errno != EINTR)
      break;
  }
  awaitClients();
}

void Server::accept(Socket socket, const Endpoint &peer) {
  auto names = namesOf(peer.address());
  auto mine = addresses_.find(names.second);
  bool isTooMany = clients_.size() >= options_.connections ||
                   (mine != addresses_.end() && mine->second.connections >= options_.connectionsPerAddress);
  counters_.refused += isTooMany;
  if (isTooMany && clients_.size() >= options_.connections + kTurnedAway)
    return;
  ErrorCode ignored;
  (void)socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  auto client = std::make_shared<HttpConnection>(++lastId_, std::move(names), std::move(socket),
                                                 options_.limits.headerBytes + 4096);
  ++addresses_[client->group].connections;
  clients_[client->id] = client;
  ++counters_.accepted;
  counters_.open = clients_.size();
  if (isTooMany)
    client->turnedAway = {503, "too many connections are open"};
  client->deadline = steadyNow() + options_.headSeconds;
  greet(client);
}

void Server::greet(const Client &client) {
  auto begin = [this, client](ErrorCode error) {
    if (client->state == State::Gone)
      return;
    if (error)
      remove(client);
    else if (client->turnedAway)
      refuse(client, *client->turnedAway);
    else
      awaitRequest(client);
  };
  if (!tls_)
    return begin({});
  client->stream.tls = std::make_unique<asio::ssl::stream<Socket &>>(client->stream.socket, *tls_);
  client->stream.tls->async_handshake(asio::ssl::stream_base::server, begin);
}

void Server::awaitRequest(const Client &client) {
  client->state = State::Reading;
  client->deadline = steadyNow() + (client->requests == 0 ? options_.headSeconds : options_.idleSeconds);
  client->isInRequest = false;
  client->request = {};
  client->chunkBytes = 0;
  if (client->buffer.size() > 0)
    onBytes(client, 0); // nothing reads: see `keepOpen`
  else
    readSome(client);
}

/// Waits for bytes, whatever they are.
void Server::readSome(const Client &client) {
  if (client->isReading)
    return;
  client->isReading = true;
  client->stream.async_read_some(client->buffer.prepare(client->open ? 64 : 1024),
                                 [this, client](ErrorCode error, size_t count) {
                                   client->isReading = false;
                                   if (client->state == State::Gone || client->state == State::Draining)
                                     return;
                                   if (error)
                                     remove(client);
                                   else
                                     onBytes(client, count);
                                 });
}

void Server::onBytes(const Client &client, size_t count) {
  if (client->state == State::Streaming) {
    client->thrownAway += count;
    return client->thrownAway > kThrownAway ? remove(client) : readSome(client);
  }
  client->buffer.commit(count);
  if (client->state != State::Reading) // behind a request that waits for an event: for the next one
    return;
  if (!client->isInRequest) {
    client->isInRequest = true;
    client->deadline = steadyNow() + options_.headSeconds;
    // RFC 9112, section 2.2: one empty line before a request.
    if (auto *bytes = static_cast<const char *>(client->buffer.data().data());
        client->buffer.size() >= 2 && bytes[0] == '\r' && bytes[1] == '\n')
      client->buffer.consume(2);
  }
  readHead(client);
}

void Server::readHead(const Client &client) {
  auto &parser = client->parser.emplace();
  parser.header_limit(static_cast<uint32_t>(options_.limits.headerBytes));
  parser.body_limit(options_.limits.bodyBytes);
  client->onChunk = [limit = options_.limits.headerBytes, raw = client.get()](uint64_t, beast::string_view extensions,
                                                                              ErrorCode &error) {
    raw->chunkBytes += extensions.size();
    if (raw->chunkBytes > limit)
      error = http::error::bad_chunk_extension;
  };
  parser.on_chunk_header(client->onChunk);
  client->isReading = true;
  http::async_read_header(client->stream, client->buffer, parser, [this, client](ErrorCode error, size_t) {
    client->isReading = false;
    if (client->state != State::Reading)
      return;
    if (error)
      onWrong(client, error);
    else
      onHead(client);
  });
}

void Server::onHead(const Client &client) {
  auto &head = client->parser->get();
  HttpRequest &request = client->request;
  request.method = viewOf(head.method_string());
  for (const auto &field : head) {
    std::string name(viewOf(field.name_string()));
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    request.headers.emplace_back(std::move(name), viewOf(field.value()));
  }
  request.keepsAlive = head.keep_alive();
  if (auto refusal = service::readHead(viewOf(head.target()), head.version() < 11, options_.limits, request))
    return refuse(client, *refusal);
  if (client->parser->is_done())
    return submit(client);
  if (request.expectsContinue)
    queue(client, std::make_shared<std::string>("HTTP/1.1 100 Continue\r\n\r\n"));
  client->deadline = steadyNow() + options_.bodySeconds;
  readBody(client);
}

void Server::readBody(const Client &client) {
  std::string &body = client->request.body;
  auto &part = client->parser->get().body();
  uint64_t left = client->parser->content_length_remaining().value_or(kPart);
  part.size = std::clamp<uint64_t>(left, 1, kPart);
  body.resize(body.size() + part.size);
  part.data = body.data() + body.size() - part.size;
  client->isReading = true;
  http::async_read(client->stream, client->buffer, *client->parser, [this, client](ErrorCode error, size_t) {
    client->isReading = false;
    if (client->state == State::Reading)
      onBody(client, error);
  });
}

void Server::onBody(const Client &client, ErrorCode error) {
  std::string &body = client->request.body;
  body.resize(body.size() - client->parser->get().body().size);
  if (error && error != http::error::need_buffer)
    return onWrong(client, error);
  if (isBodyTooMuch(client, body.size()))
    return refuse(client, {503, "too many large bodies are being read"});
  if (client->parser->is_done())
    submit(client);
  else
    readBody(client);
}

/// What Beast says of a request that is none.
void Server::onWrong(const Client &client, ErrorCode error) {
  bool isHttp = error.category() == http::make_error_code(http::error::bad_method).category();
  if (!isHttp || error == http::error::end_of_stream)
    return remove(client);
  const HttpLimits &limits = options_.limits;
  auto &head = client->parser->get();
  HttpRequest &request = client->request;
  bool isHead = !client->parser->is_header_done();
  if (isHead) { // for logs
    request.method = viewOf(head.method_string());
    request.path = viewOf(head.target().substr(0, head.target().find('?')));
  }
  if (error == http::error::body_limit)
    return refuse(client, {413, fmt::format("a body has more than {} bytes", limits.bodyBytes)});
  if (error == http::error::bad_version)
    return refuse(client, {505, "this server speaks HTTP/1.1"});
  if (error == http::error::header_limit || (isHead && error == http::error::buffer_overflow)) {
    if (head.target().empty())
      return refuse(client, {414, fmt::format("a target has more than {} bytes", limits.targetBytes)});
    return refuse(client, {431, fmt::format("headers have more than {} bytes", limits.headerBytes)});
  }
  if (error == http::error::buffer_overflow || client->chunkBytes > limits.headerBytes)
    return refuse(client, {413, "a body has too many bytes around its chunks"});
  refuse(client, {400, fmt::format("this is no request of HTTP/1.1: {}", error.message())});
}

void Server::submit(const Client &client) {
  client->parser.reset();
  client->buffer.shrink_to_fit();
  HttpRequest request = std::exchange(client->request, {});
  request.address = client->address;
  request.group = client->group;
  client->keepsAlive = request.keepsAlive;
  client->isHead = request.method == "HEAD";
  client->state = State::Answering;
  client->deadline = kNever;
  ++client->requests;
  ++counters_.requests;
  request.id = client->requestId = nextId();
  if (std::string_view given = request.header("x-request-id"); isRequestId(given))
    request.id = client->requestId = given;
  asio::post(*workers_, [this, id = client->id, request = std::move(request)] { work(id, request); });
}

void Server::refuse(const Client &client, const HttpRefusal &refusal) {
  HttpRequest request;
  request.method = client->request.method;
  request.path = client->request.path;
  request.address = client->address;
  request.group = client->group;
  request.id = client->requestId = nextId();
  if (refusal.status < 500)
    ++counters_.malformed;
  if (!client->isReading) { // else an operation still has it
    client->parser.reset();
    client->request = {};
    client->buffer = beast::flat_buffer(client->buffer.max_size());
  }
  HttpResponse response = handlers_.refuse(request, refusal);
  response.closes = true;
  client->isHead = request.method == "HEAD";
  answer(client, response, false);
}

void Server::answer(const Client &client, const HttpResponse &response, bool mayKeep) {
  ++counters_.answers[std::min(5, response.status / 100)];
  if (!client->isReading)
    isBodyTooMuch(client, 0); // nobody has it any more
  client->closes =
      response.closes || !mayKeep || !client->keepsAlive || client->requests >= options_.requestsPerConnection;
  auto length = static_cast<int64_t>(response.body->size());
  client->state = State::Writing;
  queue(client, std::make_shared<std::string>(responseHead(response, length, client->requestId, client->closes)));
  if (!client->isHead)
    queue(client, response.body);
  client->deadline =
      steadyNow() + options_.writeSeconds + static_cast<double>(client->outBytes) / options_.writeBytesPerSecond;
}

void Server::keepOpen(uint64_t id, const HttpOpen &open) {
  auto stream = std::make_shared<HttpStream>();
  stream->connection = id;
  Client client = clientOf(id);
  if (!client) {
    stream->isClosed = true;
    return open.opened(stream);
  }
  client->open = stream;
  isBodyTooMuch(client, 0);
  if (open.streams) {
    ++counters_.answers[std::min(5, open.head.status / 100)];
    client->closes = true; // its end is that of the connection
    client->state = State::Streaming;
    auto head = std::make_shared<std::string>(responseHead(open.head, -1, client->requestId, true));
    stream->pending += head->size();
    queue(client, std::move(head));
  }
  open.opened(stream);
  if (open.streams)
    client->buffer = beast::flat_buffer(client->buffer.max_size()); // nothing is answered behind it
  if (ending_ != kNever)
    remove(client);
  else if (client->buffer.size() == 0)
    readSome(client); // so that it is seen when the client goes
}

/// The whole answer, or for one that streams its end.
void Server::complete(uint64_t id, const HttpResponse &response) {
  Client client = clientOf(id);
  if (client && client->state == State::Answering)
    return answer(client, response, ending_ == kNever);
  if (!client || client->state != State::Streaming)
    return;
  client->state = State::Writing;
  client->deadline =
      steadyNow() + options_.writeSeconds + static_cast<double>(client->outBytes) / options_.writeBytesPerSecond;
  if (!client->isWriting)
    endWriting(client);
}

void Server::queue(const Client &client, std::shared_ptr<const std::string> bytes) {
  if (bytes->empty())
    return;
  if (client->out.empty() && client->state == State::Streaming)
    client->deadline = steadyNow() + options_.writeSeconds; // until it has taken all there is
  client->outBytes += bytes->size();
  client->out.push_back(std::move(bytes));
  if (!client->isWriting) {
    client->isWriting = true;
    // Together with what is queued until then.
    asio::post(io_, [this, client] { write(client); });
  }
}

void Server::write(const Client &client) {
  if (client->state == State::Gone)
    return;
  std::vector<asio::const_buffer> pieces;
  for (const auto &piece : client->out)
    if (pieces.size() < 16)
      pieces.push_back(asio::buffer(*piece));
  asio::async_write(client->stream, pieces, [this, client, count = pieces.size()](ErrorCode error, size_t) {
    if (client->state == State::Gone)
      return;
    if (error)
      remove(client);
    else
      onWritten(client, count);
  });
}

void Server::onWritten(const Client &client, size_t pieces) {
  for (size_t i = 0; i < pieces; ++i) {
    size_t size = client->out.front()->size();
    client->outBytes -= size;
    if (client->state == State::Streaming)
      client->open->pending -= std::min(size, client->open->pending.load());
    client->out.pop_front();
  }
  if (!client->out.empty())
    return write(client);
  client->isWriting = false;
  if (client->state == State::Streaming)
    client->deadline = kNever;
  else if (client->state == State::Writing)
    endWriting(client);
}

/// The answer is sent.
void Server::endWriting(const Client &client) {
  if (client->open)
    client->open->isClosed = true;
  client->open.reset();
  if (!client->closes)
    return awaitRequest(client);
  client->state = State::Draining;
  client->deadline = steadyNow() + 1;
  auto ends = [this, client](ErrorCode) {
    if (client->state == State::Gone)
      return;
    ErrorCode ignored;
    (void)client->stream.socket.shutdown(Socket::shutdown_send, ignored);
    drain(client);
  };
  if (client->stream.tls)
    client->stream.tls->async_shutdown(ends);
  else
    ends({});
}

void Server::drain(const Client &client) {
  client->stream.socket.async_read_some(asio::buffer(thrownAway_), [this, client](ErrorCode error, size_t count) {
    client->thrownAway += count;
    if (client->state == State::Gone)
      return;
    if (error || client->thrownAway > kThrownAway)
      remove(client);
    else
      drain(client);
  });
}

/// Counts the body against the limits of all and of the address.
bool Server::isBodyTooMuch(const Client &client, size_t held) {
  size_t above = held > kFreeBody ? held - kFreeBody : 0;
  if (above == client->pooled)
    return false;
  PerAddress &mine = addresses_[client->group];
  bool grows = above > client->pooled;
  bodies_ += above - client->pooled;
  mine.bodies += above - client->pooled;
  client->pooled = above;
  return grows && (bodies_ > options_.bodiesInAll || mine.bodies > options_.bodiesPerAddress);
}

void Server::remove(Client client) {
  if (client->state == State::Gone)
    return;
  client->state = State::Gone;
  if (client->open)
    client->open->isClosed = true;
  isBodyTooMuch(client, 0);
  if (auto mine = addresses_.find(client->group); --mine->second.connections == 0)
    addresses_.erase(mine);
  ErrorCode ignored;
  (void)client->stream.socket.close(ignored);
  clients_.erase(client->id);
  counters_.open = clients_.size();
  if (ending_ != kNever && clients_.empty())
    io_.stop();
  client.reset(); // nobody else may have it
}

void Server::tick() {
  timer_.expires_after(std::chrono::milliseconds(100));
  timer_.async_wait([this](ErrorCode) {
    double now = steadyNow();
    if (now > listensAgain_ && ending_ == kNever) {
      listensAgain_ = kNever;
      acceptAll();
    }
    checkTimes(now);
    if (now - ending_ > 0.5)
      io_.stop();
    tick();
  });
}

void Server::checkTimes(double now) {
  std::vector<Client> late;
  uint64_t streams = 0;
  for (const auto &[id, client] : clients_) {
    streams += client->open != nullptr;
    if (now > client->deadline)
      late.push_back(client);
  }
  counters_.streams = streams;
  for (const Client &client : late) {
    ++counters_.late;
    if (client->state == State::Reading && client->isInRequest)
      refuse(client, {408, "a request takes too long to arrive"});
    else
      remove(client);
  }
}

/// Takes no more; those that are being answered have half a second.
void Server::beginToEnd() {
  if (ending_ != kNever)
    return;
  ending_ = steadyNow();
  ErrorCode ignored;
  (void)acceptor_.close(ignored);
  std::map<uint64_t, Client> all = clients_;
  for (const auto &[id, client] : all)
    if (client->state == State::Greeting || client->state == State::Reading || client->open)
      remove(client);
  if (clients_.empty())
    io_.stop();
}

} // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::start(HttpServerOptions options, HttpHandlers handlers) {
  try {
    auto server = std::make_unique<Server>(std::move(options), std::move(handlers));
    if (Result<void> done = server->run(); !done)
      return done.takeError();
    return std::unique_ptr<HttpServer>(std::move(server));
  } catch (const std::exception &) { // of Asio or the standard library
    return Error{Code::BadCommandLine, "cannot start a server: the machine gives no more threads or files"};
  }
}

} // namespace accord::service
