// One connection of a client to the server: where it stands, what is still to be sent, and until when it may take.
//
// Times are seconds of a clock that never goes back.
#pragma once
#include "lib/service/http/HttpServer.h"
#include "lib/service/http/HttpSocket.h"
#include <deque>

namespace accord::service {

class HttpConnection {
public:
  enum class State : uint8_t {
    Reading,   ///< a request, or waits for one
    Answering, ///< a worker has the request, or the answer is kept open
    Writing,   ///< the answer is complete, not yet taken
    Streaming, ///< pieces of an answer may follow
    Draining,  ///< everything is sent; what still comes is thrown away, so that the client gets to read the answer
    Gone
  };

  HttpConnection(uint64_t id, std::string address, std::string group, OwnedFd fd, const TlsContext *tls,
                 const HttpServerOptions &options, double now)
      : id(id), address(std::move(address)), group(std::move(group)), socket(std::move(fd), tls),
        parser(options.limits), options_(&options), since_(now) {}
  HttpConnection(const HttpConnection &) = delete;
  ~HttpConnection();

  const uint64_t id;
  const std::string address, group; ///< as of HttpRequest
  HttpSocket socket;
  RequestParser parser;
  std::string requestId;
  std::shared_ptr<HttpStream> stream; ///< of an answer that is kept open
  size_t pooled = 0;                  ///< bytes of its body that count against the limit of all
  size_t requests = 0;
  uint32_t registered = 0; ///< events that epoll watches

  State state() const { return state_; }
  /// Reads once and takes the bytes. False: there was nothing.
  bool readSome(double now);
  /// Throws away what comes.
  void drain();
  /// Sends what can be sent; then the next state.
  void flush(double now);
  /// The request that is there; its answer comes later.
  HttpRequest beginAnswer(double now);
  void answer(const HttpResponse &response, bool mayKeep, double now);
  void beginStream(const HttpResponse &head, double now);
  void addPiece(std::shared_ptr<const std::string> piece, double now);
  void endStream(double now);
  void sendContinue(double now);

  /// Whether it took longer than it may.
  bool isLate(double now) const;
  /// Whether something of a request is there, so that being late has an answer.
  bool isInRequest() const { return state_ == State::Reading && !parser.isFresh(); }
  /// The events of epoll that it waits for.
  uint32_t wanted() const;
  void leave() { state_ = State::Gone; }

private:
  void queue(std::shared_ptr<const std::string> bytes, double now);
  void finished(double now);

  const HttpServerOptions *options_;
  State state_ = State::Reading;
  double since_;          ///< when what it does now began
  double stuckSince_ = 0; ///< since when something is to be sent
  std::deque<std::shared_ptr<const std::string>> out_;
  size_t offset_ = 0;   ///< in the first of them
  size_t outBytes_ = 0; ///< of all
  bool closes_ = false, isHead_ = false, keepsAlive_ = false, saidContinue_ = false;
  bool readWantsWrite_ = false, writeWantsRead_ = false; ///< as TLS may
  size_t drained_ = 0;
};

} // namespace accord::service
