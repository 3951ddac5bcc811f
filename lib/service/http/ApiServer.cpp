#include "lib/service/http/ApiServer.h"
#include "lib/service/http/ApiRoutes.h"
#include "lib/service/http/RefusalLog.h"
#include "lib/support/documents/AnswerFile.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <unistd.h>

using namespace llvm;
namespace accord::service {
namespace {

using Access = ApiRoute::Access;

double steadyNow() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Scripts, styles and requests of the page are its own files; nothing is inline, nothing frames it.
constexpr const char *kPagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
                                    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
constexpr const char *kNoToken = "a request has a token: 'Authorization: Bearer TOKEN'";
constexpr const char *kDataPolicy = "default-src 'none'; frame-ancestors 'none'";

class Api final : public ApiServer {
public:
  Api(Scheduler &scheduler, ApiOptions options)
      : scheduler_(scheduler), options_(std::move(options)),
        hub_(
            scheduler, [](std::vector<ServiceEvent> events) { return jsonResponse(EventList{std::move(events)}); },
            options_.heartbeatSeconds),
        log_(scheduler), perToken_(options_.requestsPerSecond, options_.requestBurst),
        perStranger_(options_.strangersPerSecond, options_.strangerBurst),
        wrongTokens_(options_.wrongTokensPerSecond, options_.wrongTokens) {}
  ~Api() override { Api::stop(); }

  Result<void> run();
  int port() const override { return server_->port(); }
  void stop() override {
    hub_.stop();
    if (server_)
      server_->stop();
    log_.stop();
  }
  const HttpCounters &counters() const override { return server_->counters(); }

private:
  HttpReply answer(const HttpRequest &request);
  HttpReply answerRoute(const HttpRequest &request, Caller &caller);
  std::optional<HttpResponse> answerPage(const HttpRequest &request) const;
  std::optional<HttpResponse> admit(const HttpRequest &request, const ApiRoute &route, ApiAsk &ask);
  std::optional<HttpResponse> admitCaller(const HttpRequest &request, ApiAsk &ask);
  std::optional<HttpResponse> refuseGuess(const HttpRequest &request, const std::string &token) const;
  std::optional<HttpResponse> admitTask(const HttpRequest &request, const ApiAsk &ask);
  std::optional<HttpResponse> admitWithoutToken(const HttpRequest &request, ApiAsk &ask);
  void noteToken(const HttpRequest &request, const std::string &token, bool isGood);
  HttpResponse wrongToken(const std::string &group, const std::string &message);
  HttpResponse tooOften(const RateLimit &limit, const std::string &key, const std::string &message) const;
  HttpResponse refuse(const HttpRequest &request, const HttpRefusal &refusal);
  void finish(const HttpRequest &request, HttpResponse &response, const Caller &caller);
  std::string ownMetrics() const;

