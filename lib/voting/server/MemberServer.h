// A member of an ensemble as a server: inputs in, votes out.
//
//   POST /vote      {"id": 7, "input": …} -> {"id": 7, "label": 3, "probabilities": […]}
//   GET /health     {"member": "wide", "asked": 12, "answered": 12}
#pragma once
#include "lib/service/http/HttpServer.h"
#include "lib/voting/server/VoteEngine.h"

namespace accord::voting {

struct MemberServerOptions {
  std::string name;
  std::string address = "127.0.0.1";
  int port = 0; ///< 0: any that is free
};

class MemberServer {
public:
  /// Error A0801: it cannot listen.
  static Result<std::unique_ptr<MemberServer>> start(const MemberServerOptions &options,
                                                     std::unique_ptr<VoteEngine> engine);
  ~MemberServer();
  int port() const { return http_->port(); }
  void stop() { http_->stop(); }

private:
  MemberServer(std::string name, std::unique_ptr<VoteEngine> engine);
  service::HttpReply answer(const service::HttpRequest &request);
  service::HttpReply vote(const service::HttpRequest &request);

  const std::string name_;
  std::atomic<service::HttpServer *> server_ = nullptr; ///< once it is there, for its own threads
  std::atomic<int64_t> asked_ = 0, answered_ = 0;
  std::unique_ptr<service::HttpServer> http_;
  std::unique_ptr<VoteEngine> engine_; // destroyed first: it calls back
};

/// Settings of a server whose clients are few and ask without end.
service::HttpServerOptions votingHttpOptions(const std::string &address, int port);
/// {"error": "…"}
service::HttpResponse errorReply(int status, const std::string &message);
/// The body of a request as an object with these keys, and no others; those behind `optional` may be missing. Else an
/// answer 400.
struct VotingBody {
  llvm::json::Object fields;
  std::optional<service::HttpResponse> refusal = std::nullopt;
};
VotingBody readVotingBody(const std::string &text, std::initializer_list<llvm::StringRef> keys,
                          std::initializer_list<llvm::StringRef> optional = {});

} // namespace accord::voting
