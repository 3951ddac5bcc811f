#include "lib/voting/server/VotingServer.h"
#include "lib/support/ThreadRole.h"
#include "lib/support/documents/JsonParse.h"
#include "lib/support/documents/JsonText.h"
#include "lib/voting/documents/VotingJson.h"
#include "lib/voting/link/ConnectionPool.h"
#include "lib/voting/problem/LatencyHistogram.h"
#include "lib/voting/problem/VoteCount.h"
#include "lib/voting/server/MemberServer.h"
#include "lib/voting/server/PendingReply.h"
#include <mutex>
#include <sys/resource.h>
#include <thread>

namespace json = llvm::json;
namespace accord::voting {
namespace {
using service::HttpReply;
using service::HttpRequest;
using Clock = std::chrono::steady_clock;

double milliseconds(Clock::duration time) { return std::chrono::duration<double, std::milli>(time).count(); }

/// What became of a member's vote.
enum class VoteState : uint8_t { Awaited, Counted, Late, Refused, WrongForm, Unneeded };

/// One request while it is open. All but the first members belong to the thread of the votes.
struct Question {
  Question(const VotingConfig &config, asio::io_context &io)
      : count(config), states(config.members.size(), VoteState::Awaited), timer(io) {}

  int64_t id = 0;
  std::optional<int64_t> truth;
  Clock::time_point began;
  std::shared_ptr<PendingReply> reply = std::make_shared<PendingReply>();
  std::shared_ptr<const std::string> body; ///< for the members

  VoteCount count;
  std::vector<VoteState> states;
  asio::steady_timer timer;
  bool isAnswered = false;
};
using QuestionPtr = std::shared_ptr<Question>;

/// A vote that a member sent; nothing: it is none of this input and of these classes.
std::optional<MemberVote> readVote(const std::string &text, int64_t id, const VotingConfig &config) {
  auto value = readJsonText(text);
  const json::Object *object = value ? value->getAsObject() : nullptr;
  const auto label = object ? object->getInteger("label") : std::nullopt;
  if (!label || *label < 0 || *label >= config.classes || object->getInteger("id") != id)
    return std::nullopt;
  MemberVote vote{.label = *label};
  if (config.rule != VoteRule::Soft)
    return vote;
  const json::Array *all = object->getArray("probabilities");
  if (!all || all->size() != static_cast<size_t>(config.classes))
    return std::nullopt;
  double sum = 0;
  for (const json::Value &one : *all) {
    const auto number = one.getAsNumber();
    if (!number || !(*number >= 0 && *number <= 1))
      return std::nullopt;
    sum += *number;
    vote.probabilities.push_back(*number);
  }
  if (std::abs(sum - 1) > 1e-3)
    return std::nullopt;
  return vote;
}

class Server final : public VotingServer {
public:
  Server(VotingConfig config, const VotingServerOptions &options) : config_(std::move(config)), options_(options) {
    for (const VotingMember &member : config_.members) {
      names_.push_back(jsonLine(jsonString(member.name)));
      seen_.members.push_back({.name = member.name});
    }
  }
  ~Server() override { Server::stop(); }

  Result<void> run();
  int port() const override { return http_->port(); }
  VotingStatistics statistics() const override;
  void stop() override;

private:
  HttpReply take(const HttpRequest &request);
  HttpReply ask(const HttpRequest &request);
  void begin(const QuestionPtr &question);
  void onReply(const QuestionPtr &question, size_t member, const CallReply &reply);
  void settle(const QuestionPtr &question);
  void finish(const QuestionPtr &question);

  const VotingConfig config_;
  const VotingServerOptions options_;
  std::vector<std::string> names_; ///< of members, as JSON
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_ = asio::make_work_guard(io_);
  std::vector<std::unique_ptr<ConnectionPool>> pools_;
  std::atomic<int64_t> open_ = 0;

  mutable std::mutex mutex_; ///< of what was seen
  VotingStatistics seen_;
  LatencyHistogram latencies_;