  Scheduler &scheduler_;
  ApiOptions options_;
  EventHub hub_;
  RefusalLog log_;
  RateLimit perToken_, perStranger_, wrongTokens_;
  KnownTokens known_;
  struct PageFile {
    std::string type, tag;
    std::shared_ptr<const std::string> text;
  };
  std::map<std::string, PageFile> page_;
  std::unique_ptr<HttpServer> server_;
  std::atomic<bool> isReady_ = false;
};

Result<void> Api::run() {
  for (auto &[name, file] : options_.page)
    page_[name] = {.type = file.type,
                   .tag = fmt::format("\"{}\"", sha256Of(file.text).substr(0, 16)),
                   .text = std::make_shared<const std::string>(std::move(file.text))};
  auto server = HttpServer::start(
      options_.http,
      {.answer = [this](const HttpRequest &request) { return answer(request); },
       .refuse = [this](const HttpRequest &request, const HttpRefusal &refusal) { return refuse(request, refusal); }});
  if (!server)
    return server.takeError();
  server_ = std::move(*server);
  hub_.start(*server_);
  log_.start();
  isReady_ = true;
  return {};
}

/// What all answers have, and what of them the audit log gets.
void Api::finish(const HttpRequest &request, HttpResponse &response, const Caller &caller) {
  auto has = [&](StringRef name) {
    return llvm::any_of(response.headers, [&](const auto &header) { return header.first == name; });
  };
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  response.headers.emplace_back("Referrer-Policy", "no-referrer");
  if (!has("Content-Security-Policy"))
    response.headers.emplace_back("Content-Security-Policy", kDataPolicy);
  if (!has("Cache-Control"))
    response.headers.emplace_back("Cache-Control", "no-store");
  if (response.status == 503 && !has("Retry-After"))
    response.headers.emplace_back("Retry-After", "2");
  bool isStranger = caller.name.empty();
  int status = response.status;
  if (status == 401 || status == 403 || status == 413 || status == 415 || status == 429 || status == 503 ||
      (status >= 400 && isStranger))
    log_.note(caller.name,
              fmt::format("{} to {} {} from {}, request {}", status, logText(request.method, 32),
                          logText(request.path, 120), request.address, request.id),
              steadyNow());
}

HttpResponse Api::refuse(const HttpRequest &request, const HttpRefusal &refusal) {
  Code code = refusal.status == 500 ? Code::InternalError : Code::WrongServiceRequest;
  HttpResponse response = errorResponse(refusal.status, {Error{code, refusal.message}});
  finish(request, response, {});
  return response;
}

HttpReply Api::answer(const HttpRequest &request) {
  Caller caller;
  if (!isReady_) // the port is open a moment before all is there
    return errorResponse(503, {Error{Code::NotServed, "the scheduler starts"}});
  HttpReply reply = answerRoute(request, caller);
  if (auto *open = std::get_if<HttpOpen>(&reply))
    finish(request, open->head, caller);
  else
    finish(request, std::get<HttpResponse>(reply), caller);
  return reply;
}

/// The parts of a path that stand for names; nothing: it is another path.
std::optional<std::vector<std::string>> matched(StringRef path, const std::vector<std::string> &segments) {
  std::vector<StringRef> parts = segmentsOf(path);
  if (parts.size() != segments.size())
    return std::nullopt;
  std::vector<std::string> names;
  for (size_t i = 0; i < parts.size(); ++i)
    if (parts[i].starts_with("{"))
      names.push_back(segments[i]);
    else if (parts[i] != segments[i])
      return std::nullopt;
  return names;
}

/// The token of a header "Bearer TOKEN" (RFC 6750); empty: it is none.
std::string tokenOf(std::string_view header) {
  StringRef text(header.data(), header.size());
  if (!text.take_front(7).equals_insensitive("bearer "))
    return "";
  text = text.drop_front(7).ltrim(' ');
  bool isToken = text.size() <= 512 &&
                 llvm::all_of(text, [](char c) { return llvm::isAlnum(c) || StringRef("-._~+/=").contains(c); });
  return isToken ? text.str() : "";
}

/// What a path and a method name.
struct Target {
  const ApiRoute *route = nullptr; ///< null: the path has none for this method
  std::vector<std::string> names;  ///< in the path
  std::string allowed;             ///< methods of the path, with ", " between them; empty: there is no such path
};

Target targetOf(const HttpRequest &request) {
  Target target;
  StringRef method = request.method == "HEAD" ? "GET" : StringRef(request.method);
  for (const ApiRoute &one : apiRoutes()) {
    auto names = matched(one.path, request.segments);
    if (!names || request.path == "*")
      continue;
    target.allowed += (target.allowed.empty() ? "" : ", ") + one.method.str() + (one.method == "GET" ? ", HEAD" : "");
    if (one.method != method)
      continue;
    target.route = &one;
    target.names = std::move(*names);
  }
  return target;
}

HttpReply Api::answerRoute(const HttpRequest &request, Caller &caller) {
  Target target = targetOf(request);
  auto page = request.path == "*" ? std::nullopt : answerPage(request);
  if (page)
    target.allowed = "GET, HEAD";
  std::string shownPath = logText(request.path, 120);
  if (target.allowed.empty() && request.path != "*")
    return errorResponse(404, {Error{Code::NotServed, fmt::format("there is no '{}'", shownPath)}});
  std::string allowed = target.allowed + (target.allowed.empty() ? "OPTIONS" : ", OPTIONS");
  if (request.method == "OPTIONS")
    return HttpResponse{.status = 204, .type = "", .headers = {{"Allow", allowed}}};
  if (page ? request.method != "GET" && request.method != "HEAD" : !target.route) {
    std::string message =
        fmt::format("method '{}' is not for '{}', allowed is {}", request.method, shownPath, target.allowed);
    HttpResponse response = errorResponse(405, {Error{Code::WrongServiceRequest, message}});
    response.headers.emplace_back("Allow", allowed);
    return response;
  }
  if (!perStranger_.has(request.group, steadyNow()) && tokenOf(request.header("authorization")).empty())
    return tooOften(perStranger_, request.group, "too many requests without a token");
  if (page) {
    perStranger_.take(request.group, steadyNow());
    return *page;
  }
  ApiAsk ask{.http = request, .names = std::move(target.names), .route = target.route};
  std::optional<HttpResponse> refusal = admit(request, *target.route, ask);
  caller = ask.caller;
  if (!refusal)
    refusal = refuseQuery(*target.route, request);
  if (refusal)
    return *refusal;
  ApiContext context{.scheduler = scheduler_, .hub = hub_};
  if (target.route->access == Access::Metrics)
    context.ownMetrics = ownMetrics();
  HttpReply reply = target.route->handle(context, ask);
  if (target.route->access == Access::Task)
    if (auto *response = std::get_if<HttpResponse>(&reply); response && response->status != 400)
      noteToken(request, ask.token, response->status != 401);
  return reply;
}

std::optional<HttpResponse> Api::answerPage(const HttpRequest &request) const {
  const auto &parts = request.segments;
  std::string name = parts.empty() ? "index.html" : parts.size() == 2 && parts[0] == "page" ? parts[1] : "";
  auto found = page_.find(name);
  if (found == page_.end())
    return std::nullopt;
  const PageFile &file = found->second;
  HttpResponse response{.type = file.type,
                        .headers = {{"Content-Security-Policy", kPagePolicy},
                                    {"X-Frame-Options", "DENY"},
                                    {"Cache-Control", "no-cache"},
                                    {"ETag", file.tag}}};
  if (request.header("if-none-match") == file.tag) {
    response.status = 304;
    response.type.clear();
  } else
    response.body = file.text;
  return response;
}

HttpResponse Api::tooOften(const RateLimit &limit, const std::string &key, const std::string &message) const {
  HttpResponse response = errorResponse(429, {Error{Code::NotAllowed, message}});
  response.headers.emplace_back("Retry-After", std::to_string(limit.secondsUntil(key, steadyNow())));
  return response;
}

HttpResponse Api::wrongToken(const std::string &group, const std::string &message) {
  perStranger_.take(group, steadyNow());
  HttpResponse response = errorResponse(401, {Error{Code::NotAllowed, message}});
  response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

/// Whether nobody else can have a name lead to this machine: an address, a name without a dot, its own, or one of
/// `names`.
bool isOwnHost(std::string_view header, const std::vector<std::string> &names) {
  StringRef host(header.data(), header.size());
  if (host.starts_with("["))
    return true; // an address of IPv6
  host = host.split(':').first;
  char own[256] = "";
  if (gethostname(own, sizeof(own) - 1) != 0)
    own[0] = 0;
  bool isAddress = llvm::all_of(host, [](char c) { return llvm::isDigit(c) || c == '.'; });
  return !host.contains('.') || isAddress || host.ends_with(".localhost") || host.equals_insensitive(own) ||
         llvm::any_of(names, [&](const std::string &name) { return host.equals_insensitive(name); });
}

std::optional<HttpResponse> Api::admit(const HttpRequest &request, const ApiRoute &route, ApiAsk &ask) {
  double now = steadyNow();
  ask.token = tokenOf(request.header("authorization"));
  bool needsToken = route.access != Access::Open && (route.access != Access::Metrics || !options_.hasOpenMetrics);
  if (!needsToken)
    perStranger_.take(request.group, now);
  else if (route.access == Access::Task) {
    if (auto refusal = admitTask(request, ask))
      return refusal;
  } else if (auto refusal = ask.token.empty() ? admitWithoutToken(request, ask) : admitCaller(request, ask))
    return refusal;
  StringRef type(request.header("content-type"));
  if (route.request && !request.body.empty() &&
      !type.split(';').first.rtrim(' ').equals_insensitive("application/json"))
    return errorResponse(415, {Error{Code::WrongServiceRequest, fmt::format("a body is 'application/json', found '{}'",
                                                                            logText(std::string_view(type), 60))}});
  if (!route.request && !request.body.empty())
    return errorResponse(400, {Error{Code::WrongServiceRequest, "this request has no body"}});
  return std::nullopt;
}

std::string knownAs(const HttpRequest &request, const std::string &token) {
  return sha256Of(token + " " + request.address);
}

/// An address that guesses at tokens is shut out for a while, but for those of its tokens that were good.
std::optional<HttpResponse> Api::refuseGuess(const HttpRequest &request, const std::string &token) const {
  if (wrongTokens_.has(request.group, steadyNow()) || known_.has(knownAs(request, token)))
    return std::nullopt;
  return tooOften(wrongTokens_, request.group, "too many wrong tokens from this address");
}

void Api::noteToken(const HttpRequest &request, const std::string &token, bool isGood) {
  if (isGood)
    return known_.add(knownAs(request, token));
  known_.remove(knownAs(request, token));
  wrongTokens_.take(request.group, steadyNow());
}

/// Who asks. What is compared are hashes (`Scheduler::callerOf`).
std::optional<HttpResponse> Api::admitCaller(const HttpRequest &request, ApiAsk &ask) {
  if (auto refusal = refuseGuess(request, ask.token))
    return refusal;
  std::optional<Caller> caller = scheduler_.callerOf(ask.token);
  noteToken(request, ask.token, caller.has_value());
  if (!caller)
    return wrongToken(request.group, "the token is not known, or has expired");
  ask.caller = std::move(*caller);
  if (std::string key = "token " + ask.caller.name; !perToken_.take(key, steadyNow()))
    return tooOften(perToken_, key, "too many requests with this token");
  return std::nullopt;
}

std::optional<HttpResponse> Api::admitTask(const HttpRequest &request, const ApiAsk &ask) {
  if (ask.token.empty())
    return wrongToken(request.group, kNoToken);
  if (auto refusal = refuseGuess(request, ask.token))
    return refusal;
  if (std::string key = "task " + sha256Of(ask.token); !perToken_.take(key, steadyNow()))
    return tooOften(perToken_, key, "too many requests of this task");
  return std::nullopt;
}

/// A scheduler may need no tokens. Then pages of others, which a browser beside it shows, must not ask in the name of
/// who reads them: neither as they are (Origin), nor under a name of theirs that leads to this machine (Host).
std::optional<HttpResponse> Api::admitWithoutToken(const HttpRequest &request, ApiAsk &ask) {
  std::optional<Caller> caller = scheduler_.callerOf("");
  if (!caller)
    return wrongToken(request.group, kNoToken);
  std::string_view host = request.header("host"), origin = request.header("origin");
  std::string_view site = request.header("sec-fetch-site");
  bool isOtherSite = !site.empty() && site != "same-origin" && site != "none";
  if (isOtherSite || (!origin.empty() && StringRef(origin).split("://").second != StringRef(host)))
    return errorResponse(403, {Error{Code::NotAllowed, "a page of another site may not ask without a token"}});
  if (!isOwnHost(host, options_.hosts)) {
    std::string message = fmt::format("without a token, '{}' is no name of this server; allowed are its addresses, "
                                      "names without a dot, and those that it was started with",
                                      logText(host, 100));
    return errorResponse(403, {Error{Code::NotAllowed, message}});
  }
  ask.caller = std::move(*caller);
  if (std::string key = "open " + request.group; !perToken_.take(key, steadyNow()))
    return tooOften(perToken_, key, "too many requests of this address");
  return std::nullopt;
}

std::string Api::ownMetrics() const {
  const HttpCounters &counters = server_->counters();
  std::string text;
  auto add = [&](const char *name, const char *type, const char *about, uint64_t value) {
    text += fmt::format("# HELP accord_http_{0} {2}\n# TYPE accord_http_{0} {1}\naccord_http_{0} {3}\n", name, type,
                        about, value);
  };
  add("connections", "gauge", "Connections that are open.", counters.open);
  add("watchers", "gauge", "Answers that are kept open.", counters.streams);
  add("connections_total", "counter", "Connections that were accepted.", counters.accepted);
  add("connections_refused_total", "counter", "Connections above the limits.", counters.refused);
  add("requests_total", "counter", "Requests that were read.", counters.requests);
  add("malformed_total", "counter", "What was no request.", counters.malformed);
  add("late_total", "counter", "Connections that took longer than they may.", counters.late);
  text += "# HELP accord_http_answers_total Answers by the first digit of their status.\n"
          "# TYPE accord_http_answers_total counter\n";
  for (int digit = 1; digit <= 5; ++digit)
    text += fmt::format("accord_http_answers_total{{status=\"{}xx\"}} {}\n", digit, counters.answers[digit].load());
  return text;
}

} // namespace

Result<std::unique_ptr<ApiServer>> ApiServer::start(Scheduler &scheduler, ApiOptions options) {
  auto api = std::make_unique<Api>(scheduler, std::move(options));
  if (Result<void> done = api->run(); !done)
    return done.takeError();
  return std::unique_ptr<ApiServer>(std::move(api));
}

} // namespace accord::service
