#include "lib/service/http/HttpConnection.h"
#include <array>
#include <sys/epoll.h>

namespace accord::service {

HttpConnection::~HttpConnection() {
  if (stream)
    stream->isClosed = true;
}

bool HttpConnection::readSome(double now) {
  std::array<char, 16384> buffer; // as large as a record of TLS, so that nothing stays in it
  size_t moved = 0;
  HttpSocket::Outcome outcome = socket.read(buffer.data(), buffer.size(), moved);
  readWantsWrite_ = outcome == HttpSocket::Outcome::WantsWrite;
  if (outcome == HttpSocket::Outcome::Ended)
    leave();
  if (outcome != HttpSocket::Outcome::Moved)
    return false;
  RequestParser::State before = parser.state();
  if (parser.isFresh())
    since_ = now;
  if (parser.feed({buffer.data(), moved}) == RequestParser::State::Body && before == RequestParser::State::Head)
    since_ = now;
  return true;
}

void HttpConnection::drain() {
  std::array<char, 16384> buffer;
  for (;;) {
    size_t moved = 0;
    HttpSocket::Outcome outcome = socket.read(buffer.data(), buffer.size(), moved);
    drained_ += moved;
    if (outcome == HttpSocket::Outcome::Ended || drained_ > size_t(1) << 20)
      leave();
    if (outcome != HttpSocket::Outcome::Moved || state_ == State::Gone)
      return;
  }
}

void HttpConnection::queue(std::shared_ptr<const std::string> bytes, double now) {
  if (bytes->empty())
    return;
  if (out_.empty())
    stuckSince_ = now;
  outBytes_ += bytes->size();
  out_.push_back(std::move(bytes));
}

void HttpConnection::flush(double now) {
  while (!out_.empty() && state_ != State::Gone) {
    std::string_view rest = std::string_view(*out_.front()).substr(offset_);
    size_t moved = 0;
    HttpSocket::Outcome outcome = socket.write(rest, moved);
    writeWantsRead_ = outcome == HttpSocket::Outcome::WantsRead;
    if (outcome == HttpSocket::Outcome::Ended)
      leave();
    if (outcome != HttpSocket::Outcome::Moved)
      break;
    offset_ += moved;
    outBytes_ -= moved;
    if (stream && state_ == State::Streaming)
      stream->pending -= moved;
    if (moved == rest.size()) {
      out_.pop_front();
      offset_ = 0;
    }
  }
  if (out_.empty() && state_ == State::Writing)
    finished(now);
}

void HttpConnection::finished(double now) {
  if (stream)
    stream->isClosed = true;
  stream.reset();
  since_ = now;
  if (closes_) {
    socket.endWriting();
    state_ = State::Draining;
  } else
    state_ = State::Reading;
}

HttpRequest HttpConnection::beginAnswer(double now) {
  HttpRequest request = parser.take();
  request.address = address;
  request.group = group;
  keepsAlive_ = request.keepsAlive;
  isHead_ = request.method == "HEAD";
  saidContinue_ = false;
  since_ = now;
  state_ = State::Answering;
  ++requests;
  return request;
}

void HttpConnection::answer(const HttpResponse &response, bool mayKeep, double now) {
  closes_ = response.closes || !mayKeep || !keepsAlive_ || requests >= options_->requestsPerConnection;
  std::string head = responseHead(response, static_cast<int64_t>(response.body->size()), requestId, closes_);
  bool hasBody = !isHead_ && !response.body->empty();
  if (hasBody && response.body->size() < 16384)
    head += *response.body;
  bool isSeparate = hasBody && response.body->size() >= 16384;
  state_ = State::Writing;
  since_ = now;
  queue(std::make_shared<std::string>(std::move(head)), now);
  if (isSeparate)
    queue(response.body, now);
  flush(now);
}

void HttpConnection::beginStream(const HttpResponse &head, double now) {
  closes_ = true; // its end is that of the connection
  state_ = State::Streaming;
  auto text = std::make_shared<std::string>(responseHead(head, -1, requestId, true));
  stream->pending += text->size();
  queue(std::move(text), now);
  flush(now);
}

void HttpConnection::addPiece(std::shared_ptr<const std::string> piece, double now) {
  if (state_ != State::Streaming)
    return;
  queue(std::move(piece), now); // counted in `pending` by the sender
  flush(now);
}

void HttpConnection::endStream(double now) {
  if (state_ != State::Streaming)
    return;
  state_ = State::Writing;
  since_ = now;
  flush(now);
}

void HttpConnection::sendContinue(double now) {
  if (saidContinue_)
    return;
  saidContinue_ = true;
  queue(std::make_shared<std::string>("HTTP/1.1 100 Continue\r\n\r\n"), now);
  flush(now);
}

bool HttpConnection::isLate(double now) const {
  double took = now - since_;
  switch (state_) {
  case State::Reading:
    if (parser.isFresh())
      return took > (requests == 0 ? options_->headSeconds : options_->idleSeconds);
    return took > (parser.state() == RequestParser::State::Head ? options_->headSeconds : options_->bodySeconds);
  case State::Writing:
    return took > options_->writeSeconds + static_cast<double>(outBytes_) / options_->writeBytesPerSecond;
  case State::Streaming:
    return !out_.empty() && now - stuckSince_ > options_->writeSeconds;
  case State::Draining:
    return took > 1;
  case State::Answering:
  case State::Gone:
    break;
  }
  return false;
}

uint32_t HttpConnection::wanted() const {
  uint32_t events = 0;
  if (state_ == State::Reading || state_ == State::Draining)
    events |= EPOLLIN;
  if (!out_.empty())
    events |= writeWantsRead_ ? EPOLLIN : EPOLLOUT;
  if (state_ == State::Reading && readWantsWrite_)
    events |= EPOLLOUT;
  if (stream)
    events |= EPOLLRDHUP;
  return events;
}

} // namespace accord::service
