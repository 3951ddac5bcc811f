#include "lib/service/http/ApiRoutes.h"
#include "lib/service/http/OpenApi.h"
#include "lib/support/Version.h"
#include "lib/support/documents/JsonParse.h"
#include "lib/support/documents/JsonText.h"
#include "llvm/ADT/StringExtras.h"
#include <charconv>
#include <cmath>
#include <fmt/format.h>

using namespace llvm;
namespace accord::service {
namespace {

using Kind = ApiParameter::Kind;
using Access = ApiRoute::Access;

template <typename T> bool parseWhole(const std::string &text, T &value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

HttpResponse emptyResponse() { return {.status = 204, .type = ""}; }

HttpResponse answerOf(const Result<void> &done) {
  return done ? emptyResponse() : errorResponse(statusOf(done.error().code), {done.error()});
}
/// A request that is well formed, but not as things are: 409.
HttpResponse answerOfChange(const Result<void> &done) {
  if (!done && done.error().code == Code::WrongServiceRequest)
    return errorResponse(409, {done.error()});
  return answerOf(done);
}
template <typename T> HttpResponse failed(const Result<T> &result) {
  return errorResponse(statusOf(result.error().code), {result.error()});
}

HttpResponse unknown(const std::string &what, const std::string &name) {
  return errorResponse(404, {Error{Code::NotServed, fmt::format("there is no {} '{}'", what, name)}});
}

/// Reads a small document: of the code, with the key of what is refused.
template <typename T> std::optional<HttpResponse> readBody(const ApiAsk &ask, T &out, Code code) {
  Result<json::Value, JsonError> value = readJsonText(ask.http.body);
  if (!value) {
    std::string where = fmt::format("byte {}: {}", value.error().at + 1, value.error().message);
    return errorResponse(400, {Error{code, where}});
  }
  json::Path::Root root("request");
  if (readDocument(*value, out, root))
    return std::nullopt;
  return errorResponse(400, {Error{code, llvm::toString(root.getError())}});
}

HttpReply postJob(const ApiContext &api, const ApiAsk &ask) {
  Result<Submission, Errors> submission = readSubmission(ask.http.body);
  if (!submission)
    return errorResponse(400, submission.error());
  auto done = api.scheduler.submit(ask.caller, *submission);
  if (!done)
    return errorResponse(done.error().empty() ? 500 : statusOf(done.error().front().code), done.error());
  HttpResponse response =
      jsonResponse(SubmitAnswer{.id = done->first, .isNew = done->second}, done->second ? 201 : 200);
  response.headers.emplace_back("Location", fmt::format("/v1/jobs/{}", done->first));
  return response;
}

HttpReply getJobs(const ApiContext &api, const ApiAsk &ask) {
  JobFilter filter{.phases = {},
                   .tenant = ask.text("tenant"),
                   .name = ask.text("name"),
                   .after = ask.integer("after"),
                   .limit = static_cast<size_t>(ask.integer("limit")),
                   .newestFirst = ask.text("newest") == "true"};
  filter.prefix = ask.text("prefix");
  SmallVector<StringRef> words;
  std::string phases = ask.text("phase");
  StringRef(phases).split(words, ',', -1, false);
  for (StringRef word : words)
    filter.phases.push_back(*jobPhase(word));
  auto jobs = api.scheduler.jobs(ask.caller, filter);
  if (!jobs)
    return failed(jobs);
  JobList list;
  if (jobs->size() >= filter.limit)
    list.next = jobs->back().job.id;
  for (JobView &view : *jobs)
    list.jobs.push_back(shownToReaders(std::move(view)));
  return jsonResponse(list);
}

HttpReply getJob(const ApiContext &api, const ApiAsk &ask) {
  if (ask.id() == 0)
    return unknown("job", ask.names[0]);
  auto job = api.scheduler.job(ask.caller, ask.id());
  return job ? jsonResponse(shownToReaders(std::move(*job))) : failed(job);
}

HttpReply deleteJob(const ApiContext &api, const ApiAsk &ask) {
  if (ask.id() == 0)
    return unknown("job", ask.names[0]);
  return answerOfChange(api.scheduler.cancel(ask.caller, ask.id(), ask.text("reason")));
}

HttpReply explainJob(const ApiContext &api, const ApiAsk &ask) {
  if (ask.id() == 0)
    return unknown("job", ask.names[0]);
  auto sentences = api.scheduler.explain(ask.caller, ask.id());
  return sentences ? jsonResponse(Explanation{std::move(*sentences)}) : failed(sentences);
}

HttpReply postProgress(const ApiContext &api, const ApiAsk &ask) {
  ProgressReport report;
  if (auto refusal = readBody(ask, report, Code::WrongProgress))
    return *refusal;
  if (report.samples < 0 && report.saved < 0)
    return errorResponse(400, {Error{Code::WrongProgress, "a report has 'samples' or 'saved'"}}, "samples");
  Result<void> done = api.scheduler.report(ask.token, report);
  if (!done && done.error().code == Code::NotAllowed)
    return errorResponse(401, {done.error()});
  return answerOf(done);
}

HttpReply postTuning(const ApiContext &api, const ApiAsk &ask) {
  TuningRecord tuning;
  if (auto refusal = readBody(ask, tuning, Code::WrongServiceRequest))
    return *refusal;
  auto id = api.scheduler.keepTuning(ask.caller, std::move(tuning));
  return id ? jsonResponse(TuningAnswer{*id}, 201) : failed(id);
}

HttpReply getTunings(const ApiContext &api, const ApiAsk &ask) {
  auto tunings = api.scheduler.tunings(ask.caller, ask.text("name"), static_cast<size_t>(ask.integer("limit")));
  return tunings ? jsonResponse(TuningList{std::move(*tunings)}) : failed(tunings);
}

HttpReply getTuning(const ApiContext &api, const ApiAsk &ask) {
  if (ask.id() == 0)
    return unknown("tuning", ask.names[0]);
  auto tuning = api.scheduler.tuning(ask.caller, ask.id());
  return tuning ? jsonResponse(*tuning) : failed(tuning);
}

HttpReply getRuns(const ApiContext &api, const ApiAsk &ask) {
  RunFilter filter{.from = ask.number("from_s"),
                   .until = ask.number("until_s"),
                   .job = ask.integer("job"),
                   .tenant = ask.text("tenant"),
                   .limit = static_cast<size_t>(ask.integer("limit"))};
  if (filter.from > filter.until)
    return errorResponse(400, {Error{Code::WrongServiceRequest, "'from_s' is after 'until_s'"}}, "from_s");
  auto runs = api.scheduler.runs(ask.caller, filter);
  return runs ? jsonResponse(RunList{std::move(*runs)}) : failed(runs);
}

HttpReply getCluster(const ApiContext &api, const ApiAsk &ask) {
  return jsonResponse(api.scheduler.cluster(ask.caller));
}

HttpReply getCaller(const ApiContext &, const ApiAsk &ask) { return jsonResponse(ask.caller); }

HttpReply getEvents(const ApiContext &api, const ApiAsk &ask) {
  EventWatch watch{.caller = ask.caller,
                   .token = ask.token,
                   .position = ask.integer("after"),
                   .streams = false,
                   .limit = static_cast<size_t>(ask.integer("limit")),
                   .wait = ask.number("wait_s")};
  auto events = api.scheduler.events(ask.caller, watch.position, watch.limit, std::chrono::milliseconds(0));
  if (!events)
    return failed(events);
  if (!events->empty() || watch.wait <= 0 || ask.http.method == "HEAD")
    return jsonResponse(EventList{std::move(*events)});
  return HttpOpen{
      .opened = [hub = &api.hub, watch](std::shared_ptr<HttpStream> stream) { hub->add(std::move(stream), watch); }};
}

HttpReply streamEvents(const ApiContext &api, const ApiAsk &ask) {
  EventWatch watch{.caller = ask.caller, .token = ask.token};
  std::string given(ask.http.header("last-event-id"));
  if (given.empty())
    given = ask.text("after");
  if (!given.empty() && (!parseWhole(given, watch.position) || watch.position < 0))
    return errorResponse(400,
                         {Error{Code::WrongServiceRequest, "header 'last-event-id' is not the number of an event"}},
                         "last-event-id");
  HttpResponse head{.type = "text/event-stream", .headers = {{"X-Accel-Buffering", "no"}}};
  if (ask.http.method == "HEAD")
    return head;
  return HttpOpen{
      .streams = true, .head = std::move(head), .opened = [hub = &api.hub, watch](std::shared_ptr<HttpStream> stream) {
        hub->add(std::move(stream), watch);
      }};
}

HttpReply drainNode(const ApiContext &api, const ApiAsk &ask) {
  DrainRequest request;
  if (!ask.http.body.empty())
    if (auto refusal = readBody(ask, request, Code::WrongServiceRequest))
      return *refusal;
  return answerOfChange(api.scheduler.drain(ask.caller, ask.names[0], true, request.reason));
}

HttpReply resumeNode(const ApiContext &api, const ApiAsk &ask) {
  DrainRequest request;
  if (!ask.http.body.empty())
    if (auto refusal = readBody(ask, request, Code::WrongServiceRequest))
      return *refusal;
  return answerOfChange(api.scheduler.drain(ask.caller, ask.names[0], false, request.reason));
}

HttpReply postToken(const ApiContext &api, const ApiAsk &ask) {
  TokenRequest request;
  if (auto refusal = readBody(ask, request, Code::WrongServiceRequest))
    return *refusal;
  auto token = api.scheduler.makeToken(ask.caller, request.of, request.expires);
  return token ? jsonResponse(TokenAnswer{*token}, 201) : failed(token);
}

HttpReply deleteToken(const ApiContext &api, const ApiAsk &ask) {
  return answerOfChange(api.scheduler.revokeToken(ask.caller, ask.names[0]));
}

HttpReply getMetrics(const ApiContext &api, const ApiAsk &) {
  return HttpResponse{.type = "text/plain; version=0.0.4; charset=utf-8",
                      .body = std::make_shared<std::string>(api.scheduler.metrics() + api.ownMetrics)};
}

HttpReply getHealth(const ApiContext &api, const ApiAsk &) {
  return jsonResponse(HealthAnswer{.version = kVersion, .needsToken = !api.scheduler.callerOf("")});
}

HttpReply getOpenApi(const ApiContext &, const ApiAsk &) {
  static const auto kText = std::make_shared<const std::string>(jsonText(openApiDocument()) + "\n");
  return HttpResponse{.body = kText};
}

const ApiParameter kLimit{"limit", Kind::Integer, "at most so many", 1000, "100"};

std::vector<ApiRoute> makeRoutes() {
  constexpr double kEnd = kMaxTime;
  return {
      {.method = "POST",
       .path = "/v1/jobs",
       .id = "submitJob",
       .about = "Takes a job in. With a key that a job of the tenant has, it is that one.",
       .request = schemaOf<Submission>,
       .answer = schemaOf<SubmitAnswer>,
       .status = 201,
       .handle = postJob},
      {.method = "GET",
       .path = "/v1/jobs",
       .id = "listJobs",
       .about = "Jobs that the token may see, by number.",
       .query = {{"phase", Kind::Phases, "of these phases, with commas between them"},
                 {"tenant", Kind::Text, "of this tenant"},
                 {"name", Kind::Text, "of this name"},
                 {"prefix", Kind::Text, "whose names begin with it"},
                 {"after", Kind::Integer, "numbers above it; with `newest` those below it", 9e15, "0"},
                 kLimit,
                 {"newest", Kind::Flag, "the newest first"}},
       .answer = schemaOf<JobList>,
       .handle = getJobs},
      {.method = "GET",
       .path = "/v1/jobs/{id}",
       .id = "getJob",
       .about = "A job with what the plan says of it.",
       .answer = schemaOf<JobView>,
       .handle = getJob},
      {.method = "DELETE",
       .path = "/v1/jobs/{id}",
       .id = "cancelJob",
       .about = "Cancels a job: it is told to save, and ends.",
       .query = {{"reason", Kind::Text, "why, for those who see the job"}},
       .status = 204,
       .type = "",
       .handle = deleteJob},
      {.method = "GET",
       .path = "/v1/jobs/{id}/explain",
       .id = "explainJob",
       .about = "What was decided of a job and why, what it waits for, its runs.",
       .answer = schemaOf<Explanation>,
       .handle = explainJob},
      {.method = "POST",
       .path = "/v1/progress",
       .id = "reportProgress",
       .about = "What a task says of itself, by the token in its environment.",
       .access = Access::Task,
       .request = schemaOf<ProgressReport>,
       .status = 204,
       .type = "",
       .handle = postProgress},
      {.method = "POST",
       .path = "/v1/tunings",
       .id = "keepTuning",
       .about = "Keeps the result of a tuning of hyper-parameters; the same one again is the first.",
       .request = schemaOf<TuningRecord>,
       .answer = schemaOf<TuningAnswer>,
       .status = 201,
       .handle = postTuning},
      {.method = "GET",
       .path = "/v1/tunings",
       .id = "listTunings",
       .about = "Results of tunings that the token may see, the newest first, without their documents.",
       .query = {{"name", Kind::Text, "of this name"}, kLimit},
       .answer = schemaOf<TuningList>,
       .handle = getTunings},
      {.method = "GET",
       .path = "/v1/tunings/{id}",
       .id = "getTuning",
       .about = "The result of a tuning with its document.",
       .answer = schemaOf<TuningRecord>,
       .handle = getTuning},
      {.method = "GET",
       .path = "/v1/runs",
       .id = "listRuns",
       .about = "Runs of the past, and those that are planned.",
       .query = {{"from_s", Kind::Number, "seconds since 1970", kEnd, "0"},
                 {"until_s", Kind::Number, "seconds since 1970", kEnd, "1000000000000"},
                 {"job", Kind::Integer, "of this job"},
                 {"tenant", Kind::Text, "of this tenant"},
                 {"limit", Kind::Integer, "at most so many", 10000, "1000"}},
       .answer = schemaOf<RunList>,
       .handle = getRuns},
      {.method = "GET",
       .path = "/v1/cluster",
       .id = "getCluster",
       .about = "Devices, nodes, tenants and the plan.",
       .answer = schemaOf<ClusterView>,
       .handle = getCluster},
      {.method = "GET",
       .path = "/v1/caller",
       .id = "getCaller",
       .about = "Whose the token is, and what it may do.",
       .answer = schemaOf<Caller>,
       .handle = getCaller},
      {.method = "GET",
       .path = "/v1/events",
       .id = "listEvents",
       .about = "Events above a number; waits for one if there is none.",
       .query = {{"after", Kind::Integer, "numbers above it", 9e15, "0"},
                 kLimit,
                 {"wait_s", Kind::Number, "seconds to wait for one", 60, "0"}},
       .answer = schemaOf<EventList>,
       .handle = getEvents},
      {.method = "GET",
       .path = "/v1/events/stream",
       .id = "streamEvents",
       .about =
           "Events as they happen (server-sent events): from `after` or the header Last-Event-ID on, else from now.",
       .query = {{"after", Kind::Integer, "numbers above it"}},
       .type = "text/event-stream",
       .handle = streamEvents},
      {.method = "POST",
       .path = "/v1/nodes/{name}/drain",
       .id = "drainNode",
       .about = "No new tasks on a node.",
       .request = schemaOf<DrainRequest>,
       .status = 204,
       .type = "",
       .handle = drainNode},
      {.method = "POST",
       .path = "/v1/nodes/{name}/resume",
       .id = "resumeNode",
       .about = "Tasks on a node again.",
       .request = schemaOf<DrainRequest>,
       .status = 204,
       .type = "",
       .handle = resumeNode},
      {.method = "POST",
       .path = "/v1/tokens",
       .id = "makeToken",
       .about = "Makes a token (operators alone).",
       .request = schemaOf<TokenRequest>,
       .answer = schemaOf<TokenAnswer>,
       .status = 201,
       .handle = postToken},
      {.method = "DELETE",
       .path = "/v1/tokens/{name}",
       .id = "revokeToken",
       .about = "Revokes a token.",
       .status = 204,
       .type = "",
       .handle = deleteToken},
      {.method = "GET",
       .path = "/v1/openapi.json",
       .id = "getDescription",
       .about = "This description.",
       .access = Access::Open,
       .handle = getOpenApi},
      {.method = "GET",
       .path = "/healthz",
       .id = "getHealth",
       .about = "Whether the process answers.",
       .access = Access::Open,
       .answer = schemaOf<HealthAnswer>,
       .handle = getHealth},
      {.method = "GET",
       .path = "/metrics",
       .id = "getMetrics",
       .about = "Numbers in the text format of Prometheus.",
       .access = Access::Metrics,
       .type = "text/plain",
       .handle = getMetrics},
  };
}

} // namespace

const std::vector<ApiRoute> &apiRoutes() {
  static const std::vector<ApiRoute> kRoutes = makeRoutes();
  return kRoutes;
}

std::vector<StringRef> segmentsOf(StringRef path) {
  SmallVector<StringRef> parts;
  path.split(parts, '/', -1, false);
  return {parts.begin(), parts.end()};
}

std::string ApiAsk::text(StringRef name) const {
  if (auto found = http.query.find(name.str()); found != http.query.end())
    return found->second;
  for (const ApiParameter &one : route->query)
    if (one.name == name)
      return one.initial.str();
  return "";
}
int64_t ApiAsk::integer(StringRef name) const {
  int64_t value = 0;
  parseWhole(text(name), value);
  return value;
}
double ApiAsk::number(StringRef name) const {
  double value = 0;
  parseWhole(text(name), value);
  return value;
}
int64_t ApiAsk::id() const {
  int64_t value = 0;
  return !names.empty() && parseWhole(names[0], value) && value > 0 ? value : 0;
}

HttpResponse jsonResponse(int status, const json::Value &value) {
  return {.status = status, .body = std::make_shared<std::string>(jsonLine(value) + "\n")};
}

/// The key that a message names: "'samples' is …", or "expected number at submission.samples". Empty: none.
static std::string keyOf(StringRef message) {
  for (StringRef root : {" at submission.", " at request."})
    if (auto [text, key] = message.rsplit(root); !key.empty())
      return key.str();
  if (!message.consume_front("'"))
    return "";
  StringRef key = message.take_until([](char c) { return c == '\''; });
  return all_of(key, [](char c) { return isAlnum(c) || c == '_' || c == '.'; }) ? key.str() : "";
}

HttpResponse errorResponse(int status, const Errors &errors, const std::string &key) {
  ErrorList list;
  for (const Error &error : errors)
    list.errors.push_back({.code = numberOf(error.code),
                           .message = error.message,
                           .key = key.empty() && status == 400 ? keyOf(error.message) : key});
  return jsonResponse(list, status);
}

int statusOf(Code code) {
  switch (code) {
  case Code::NotAllowed:
    return 403;
  case Code::NotServed:
    return 404;
  case Code::EngineFailed:
  case Code::StateFailed:
  case Code::SchedulerUnreachable:
    return 503;
  case Code::InternalError:
    return 500;
  default:
    return 400;
  }
}

std::optional<HttpResponse> refuseQuery(const ApiRoute &route, const HttpRequest &request) {
  for (const auto &[name, value] : request.query) {
    auto refused = [&, &name = name, &value = value](const std::string &allowed) {
      std::string message = fmt::format("'{}' of the query is '{}', allowed is {}", name, value.substr(0, 60), allowed);
      return errorResponse(400, {Error{Code::WrongServiceRequest, message}}, name);
    };
    const ApiParameter *known = nullptr;
    for (const ApiParameter &one : route.query)
      if (one.name == name)
        known = &one;
    if (!known)
      return errorResponse(400, {Error{Code::WrongServiceRequest, fmt::format("the query has no '{}'", name)}}, name);
    int64_t whole = 0;
    double number = 0;
    switch (known->kind) {
    case Kind::Integer:
      if (!parseWhole(value, whole) || whole < 0 || static_cast<double>(whole) > known->max ||
          (known->name == "limit" && whole == 0))
        return refused(fmt::format("a whole number from {} to {:.0f}", known->name == "limit" ? 1 : 0, known->max));
      break;
    case Kind::Number:
      if (!parseWhole(value, number) || !(number >= 0 && number <= known->max))
        return refused(fmt::format("a number from 0 to {:.0f}", known->max));
      break;
    case Kind::Flag:
      if (value != "true" && value != "false")
        return refused("true or false");
      break;
    case Kind::Phases: {
      SmallVector<StringRef> words;
      StringRef(value).split(words, ',', -1, true);
      for (StringRef word : words)
        if (!jobPhase(word))
          return refused("modelling, queued, running, stopping, complete, failed, cancelled, with commas between them");
      break;
    }
    case Kind::Text:
      if (value.size() > 200)
        return refused("a text of at most 200 bytes");
      break;
    }
  }
  return std::nullopt;
}

} // namespace accord::service
