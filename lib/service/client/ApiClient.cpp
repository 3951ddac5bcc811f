#include "lib/service/client/ApiClient.h"
#include "lib/support/documents/JsonParse.h"
#include "lib/support/documents/JsonText.h"
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <thread>

using namespace llvm;
namespace accord::service {
namespace {

constexpr size_t kMaxEvent = size_t(1) << 20;

std::string environment(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

/// The first line of the file that `accord` keeps a user's token in; empty: there is none.
std::string tokenInFile() {
  std::string home = environment("HOME");
  if (home.empty())
    return "";
  std::ifstream file(home + "/.config/accord/token");
  std::string line;
  std::getline(file, line);
  return StringRef(line).trim().str();
}

/// Reads a document of the server; what a newer one adds is passed over.
template <typename T> Result<T> documentOf(const ServerCall &call, const std::string &text) {
  auto value = readJsonText(text);
  if (!value)
    return call.unreachable(
        fmt::format("its answer is no JSON ({} at byte {})", value.error().message, value.error().at));
  json::Path::Root root("answer");
  T document{};
  if (readJson(*value, root, [&](JsonVisitor &v) { visitValue(v, document); }, JsonRule::Open))
    return document;
  return call.unreachable(fmt::format("its answer cannot be read ({})", toString(root.getError())));
}

template <typename T> std::string bodyOf(const T &value) { return jsonLine(toDocument(value)); }

} // namespace

Result<ApiClient> ApiClient::open(const ClientOptions &options) {
  ServerPlace place{.url = options.server,
                    .origin = options.origin,
                    .token = options.token,
                    .authority = options.authority,
                    .connectSeconds = options.connectSeconds,
                    .answerSeconds = options.answerSeconds,
                    .tries = std::max(1, options.tries)};
  if (place.url.empty()) {
    place.url = environment("ACCORD_SERVER");
    place.origin = "ACCORD_SERVER";
  }
  if (place.url.empty()) {
    place.url = "http://localhost:8421";
    place.origin = "the default";
  }
  if (place.token.empty())
    place.token = environment("ACCORD_TOKEN");
  if (place.token.empty())
    place.token = tokenInFile();
  if (place.authority.empty())
    place.authority = environment("ACCORD_AUTHORITY");
  ACCORD_TRY(call, ServerCall::open(std::move(place)));
  return ApiClient(std::move(call), options.patience);
}

template <typename T> Result<T> ApiClient::get(const std::string &path, double wait) const {
  auto answer = call_.call("GET", path, "", Repeat::Always, wait);
  if (!answer)
    return answer.error().front();
  return documentOf<T>(call_, answer->body);
}

Result<void> ApiClient::change(const std::string &method, const std::string &path, const std::string &body,
                               Repeat repeat) const {
  auto answer = call_.call(method, path, body, repeat);
  if (!answer)
    return answer.error().front();
  return {};
}

Result<SubmitAnswer, Errors> ApiClient::submit(const Submission &submission) const {
  Repeat repeat = submission.key.empty() ? Repeat::Unreceived : Repeat::Always;
  auto answer = call_.call("POST", "/v1/jobs", bodyOf(submission), repeat);
  if (!answer)
    return answer.takeError();
  Result<SubmitAnswer> document = documentOf<SubmitAnswer>(call_, answer->body);
  if (!document)
    return document.takeError();
  return *document;
}

Result<JobList> ApiClient::jobs(const JobFilter &filter) const {
  std::string path = fmt::format("/v1/jobs?after={}&limit={}", filter.after, filter.limit);
  if (filter.newestFirst)
    path += "&newest=true";
  if (!filter.tenant.empty())
    path += "&tenant=" + encodePercent(filter.tenant);
  if (!filter.name.empty())
    path += "&name=" + encodePercent(filter.name);
  if (!filter.prefix.empty())
    path += "&prefix=" + encodePercent(filter.prefix);
  for (size_t i = 0; i < filter.phases.size(); ++i)
    path += fmt::format("{}{}", i == 0 ? "&phase=" : ",", nameOf(filter.phases[i]));
  return get<JobList>(path);
}

Result<JobView> ApiClient::job(int64_t id) const { return get<JobView>(fmt::format("/v1/jobs/{}", id)); }

Result<void> ApiClient::cancel(int64_t id, const std::string &reason) const {
  const std::string why = reason.empty() ? "" : "?reason=" + encodePercent(reason);
  return change("DELETE", fmt::format("/v1/jobs/{}{}", id, why), "", Repeat::Ends);
}

Result<std::vector<std::string>> ApiClient::explain(int64_t id) const {
  ACCORD_TRY(explanation, get<Explanation>(fmt::format("/v1/jobs/{}/explain", id)));
  return std::move(explanation.sentences);
}

Result<std::vector<RunView>> ApiClient::runs(const RunFilter &filter) const {
  std::string path = fmt::format("/v1/runs?from_s={}&until_s={}&limit={}", filter.from, filter.until, filter.limit);
  if (filter.job > 0)
    path += fmt::format("&job={}", filter.job);
  if (!filter.tenant.empty())
    path += "&tenant=" + encodePercent(filter.tenant);
  ACCORD_TRY(list, get<RunList>(path));
  return std::move(list.runs);
}

Result<int64_t> ApiClient::keepTuning(const TuningRecord &record) const {
  auto answer = call_.call("POST", "/v1/tunings", bodyOf(record));
  if (!answer)
    return answer.error().front();
  ACCORD_TRY(document, documentOf<TuningAnswer>(call_, answer->body));
  return document.id;
}

Result<std::vector<TuningRecord>> ApiClient::tunings(const std::string &name, size_t limit) const {
  ACCORD_TRY(list, get<TuningList>(fmt::format("/v1/tunings?name={}&limit={}", encodePercent(name), limit)));
  return std::move(list.tunings);
}

Result<TuningRecord> ApiClient::tuning(int64_t id) const {
  return get<TuningRecord>(fmt::format("/v1/tunings/{}", id));
}

Result<ClusterView> ApiClient::cluster() const { return get<ClusterView>("/v1/cluster"); }

Result<Caller> ApiClient::caller() const { return get<Caller>("/v1/caller"); }

Result<std::vector<ServiceEvent>> ApiClient::events(int64_t after, size_t limit, double wait) const {
  ACCORD_TRY(list, get<EventList>(fmt::format("/v1/events?after={}&limit={}&wait_s={}", after, limit, wait), wait));
  return std::move(list.events);
}

Result<void> ApiClient::drain(const std::string &node, const std::string &reason) const {
  return change("POST", "/v1/nodes/" + encodePercent(node) + "/drain", bodyOf(DrainRequest{reason}), Repeat::Always);
}

Result<void> ApiClient::resume(const std::string &node) const {
  return change("POST", "/v1/nodes/" + encodePercent(node) + "/resume", "", Repeat::Always);
}

Result<std::string> ApiClient::makeToken(const Caller &of, double expires) const {
  auto answer =
      call_.call("POST", "/v1/tokens", bodyOf(TokenRequest{.of = of, .expires = expires}), Repeat::Unreceived);
  if (!answer)
    return answer.error().front();
  ACCORD_TRY(document, documentOf<TokenAnswer>(call_, answer->body));
  return std::move(document.token);
}

Result<void> ApiClient::revokeToken(const std::string &name) const {
  return change("DELETE", "/v1/tokens/" + encodePercent(name), "", Repeat::Ends);
}

Result<void> ApiClient::report(const ProgressReport &report) const {
  return change("POST", "/v1/progress", bodyOf(report), Repeat::Always);
}

Result<HealthAnswer> ApiClient::health() const { return get<HealthAnswer>("/healthz"); }

Result<std::string> ApiClient::metrics() const {
  auto answer = call_.call("GET", "/metrics");
  if (!answer)
    return answer.error().front();
  return std::move(answer->body);
}

Result<std::string> ApiClient::description() const {
  auto answer = call_.call("GET", "/v1/openapi.json");
  if (!answer)
    return answer.error().front();
  return std::move(answer->body);
}

void EventReader::restart() {
  line_.clear();
  data_.clear();
  id_ = -1;
}

bool EventReader::take(std::string_view bytes, const std::function<bool(const ServiceEvent &)> &each) {
  while (!bytes.empty()) {
    size_t end = bytes.find('\n');
    line_ += bytes.substr(0, end);
    if (line_.size() + data_.size() > kMaxEvent) {
      isBroken_ = true;
      return false;
    }
    if (end == std::string_view::npos)
      return true;
    bytes.remove_prefix(end + 1);
    std::string line = std::move(line_);
    line_.clear();
    if (!takeLine(line, each))
      return false;
  }
  return true;
}

bool EventReader::takeLine(std::string_view line, const std::function<bool(const ServiceEvent &)> &each) {
  StringRef text(line.data(), line.size());
  text.consume_back("\r");
  if (text.consume_front("data:")) {
    data_ += text.ltrim(' ').str();
    return true;
  }
  if (text.consume_front("id:")) {
    if (text.trim().getAsInteger(10, id_))
      id_ = -1;
    return true;
  }
  if (!text.empty())
    return true; // a comment, or what is not needed
  std::string data = std::move(data_);
  data_.clear();
  int64_t id = std::exchange(id_, -1);
  if (data.empty()) {
    last_ = std::max(last_, id);
    return true;
  }
  auto value = readJsonText(data);
  ServiceEvent event;
  json::Path::Root root("event");
  if (!value || !readJson(*value, root, [&](JsonVisitor &v) { visitValue(v, event); }, JsonRule::Open)) {
    consumeError(root.getError());
    isBroken_ = true;
    return false;
  }
  if (event.number <= last_)
    return true;
  last_ = event.number;
  return each(event);
}

Result<void> ApiClient::watch(int64_t after, const std::function<bool(const ServiceEvent &)> &each) const {
  using Clock = std::chrono::steady_clock;
  EventReader reader(after);
  Clock::time_point seen = Clock::now();
  for (int tries = 0;; ++tries) {
    reader.restart();
    auto ended = call_.stream("/v1/events/stream", reader.last(), [&](std::string_view bytes) {
      seen = Clock::now();
      tries = 0;
      return reader.take(bytes, each);
    });
    if (reader.isBroken())
      return call_.unreachable("its events cannot be read");
    if (ended && *ended)
      return {};
    bool mayComeBack = ended || ended.error().code == Code::SchedulerUnreachable ||
                       ended.error().code == Code::StateFailed || ended.error().code == Code::EngineFailed;
    if (!mayComeBack)
      return ended.takeError();
    if (std::chrono::duration<double>(Clock::now() - seen).count() > patience_)
      return ended ? call_.unreachable("it ends every connection") : ended.takeError();
    std::this_thread::sleep_for(std::chrono::milliseconds(100 << std::min(tries, 5)));
  }
}

} // namespace accord::service
