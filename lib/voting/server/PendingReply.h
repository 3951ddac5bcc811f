// An answer of HTTP that is made somewhere else than where its request came in.
#pragma once
#include "lib/service/http/HttpServer.h"
#include <memory>
#include <mutex>

namespace accord::voting {

/// Whichever is last, the connection that is kept open or the answer, sends it. Any thread.
class PendingReply : public std::enable_shared_from_this<PendingReply> {
public:
  /// What the handler of the request returns.
  service::HttpOpen open() {
    return {.opened = [self = shared_from_this()](std::shared_ptr<service::HttpStream> stream) {
      self->attach(std::move(stream));
    }};
  }
  /// Once.
  void finish(service::HttpServer &server, service::HttpResponse response) {
    std::unique_lock lock(mutex_);
    server_ = &server;
    if (!stream_) {
      response_ = std::move(response);
      return;
    }
    lock.unlock();
    server.finish(stream_, std::move(response));
  }

private:
  void attach(std::shared_ptr<service::HttpStream> stream) {
    std::unique_lock lock(mutex_);
    stream_ = std::move(stream);
    if (!server_)
      return;
    lock.unlock();
    server_->finish(stream_, std::move(response_));
  }

  std::mutex mutex_;
  std::shared_ptr<service::HttpStream> stream_;
  service::HttpResponse response_;
  service::HttpServer *server_ = nullptr;
};

/// A JSON document as an answer.
inline service::HttpResponse jsonReply(int status, std::string body) {
  body += '\n';
  return {.status = status, .body = std::make_shared<const std::string>(std::move(body))};
}

} // namespace accord::voting
