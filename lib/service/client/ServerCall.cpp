#include "lib/service/client/ServerCall.h"
#include "lib/service/http/ViewJson.h"
#include "lib/support/documents/JsonParse.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <fstream>
#include <sstream>
#include <thread>

using namespace llvm;
namespace accord::service {
namespace {

constexpr size_t kMaxRefusal = 65536; ///< bytes of the reasons for which a stream is refused
constexpr double kHeartbeat = 40;     ///< seconds without a byte after which a stream is taken for dead

double pauseBefore(int tries, const std::string &retryAfter) {
  double stated = 0;
  unsigned whole = 0;
  if (!StringRef(retryAfter).getAsInteger(10, whole))
    stated = std::min(whole, 30U);
  return std::max(stated, 0.2 * static_cast<double>(1 << std::min(tries, 5)));
}

} // namespace

Error ServerCall::unreachable(const std::string &why) const {
  return {Code::SchedulerUnreachable,
          fmt::format("the scheduler at '{}' (from {}) does not answer: {}; start one with 'accord serve', or name it "
                      "with --server or ACCORD_SERVER",
                      place_.url, place_.origin, why)};
}

Result<ServerCall> ServerCall::open(ServerPlace place) {
  if (place.url.ends_with("/"))
    place.url.pop_back();
  ServerCall call(std::move(place));
  const ServerPlace &of = call.place_;
  std::optional<HttpUrl> url = httpUrlOf(of.url);
  if (!url || !url->path.empty())
    return call.unreachable("its URL is not 'http://HOST:PORT' or 'https://HOST:PORT'");
  call.url_ = std::move(*url);
  if (!all_of(of.token, [](char c) { return c > ' ' && c < 127; }))
    return Error{Code::NotAllowed, "the token has blanks or other characters that no token has"};
  if (of.authority.empty() || !call.url_.isEncrypted)
    return call;
  std::ifstream file(of.authority, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  call.trust_.authority = text.str();
  if (!file || call.trust_.authority.empty())
    return call.unreachable(fmt::format("the certificates in '{}' cannot be read", of.authority));
  return call;
}

Errors errorsOf(int status, const std::string &body) {
  ErrorList list;
  Errors errors;
  if (auto value = readJsonText(body)) {
    json::Path::Root root("answer");
    if (readJson(*value, root, [&](JsonVisitor &v) { visitValue(v, list); }, JsonRule::Open))
      for (ApiError &one : list.errors) {
        const ErrorEntry *entry = findError(one.code);
        errors.push_back({entry ? entry->code : Code::WrongServiceRequest, std::move(one.message)});
      }
  }
  if (errors.empty())
    errors.push_back({Code::SchedulerUnreachable,
                      fmt::format("the server answers with status {} and no reason that can be read", status)});
  return errors;
}

HttpAsk ServerCall::ask(const std::string &method, const std::string &path, const std::string &body) const {
  HttpAsk ask{.method = method, .path = path, .body = body};
  if (!place_.token.empty())
    ask.headers.emplace_back("Authorization", "Bearer " + place_.token);
  if (!body.empty())
    ask.headers.emplace_back("Content-Type", "application/json");
  return ask;
}

Result<HttpAnswer, Errors> ServerCall::call(const std::string &method, const std::string &path, const std::string &body,
                                            Repeat repeat, double wait) const {
  HttpAsk request = ask(method, path, body);
  HttpCallLimits limits{.connect = place_.connectSeconds, .pause = place_.answerSeconds + wait};
  bool mayHaveArrived = false;
  for (int tries = 1;; ++tries) {
    auto answer = callHttp(url_, request, limits, trust_);
    bool isLast = tries >= place_.tries;
    std::string retryAfter;
    if (!answer) {
      HttpFailure failure = answer.takeError();
      mayHaveArrived |= !failure.isUnreceived();
      if (isLast || failure.isForGood() || (repeat == Repeat::Unreceived && mayHaveArrived))
        return unreachable(failure.message);
    } else {
      bool isDone = mayHaveArrived && repeat == Repeat::Ends && (answer->status == 404 || answer->status == 409);
      if ((answer->status >= 200 && answer->status < 300) || isDone)
        return std::move(*answer);
      bool isBusy = answer->status == 429 || (answer->status == 503 && repeat != Repeat::Unreceived);
      if (!isBusy || isLast)
        return errorsOf(answer->status, answer->body);
      retryAfter = std::move(answer->retryAfter);
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(pauseBefore(tries - 1, retryAfter)));
  }
}

Result<bool> ServerCall::stream(const std::string &path, int64_t lastEvent,
                                const std::function<bool(std::string_view)> &take) const {
  HttpAsk request = ask("GET", path, "");
  if (lastEvent >= 0)
    request.headers.emplace_back("Last-Event-ID", std::to_string(lastEvent));
  HttpCallLimits limits{
      .connect = place_.connectSeconds, .pause = kHeartbeat, .bytes = std::numeric_limits<size_t>::max()};
  bool isEnough = false;
  std::string refusal;
  auto answer = callHttp(url_, request, limits, trust_, [&](int status, std::string_view piece) {
    if (status == 200) {
      isEnough = !take(piece);
      return !isEnough;
    }
    refusal += piece;
    return refusal.size() < kMaxRefusal;
  });
  if (isEnough)
    return true;
  if (!answer)
    return unreachable(answer.error().message);
  if (answer->status != 200)
    return errorsOf(answer->status, refusal).front();
  return false;
}

} // namespace accord::service
