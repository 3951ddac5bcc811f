#include "lib/service/client/ServerCall.h"
#include "lib/service/http/ViewJson.h"
#include "lib/service/problem/Httplib.h"
#include "lib/support/documents/JsonParse.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <chrono>
#include <csignal>
#include <fmt/format.h>
#include <thread>

using namespace llvm;
namespace accord::service {
namespace {

constexpr size_t kMaxAnswer = size_t(256) << 20;
constexpr double kHeartbeat = 40; ///< seconds without a byte after which a stream is taken for dead

/// A server that goes away while it is written to is an error, not the end of this program.
class WithoutPipeSignal {
public:
  WithoutPipeSignal() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    wasPending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~WithoutPipeSignal() {
    timespec none{};
    if (!wasPending_)
      sigtimedwait(&pipe_, nullptr, &none);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutPipeSignal(const WithoutPipeSignal &) = delete;

private:
  sigset_t pipe_, before_;
  bool wasPending_ = false;
};

std::string wordsOf(httplib::Error error, const std::string &authority) {
  using enum httplib::Error;
  switch (error) {
  case Connection:
    return "nobody listens there";
  case ConnectionTimeout:
    return "it does not answer in time";
  case Read:
    return "the connection ended, or nothing came, before the answer was whole";
  case Write:
    return "the connection ended before the request was sent";
  case SSLConnection:
    return "it does not speak TLS";
  case SSLLoadingCerts:
    return authority.empty() ? "this machine has no certificates of authorities"
                             : fmt::format("the certificates in '{}' cannot be read", authority);
  case SSLServerVerification:
    return "its certificate is not trusted; state the file of the authority that signed it";
  default:
    return httplib::to_string(error);
  }
}

bool isUnreceived(httplib::Error error) {
  using enum httplib::Error;
  return error == Connection || error == ConnectionTimeout || error == SSLConnection || error == SSLLoadingCerts ||
         error == SSLServerVerification;
}
bool isForGood(httplib::Error error) {
  using enum httplib::Error;
  return error == SSLLoadingCerts || error == SSLServerVerification || error == Canceled;
}

std::unique_ptr<httplib::Client> clientFor(const ServerPlace &place, double readSeconds) {
  auto client = std::make_unique<httplib::Client>(place.url);
  auto span = [](double seconds) { return std::chrono::microseconds(static_cast<int64_t>(seconds * 1e6)); };
  client->set_connection_timeout(span(place.connectSeconds));
  client->set_read_timeout(span(readSeconds));
  client->set_write_timeout(span(place.answerSeconds));
  client->set_keep_alive(false);
  client->set_follow_location(false); // a token is for this server alone
  if (!place.authority.empty())
    client->set_ca_cert_path(place.authority);
  return client;
}

httplib::Headers headersOf(const ServerPlace &place) {
  httplib::Headers headers;
  if (!place.token.empty())
    headers.emplace("Authorization", "Bearer " + place.token);
  return headers;
}

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
  ServerCall call(place);
  StringRef rest(place.url);
  bool isSecure = rest.starts_with("https://");
  if (!rest.consume_front("https://") && !rest.consume_front("http://"))
    return call.unreachable("its URL begins with 'http://' or 'https://'");
  StringRef host = rest, port;
  if (rest.starts_with("[")) {
    std::tie(host, port) = rest.split(']');
    if (!rest.contains(']') || (!port.empty() && !port.consume_front(":")))
      return call.unreachable("its URL is not 'http://HOST:PORT'");
  } else
    std::tie(host, port) = rest.split(':');
  unsigned number = isSecure ? 443 : 80;
  bool isHost = !host.empty() && all_of(host, [](char c) { return isAlnum(c) || StringRef(".-_:[").contains(c); });
  if (!isHost || (!port.empty() && (port.getAsInteger(10, number) || number < 1 || number > 65535)))
    return call.unreachable("its URL is not 'http://HOST:PORT'");
  if (!all_of(place.token, [](char c) { return c > ' ' && c < 127; }))
    return Error{Code::NotAllowed, "the token has blanks or other characters that no token has"};
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

std::string encodePercent(std::string_view text) {
  std::string out;
  for (unsigned char c : text)
    if (isAlnum(c) || StringRef("-._~").contains(c))
      out += static_cast<char>(c);
    else
      out += fmt::format("%{:02X}", c);
  return out;
}

Result<ServerAnswer, Errors> ServerCall::call(const std::string &method, const std::string &path,
                                              const std::string &body, Repeat repeat, double wait) const {
  WithoutPipeSignal quiet;
  bool mayHaveArrived = false;
  for (int tries = 1;; ++tries) {
    auto client = clientFor(place_, place_.answerSeconds + wait);
    httplib::Request request;
    request.method = method;
    request.path = path;
    request.headers = headersOf(place_);
    if (!body.empty())
      request.headers.emplace("Content-Type", "application/json");
    request.body = body;
    ServerAnswer answer;
    request.content_receiver = [&](const char *data, size_t size, uint64_t, uint64_t) {
      answer.body.append(data, size);
      return answer.body.size() <= kMaxAnswer;
    };
    httplib::Response response;
    auto error = httplib::Error::Success;
    try {
      client->send(request, response, error);
    } catch (const std::exception &) { // of memory, or of what the server sent
      error = httplib::Error::Unknown;
    }
    bool isLast = tries >= place_.tries;
    if (error != httplib::Error::Success) {
      mayHaveArrived |= !isUnreceived(error);
      if (isLast || isForGood(error) || (repeat == Repeat::Unreceived && mayHaveArrived))
        return unreachable(wordsOf(error, place_.authority));
    } else {
      answer.status = response.status;
      if (answer.body.empty())
        answer.body = std::move(response.body);
      bool isDone = mayHaveArrived && repeat == Repeat::Ends && (answer.status == 404 || answer.status == 409);
      if ((answer.status >= 200 && answer.status < 300) || isDone)
        return answer;
      bool isBusy = answer.status == 429 || (answer.status == 503 && repeat != Repeat::Unreceived);
      if (!isBusy || isLast)
        return errorsOf(answer.status, answer.body);
    }
    std::this_thread::sleep_for(
        std::chrono::duration<double>(pauseBefore(tries - 1, response.get_header_value("Retry-After"))));
  }
}

Result<bool> ServerCall::stream(const std::string &path, int64_t lastEvent,
                                const std::function<bool(std::string_view)> &take) const {
  WithoutPipeSignal quiet;
  auto client = clientFor(place_, kHeartbeat);
  httplib::Headers headers = headersOf(place_);
  if (lastEvent >= 0)
    headers.emplace("Last-Event-ID", std::to_string(lastEvent));
  int status = 0;
  bool isEnough = false;
  std::string refusal;
  try {
    auto result = client->Get(
        path, headers,
        [&](const httplib::Response &response) {
          status = response.status;
          return true;
        },
        [&](const char *data, size_t size) {
          if (status != 200) {
            refusal.append(data, std::min<size_t>(size, 65536 - std::min<size_t>(refusal.size(), 65536)));
            return true;
          }
          isEnough = !take({data, size});
          return !isEnough;
        });
    if (isEnough)
      return true;
    if (status != 0 && status != 200)
      return errorsOf(status, refusal).front();
    if (status == 200)
      return false;
    return unreachable(wordsOf(result.error(), place_.authority));
  } catch (const std::exception &) {
    return unreachable("what it sent cannot be read");
  }
}

} // namespace accord::service
