#include "lib/service/engines/kubernetes/KubernetesClient.h"
#include "lib/support/documents/JsonParse.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <fstream>
#include <thread>

namespace accord::service {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kShown = 300;          ///< bytes of an answer in an error
constexpr size_t kMaxToken = 64 << 10;  ///< bytes
constexpr size_t kPage = 500;           ///< items of a list in one answer
constexpr size_t kMaxItems = 1'000'000; ///< of a list

Error failed(std::string message) { return Error{Code::EngineFailed, std::move(message)}; }

/// The start of what somebody said, on one line.
std::string shown(llvm::StringRef text) {
  std::string out;
  for (char c : text.take_front(kShown))
    out += static_cast<unsigned char>(c) < 32 || c == 127 ? ' ' : c;
  return llvm::json::fixUTF8(out) + (text.size() > kShown ? " ..." : "");
}

double secondsUntil(Clock::time_point end) { return std::chrono::duration<double>(end - Clock::now()).count(); }

bool isThisMachine(const std::string &host) {
  return host == "localhost" || host == "::1" || llvm::StringRef(host).starts_with("127.");
}

bool isTransient(int status) {
  return status == 429 || status == 500 || status == 502 || status == 503 || status == 504;
}

/// Seconds to wait before the next attempt. A date as Retry-After, which no API server sends, is not read.
double pauseOf(const std::string &retryAfter, int attempt) {
  int64_t seconds = 0;
  if (!retryAfter.empty() && !llvm::StringRef(retryAfter).trim().getAsInteger(10, seconds) && seconds >= 0)
    return static_cast<double>(seconds);
  return 0.1 * static_cast<double>(int64_t(1) << std::min(attempt, 5));
}

} // namespace

std::string KubernetesAnswer::message() const {
  const llvm::json::Object *object = body.getAsObject();
  return object ? shown(object->getString("message").value_or("")) : "";
}

Result<std::string> KubernetesClient::bearer() const {
  if (server.tokenFile.empty())
    return server.token;
  std::ifstream file(server.tokenFile, std::ios::binary);
  std::string text(kMaxToken, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  std::string token = llvm::StringRef(text).trim().str();
  if (token.empty() || llvm::any_of(token, [](char c) { return c <= 32 || c == 127; }))
    return failed(fmt::format("'{}' has no token for the Kubernetes API server", server.tokenFile));
  return token;
}

Result<KubernetesAnswer> KubernetesClient::read(const std::string &what, const HttpAnswer &said) const {
  KubernetesAnswer answer;
  answer.status = said.status;
  auto value = readJsonText(said.body);
  if (value && value->getAsObject())
    answer.body = std::move(*value);
  else if (answer.isDone())
    return failed(fmt::format("{}: answer {} is no object of JSON: '{}'", what, said.status, shown(said.body)));
  static constexpr int kTaken[] = {404, 409, 410, 422};
  if (answer.isDone() || std::ranges::find(kTaken, answer.status) != std::end(kTaken))
    return answer;
  const std::string message = answer.message();
  return failed(fmt::format("{}: answer {}: '{}'", what, answer.status, message.empty() ? shown(said.body) : message));
}

Result<KubernetesAnswer> KubernetesClient::call(const std::string &method, const std::string &path,
                                                const llvm::json::Value *body) {
  const Clock::time_point end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limits.call));
  const std::optional<HttpUrl> url = httpUrlOf(server.url);
  if (!url)
    return failed(fmt::format("'{}' is no URL of a Kubernetes API server", shown(server.url)));
  ACCORD_TRY(token, bearer());
  if (!token.empty() && !url->isEncrypted && !isThisMachine(url->host))
    return failed(fmt::format("a token is not sent to '{}' without encryption", shown(server.url)));
  const std::string what = fmt::format("{} {}{}", method, server.url, path);
  HttpAsk ask{.method = method, .path = path, .headers = {{"Accept", "application/json"}, {"User-Agent", "accord"}}};
  if (!token.empty())
    ask.headers.emplace_back("Authorization", "Bearer " + token);
  if (body) {
    ask.body = llvm::formatv("{0}", *body).str();
    ask.headers.emplace_back("Content-Type", method == "PATCH" ? "application/merge-patch+json" : "application/json");
  }
  const HttpTrust trust{.authority = server.authority, .certificate = server.certificate, .key = server.key};
  for (int i = 1;; ++i) {
    auto answer = callHttp(
        *url, ask, {.connect = limits.connect, .pause = limits.read, .call = secondsUntil(end), .bytes = limits.bytes},
        trust);
    const bool again = answer ? isTransient(answer->status) : !answer.error().isForGood();
    const double pause = pauseOf(answer ? answer->retryAfter : "", i - 1);
    if (again && i < limits.attempts && pause < secondsUntil(end)) {
      std::this_thread::sleep_for(std::chrono::duration<double>(pause));
      continue;
    }
    if (!answer)
      return failed(fmt::format("{}: {} ({} attempts)", what, shown(answer.error().message), i));
    return read(what, *answer);
  }
}

Result<std::vector<llvm::json::Value>> KubernetesClient::list(const std::string &path, const std::string &query) {
  constexpr int kReadings = 3;
  for (int reading = 0; reading < kReadings; ++reading) {
    std::vector<llvm::json::Value> items;
    std::string next;
    do {
      std::string words = fmt::format("limit={}", kPage);
      if (!query.empty())
        words += "&" + query;
      if (!next.empty())
        words += "&continue=" + encodePercent(next);
      ACCORD_TRY(answer, call("GET", path + "?" + words));
      if (answer.status == 410 && !next.empty())
        break;
      const llvm::json::Object *object = answer.body.getAsObject();
      const llvm::json::Array *page = object ? object->getArray("items") : nullptr;
      if (!answer.isDone() || !page)
        return failed(
            fmt::format("GET {}{}: answer {} is no list: '{}'", server.url, path, answer.status, answer.message()));
      items.insert(items.end(), page->begin(), page->end());
      if (items.size() > kMaxItems)
        return failed(fmt::format("GET {}{}: more than {} items", server.url, path, kMaxItems));
      const llvm::json::Object *metadata = object->getObject("metadata");
      const std::string following = metadata ? metadata->getString("continue").value_or("").str() : "";
      if (!following.empty() && following == next)
        return failed(fmt::format("GET {}{}: a page follows itself", server.url, path));
      next = following;
      if (next.empty())
        return items;
    } while (true);
  }
  return failed(fmt::format("GET {}{}: the list changes faster than it can be read", server.url, path));
}

} // namespace accord::service