  std::atomic<service::HttpServer *> server_ = nullptr;
  std::unique_ptr<service::HttpServer> http_;
  std::thread thread_;
};

Result<void> Server::run() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) { // connections to members, too
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  // A vote that is late says nothing, but its connection can be used again: it is waited for as long as the time-out
  // once more. Longer, votes that never come would hold so many connections that others are refused.
  const PoolLimits limits{.connections = options_.connectionsPerMember,
                          .abandon = std::max(1.0, 2 * config_.timeout / 1000)};
  for (const VotingMember &member : config_.members) {
    const auto url = service::httpUrlOf(member.url);
    if (!url || url->isEncrypted || !url->path.empty())
      return Error{Code::BadCommandLine,
                   fmt::format("member '{}': expected http://HOST:PORT, found '{}'", member.name, member.url)};
    ACCORD_TRY(pool, ConnectionPool::open(io_, *url, limits));
    pools_.push_back(std::move(pool));
  }
  auto http = service::HttpServer::start(
      votingHttpOptions(options_.address, options_.port),
      {.answer = [this](const HttpRequest &request) { return take(request); },
       .refuse = [](const HttpRequest &,
                    const service::HttpRefusal &why) { return errorReply(why.status, why.message); }});
  if (!http)
    return http.takeError();
  http_ = std::move(*http);
  server_ = http_.get();
  server_.notify_all();
  thread_ = std::thread([this] {
    nameThread("votes");
    io_.run();
  });
  return {};
}

void Server::stop() {
  if (http_)
    http_->stop();
  if (thread_.joinable()) {
    io_.stop();
    thread_.join();
  }
}

VotingStatistics Server::statistics() const {
  std::scoped_lock lock(mutex_);
  VotingStatistics seen = seen_;
  seen.open = open_;
  auto at = [&](double q) { return latencies_.quantile(q) * 1e3; };
  seen.latency = {at(0.5), at(0.9), at(0.99), at(0.999)};
  return seen;
}

/// By a worker of the HTTP server.
HttpReply Server::take(const HttpRequest &request) {
  server_.wait(nullptr);
  if (request.path == "/answer")
    return request.method == "POST" ? ask(request) : errorReply(405, "an answer is asked for by POST");
  if (request.path == "/statistics")
    return jsonReply(200, jsonLine(toDocument(statistics())));
  if (request.path == "/ensemble")
    return jsonReply(200, jsonLine(toDocument(config_)));
  if (request.path == "/health")
    return jsonReply(200, R"({"status":"ok"})");
  return errorReply(404, "there are POST /answer, GET /statistics, GET /ensemble and GET /health");
}

HttpReply Server::ask(const HttpRequest &request) {
  auto question = std::make_shared<Question>(config_, io_);
  question->began = Clock::now();
  VotingBody body = readVotingBody(request.body, {"id", "input"}, {"truth"});
  if (body.refusal)
    return std::move(*body.refusal);
  question->id = *body.fields.getInteger("id");
  if (const json::Value *truth = body.fields.get("truth")) {
    question->truth = truth->getAsInteger();
    if (!question->truth || *question->truth < 0 || *question->truth >= config_.classes)
      return errorReply(400, fmt::format("expected a label of 0 to {} at 'truth'", config_.classes - 1));
  }
  if (open_.fetch_add(1) >= static_cast<int64_t>(options_.open)) {
    --open_;
    std::scoped_lock lock(mutex_);
    ++seen_.overloaded;
    return jsonReply(503, fmt::format("{{\"id\":{},\"error\":\"overloaded\"}}", question->id));
  }
  question->body = std::make_shared<const std::string>(
      fmt::format("{{\"id\":{},\"input\":{}}}", question->id, jsonLine(*body.fields.get("input"))));
  service::HttpOpen open = question->reply->open();
  asio::post(io_, [this, question] { begin(question); });
  return open;
}

void Server::begin(const QuestionPtr &question) {
  {
    std::scoped_lock lock(mutex_);
    ++seen_.requests;
    for (MemberTally &member : seen_.members)
      ++member.asked;
  }
  question->timer.expires_at(question->began + std::chrono::duration_cast<Clock::duration>(
                                                   std::chrono::duration<double, std::milli>(config_.timeout)));
  question->timer.async_wait([this, question](service::ErrorCode error) {
    if (error || question->isAnswered)
      return;
    for (size_t i = 0; i < config_.members.size(); ++i)
      if (question->states[i] == VoteState::Awaited) {
        question->states[i] = VoteState::Late;
        question->count.drop(i);
      }
    finish(question);
  });
  for (size_t i = 0; i < config_.members.size() && !question->isAnswered; ++i)
    pools_[i]->post("/vote", question->body,
                    [this, question, i](const CallReply &reply) { onReply(question, i, reply); });
}

void Server::onReply(const QuestionPtr &question, size_t member, const CallReply &reply) {
  if (question->isAnswered)
    return; // it is late, or was not needed
  std::optional<MemberVote> vote;
  if (reply.outcome == CallReply::Outcome::Answered && reply.status == 200)
    vote = readVote(reply.body, question->id, config_);
  const bool hasForm = reply.outcome == CallReply::Outcome::Answered && reply.status < 500;
  question->states[member] = vote ? VoteState::Counted : hasForm ? VoteState::WrongForm : VoteState::Refused;
  if (vote)
    question->count.add(member, std::move(*vote));
  else
    question->count.drop(member);
  settle(question);
}

/// Answers if nothing that is awaited matters any more.
void Server::settle(const QuestionPtr &question) {
  const VoteCount &count = question->count;
  if (!count.isComplete() && !count.isCertain() && !count.isHopeless())
    return;
  for (VoteState &state : question->states)
    if (state == VoteState::Awaited)
      state = VoteState::Unneeded;
  question->timer.cancel();
  finish(question);
}

const char *reasonOf(VoteState state) {
  switch (state) {
  case VoteState::Late:
    return "late";
  case VoteState::Refused:
    return "refused";
  case VoteState::WrongForm:
    return "wrong form";
  default:
    return "not needed: the others are no quorum";
  }
}

/// The one answer.
void Server::finish(const QuestionPtr &question) {
  question->isAnswered = true;
  const VoteCount &count = question->count;
  const bool hasLabel = count.hasQuorum();
  const int64_t label = hasLabel ? count.label() : 0;
  std::string list;
  for (size_t i = 0; i < names_.size(); ++i) {
    const VoteState state = question->states[i];
    if ((state == VoteState::Counted) != hasLabel)
      continue;
    list += list.empty() ? "" : ",";
    list += hasLabel ? names_[i] : fmt::format("{{\"member\":{},\"reason\":\"{}\"}}", names_[i], reasonOf(state));
  }
  const auto taken = Clock::now() - question->began;
  std::string text;
  if (hasLabel) {
    text =
        fmt::format("{{\"id\":{},\"label\":{},\"weight\":{},\"voted\":[{}]", question->id, label, count.weight(), list);
    if (config_.rule == VoteRule::Soft)
      text += fmt::format(",\"probabilities\":[{}]", fmt::join(count.shares(), ","));
  } else {
    text = fmt::format("{{\"id\":{},\"error\":\"no quorum\",\"weight\":{},\"quorum\":{},\"missing\":[{}]", question->id,
                       count.weight(), config_.quorum, list);
  }
  text += fmt::format(",\"latency_ms\":{:.3f}}}", milliseconds(taken));
  {
    std::scoped_lock lock(mutex_);
    latencies_.add(milliseconds(taken) / 1e3);
    ++(hasLabel ? seen_.answered : seen_.none);
    seen_.known += hasLabel && question->truth;
    seen_.wrong += hasLabel && question->truth && *question->truth != label;
    for (size_t i = 0; i < names_.size(); ++i) {
      MemberTally &of = seen_.members[i];
      const VoteState state = question->states[i];
      ++(state == VoteState::Counted     ? of.inTime
         : state == VoteState::Late      ? of.late
         : state == VoteState::Refused   ? of.refused
         : state == VoteState::WrongForm ? of.wrongForm
                                         : of.unneeded);
    }
  }
  --open_;
  question->reply->finish(*http_, jsonReply(hasLabel ? 200 : 503, std::move(text)));
}

} // namespace

Result<std::unique_ptr<VotingServer>> VotingServer::start(VotingConfig config, const VotingServerOptions &options) {
  auto server = std::make_unique<Server>(std::move(config), options);
  if (Result<void> done = server->run(); !done)
    return done.takeError();
  return std::unique_ptr<VotingServer>(std::move(server));
}

} // namespace accord::voting
