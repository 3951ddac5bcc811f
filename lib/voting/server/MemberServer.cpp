#include "lib/voting/server/MemberServer.h"
#include "lib/support/documents/JsonParse.h"
#include "lib/support/documents/JsonText.h"
#include "lib/voting/server/PendingReply.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>

namespace json = llvm::json;
namespace accord::voting {
using service::HttpReply;
using service::HttpRequest;
using service::HttpResponse;

service::HttpServerOptions votingHttpOptions(const std::string &address, int port) {
  service::HttpServerOptions options;
  options.address = address, options.port = port;
  options.workers = 4; // none of them waits
  options.connections = options.connectionsPerAddress = 8192;
  options.requestsPerConnection = SIZE_MAX;
  options.idleSeconds = 600;
  options.limits.bodyBytes = size_t(32) << 20; // pictures as numbers
  return options;
}

HttpResponse errorReply(int status, const std::string &message) {
  return jsonReply(status, jsonLine(json::Object{{"error", jsonString(message)}}));
}

VotingBody readVotingBody(const std::string &text, std::initializer_list<llvm::StringRef> keys,
                          std::initializer_list<llvm::StringRef> optional) {
  VotingBody body;
  auto value = readJsonText(text);
  json::Object *object = value ? value->getAsObject() : nullptr;
  if (!object) {
    body.refusal = errorReply(400, value ? "expected an object"
                                         : fmt::format("byte {}: {}", value.error().at, value.error().message));
    return body;
  }
  for (llvm::StringRef key : keys)
    if (!object->get(key)) {
      body.refusal = errorReply(400, fmt::format("expected a key '{}'", key.str()));
      return body;
    }
  for (const auto &[key, entry] : *object)
    if (!llvm::is_contained(keys, llvm::StringRef(key)) && !llvm::is_contained(optional, llvm::StringRef(key))) {
      body.refusal = errorReply(400, fmt::format("an unknown key '{}'", llvm::StringRef(key).str()));
      return body;
    }
  if (!object->getInteger("id"))
    body.refusal = errorReply(400, "expected an integer at 'id'");
  body.fields = std::move(*object);
  return body;
}

MemberServer::MemberServer(std::string name, std::unique_ptr<VoteEngine> engine)
    : name_(std::move(name)), engine_(std::move(engine)) {}

MemberServer::~MemberServer() {
  if (http_)
    http_->stop(); // nobody asks the engine any more
  engine_.reset();
}

Result<std::unique_ptr<MemberServer>> MemberServer::start(const MemberServerOptions &options,
                                                          std::unique_ptr<VoteEngine> engine) {
  std::unique_ptr<MemberServer> made(new MemberServer(options.name, std::move(engine)));
  auto http = service::HttpServer::start(
      votingHttpOptions(options.address, options.port),
      {.answer = [raw = made.get()](const HttpRequest &request) { return raw->answer(request); },
       .refuse = [](const HttpRequest &,
                    const service::HttpRefusal &why) { return errorReply(why.status, why.message); }});
  if (!http)
    return http.takeError();
  made->http_ = std::move(*http);
  made->server_ = made->http_.get();
  made->server_.notify_all();
  return std::move(made);
}

HttpReply MemberServer::answer(const HttpRequest &request) {
  if (request.path == "/vote")
    return request.method == "POST" ? vote(request) : errorReply(405, "a vote is asked for by POST");
  if (request.path == "/health")
    return jsonReply(200,
                     jsonLine(json::Object{
                         {"member", jsonString(name_)}, {"asked", asked_.load()}, {"answered", answered_.load()}}));
  return errorReply(404, "there are POST /vote and GET /health");
}

HttpReply MemberServer::vote(const HttpRequest &request) {
  VotingBody body = readVotingBody(request.body, {"id", "input"});
  if (body.refusal)
    return std::move(*body.refusal);
  const int64_t id = *body.fields.getInteger("id");
  server_.wait(nullptr);
  ++asked_;
  auto reply = std::make_shared<PendingReply>();
  auto done = [this, id, reply](const EngineVote &made) {
    ++answered_;
    if (!made.error.empty())
      return reply->finish(*server_.load(), errorReply(500, made.error));
    std::string text = fmt::format("{{\"id\":{},\"label\":{}", id, made.vote.label);
    if (!made.vote.probabilities.empty())
      text += fmt::format(",\"probabilities\":[{}]", fmt::join(made.vote.probabilities, ","));
    reply->finish(*server_.load(), jsonReply(200, text + "}"));
  };
  service::HttpOpen open = reply->open();
  engine_->vote(id, *body.fields.get("input"), done);
  return open;
}

} // namespace accord::voting
