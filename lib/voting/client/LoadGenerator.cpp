#include "lib/voting/client/LoadGenerator.h"
#include "lib/support/ClopperPearson.h"
#include "lib/support/SplitMix.h"
#include "lib/support/documents/JsonParse.h"
#include "lib/voting/link/ConnectionPool.h"
#include <deque>

namespace json = llvm::json;
namespace accord::voting {
namespace {
using Clock = std::chrono::steady_clock;

constexpr auto kLookAtStop = std::chrono::milliseconds(50);
constexpr double kAbandoned = 3600; ///< seconds: nobody waits longer for an answer

class Generator {
public:
  Generator(const LoadOptions &options, const std::function<AskedInput(int64_t)> &inputOf,
            const std::atomic<bool> &stop)
      : options_(options), inputOf_(inputOf), stop_(stop), random_(options.seed) {}

  Result<AskReport> run() {
    // A request that is sent twice would be counted twice by the server.
    ACCORD_TRY(pool,
               ConnectionPool::open(io_, options_.url,
                                    {.connections = options_.connections, .abandon = kAbandoned, .retries = false}));
    pool_ = std::move(pool);
    begin_ = last_ = Clock::now();
    due_ = begin_;
    look();
    if (options_.rate > 0)
      arrive();
    else
      pump();
    if (options_.requests > 0)
      io_.run();
    report_.requests = static_cast<int64_t>(latencies_.size()) + report_.failed;
    report_.seconds = std::chrono::duration<double>(last_ - begin_).count();
    summarize();
    return std::move(report_);
  }

private:
  /// Requests become due, one after the other.
  void arrive() {
    if (arrived_ == options_.requests)
      return;
    timer_.expires_at(due_);
    timer_.async_wait([this](service::ErrorCode) {
      const auto now = Clock::now();
      while (arrived_ < options_.requests && due_ <= now) {
        waiting_.emplace_back(arrived_++, due_);
        due_ += std::chrono::duration_cast<Clock::duration>(
            std::chrono::duration<double>(-std::log(1 - random_.unit()) / options_.rate));
      }
      pump();
      arrive();
    });
  }

  /// Sends while connections are free.
  void pump() {
    if (isPumping_)
      return; // it goes on there
    isPumping_ = true;
    while (inFlight_ < options_.connections) {
      if (options_.rate <= 0 && arrived_ < options_.requests)
        waiting_.emplace_back(arrived_++, Clock::now());
      if (waiting_.empty())
        break;
      const auto [id, due] = waiting_.front();
      waiting_.pop_front();
      ask(id, due);
    }
    isPumping_ = false;
  }

  void ask(int64_t id, Clock::time_point due) {
    const AskedInput asked = inputOf_(id);
    std::string body = fmt::format("{{\"id\":{},\"input\":{}", id, asked.input);
    if (asked.truth)
      body += fmt::format(",\"truth\":{}", *asked.truth);
    ++inFlight_;
    pool_->post("/answer", std::make_shared<const std::string>(body + "}"),
                [this, id, due, truth = asked.truth](const CallReply &reply) {
                  --inFlight_;
                  last_ = Clock::now();
                  count(id, truth, reply, last_ - due);
                  if (++done_ == options_.requests)
                    io_.stop();
                  else
                    pump();
                });
  }

  void count(int64_t id, std::optional<int64_t> truth, const CallReply &reply, Clock::duration taken) {
    auto value = reply.outcome == CallReply::Outcome::Answered ? readJsonText(reply.body)
                                                               : Result<json::Value, JsonError>(JsonError{});
    const json::Object *object = value ? value->getAsObject() : nullptr;
    const bool isMine = object && object->getInteger("id") == id;
    const auto label = isMine && reply.status == 200 ? object->getInteger("label") : std::nullopt;
    const bool isNone = isMine && reply.status == 503 && object->getString("error") == "no quorum";
    if (!label && !isNone) {
      ++report_.failed;
      return;
    }
    latencies_.push_back(std::chrono::duration<double, std::milli>(taken).count());
    report_.none.number += isNone;
    if (!label)
      return;
    ++report_.answered;
    report_.known += truth.has_value();
    report_.wrong.number += truth && *truth != *label;
  }

  void look() {
    stopTimer_.expires_after(kLookAtStop);
    stopTimer_.async_wait([this](service::ErrorCode) {
      if (stop_)
        io_.stop();
      else
        look();
    });
  }

  void summarize() {
    llvm::sort(latencies_);
    auto at = [&](double q) {
      if (latencies_.empty())
        return 0.0;
      const auto rank = static_cast<size_t>(std::ceil(q * static_cast<double>(latencies_.size())));
      return latencies_[std::max<size_t>(1, rank) - 1];
    };
    report_.latency = {at(0.5), at(0.9), at(0.99), at(0.999)};
    report_.maxLatency = at(1);
  }

  const LoadOptions &options_;
  const std::function<AskedInput(int64_t)> &inputOf_;
  const std::atomic<bool> &stop_;
  SplitMix random_;
  asio::io_context io_{1};
  asio::steady_timer timer_{io_}, stopTimer_{io_};
  std::unique_ptr<ConnectionPool> pool_;
  std::deque<std::pair<int64_t, Clock::time_point>> waiting_;
  int64_t arrived_ = 0, done_ = 0;
  size_t inFlight_ = 0;
  bool isPumping_ = false;
  Clock::time_point begin_, due_, last_;
  std::vector<double> latencies_; ///< milliseconds
  AskReport report_;
};

void limit(MeasuredShare &share, int64_t requests) {
  if (requests <= 0)
    return;
  const Rational half = Rational(1) / Rational(40); // both limits hold together with 95 %
  share.share = static_cast<double>(share.number) / static_cast<double>(requests);
  share.low = lowerLimit(share.number, requests, half).toDouble();
  share.high = upperLimit(share.number, requests, half).toDouble();
}

} // namespace

Result<AskReport> generateLoad(const LoadOptions &options, const std::function<AskedInput(int64_t)> &inputOf,
                               const std::atomic<bool> &stop) {
  return Generator(options, inputOf, stop).run();
}

void evaluate(AskReport &report, const VotingConfig &config) {
  report.name = config.name;
  report.planned = config.planned;
  const int64_t answers = report.answered + report.none.number;
  limit(report.none, answers);
  // Of requests whose truth is known, and those without an answer, which no truth is needed for.
  limit(report.wrong, report.known + report.none.number);
  if (!config.planned)
    return;
  if (report.known > 0 && report.wrong.low > config.planned->wrong)
    report.contradictions.push_back(
        fmt::format("at most {:.4g} % of answers are planned to be wrong, at least {:.4g} % are",
                    100 * config.planned->wrong, 100 * report.wrong.low));
  if (answers > 0 && report.none.low > config.planned->none)
    report.contradictions.push_back(
        fmt::format("at most {:.4g} % are planned to have no answer, at least {:.4g} % have none",
                    100 * config.planned->none, 100 * report.none.low));
}

} // namespace accord::voting
