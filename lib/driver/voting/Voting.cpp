#include "lib/driver/voting/Voting.h"
#include "lib/driver/AnswerFolder.h"
#include "lib/driver/Documents.h"
#include "lib/driver/ExitStatus.h"
#include "lib/support/CommandHost.h"
#include "lib/support/documents/JsonParse.h"
#include "lib/support/documents/JsonText.h"
#include "lib/voting/client/LoadGenerator.h"
#include "lib/voting/documents/VotingJson.h"
#include "lib/voting/server/MemberServer.h"
#include "lib/voting/server/VotingServer.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <csignal>
#include <fmt/format.h>

namespace accord {
namespace {
using namespace voting;

const DocumentEntry kEnsemble("ensemble", "ensemble.json of accord emit ensemble",
                              "Who votes in an ensemble that runs, how votes are counted, and when there is no answer: "
                              "what accord member and accord answer read.",
                              [] { return schemaOf<VotingConfig>(); });
const DocumentEntry kStatistics("voting_statistics", "GET /statistics of accord answer",
                                "What a voting server has answered so far, and what became of its members' votes.",
                                [] { return schemaOf<VotingStatistics>(); });
const DocumentEntry kAsk("ask", "accord ask --json",
                         "What was measured of an ensemble that runs: shares of wrong and of missing answers with "
                         "their limits, latencies in milliseconds.",
                         [] { return schemaOf<AskReport>(); });

/// An error of a place, or several, as the command line shows them.
int fail(const Errors &errors, const char *command, bool json = false) {
  auto text = [](const Error &error) {
    const SourceLocation &at = error.location;
    return at.line ? fmt::format("{}:{}:{}: {}", at.file, at.line, at.column, error.message) : error.message;
  };
  for (size_t i = 0; i + 1 < errors.size(); ++i)
    refuse(errors[i].code, text(errors[i]), false, command);
  return refuse(errors.back().code, text(errors.back()), json, command);
}

/// ensemble.json, or that of a folder. Nothing after a refusal.
std::optional<VotingConfig> readEnsembleFile(const std::string &path, const char *command) {
  const std::string file = llvm::sys::fs::is_directory(path) ? path + "/" + kEnsembleFile : path;
  auto text = readText(file, false, command);
  if (!text)
    return std::nullopt;
  auto config = readVotingConfig(*text, file);
  if (!config)
    return refused(config.error().code, config.error().message, false, command);
  return std::move(*config);
}

std::optional<VoteRows> readRows(const std::string &path, const char *command, bool json = false) {
  auto text = readText(path, json, command);
  if (!text)
    return std::nullopt;
  auto rows = readVoteRows(*text, path);
  if (rows)
    return std::move(*rows);
  fail(rows.error(), command, json);
  return std::nullopt;
}

struct ListenAddress {
  std::string address;
  int port = 0;
};
std::optional<ListenAddress> readListenAddress(llvm::StringRef text) {
  const auto [address, port] = text.rsplit(':');
  ListenAddress made{address.trim("[]").str()};
  if (address.empty() || port.getAsInteger(10, made.port) || made.port < 0 || made.port > 65535)
    return std::nullopt;
  return made;
}

std::string urlText(const ListenAddress &listen, int port) {
  const bool isSix = llvm::StringRef(listen.address).contains(':');
  return fmt::format("http://{}{}{}:{}", isSix ? "[" : "", listen.address, isSix ? "]" : "", port);
}

/// While it lives, SIGTERM and SIGINT end nothing but `wait`.
class EndSignals {
public:
  EndSignals() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGTERM), sigaddset(&set_, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
  }
  ~EndSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  /// Until one comes, or the program that embeds Accord wants the end.
  void wait() const {
    const timespec pause{.tv_sec = 0, .tv_nsec = 100'000'000};
    while (sigtimedwait(&set_, nullptr, &pause) < 0)
      if (const CommandHost *host = currentHost(); host && host->stop && host->stop())
        return;
  }

private:
  sigset_t set_, before_;
};

std::atomic<bool> theAskStop = false;
void stopAsking(int) { theAskStop = true; }

} // namespace

int serveMember(const MemberCommandOptions &options) {
  constexpr const char *kCommand = "member";
  auto config = readEnsembleFile(options.ensemble, kCommand);
  if (!config)
    return kWrongInput;
  std::vector<std::string> names;
  for (const VotingMember &one : config->members)
    names.push_back(one.name);
  const auto member = std::ranges::find(config->members, options.name, &VotingMember::name);
  if (member == config->members.end())
    return refuse(Code::UnknownName, fmt::format("ensemble '{}' has no member '{}'", config->name, options.name), false,
                  kCommand, nearest(options.name, names));
  for (const auto &[option, value] : {std::pair("--service-ms", options.constant),
                                      {"--service-median-ms", options.median},
                                      {"--service-sigma", options.sigma}})
    if (!(value >= 0 && value <= 3.6e6))
      return refuse(Code::BadCommandLine, fmt::format("{}: expected 0 to 3.6e6, found {}", option, value), false,
                    kCommand);
  for (const auto &[option, value] : {std::pair("--lost", options.lost), {"--changed", options.changed}})
    if (!(value >= 0 && value <= 1))
      return refuse(Code::BadCommandLine, fmt::format("{}: expected a share of 0 to 1, found {}", option, value), false,
                    kCommand);
  const std::string place = options.listen.empty() ? member->url.substr(sizeof("http://") - 1) : options.listen;
  const auto listen = readListenAddress(place);
  if (!listen)
    return refuse(Code::BadCommandLine, fmt::format("expected ADDRESS:PORT to listen at, found '{}'", place), false,
                  kCommand);
  if (options.votes.empty() == options.engine.empty())
    return refuse(
        Code::BadCommandLine,
        "what votes? Either --votes FILE.csv, a table from which a stub answers, or a program behind --, which "
        "reads inputs and writes votes, a line each",
        false, kCommand);
  EndSignals signals; // before any thread begins
  std::unique_ptr<VoteEngine> engine;
  if (!options.votes.empty()) {
    auto rows = readRows(options.votes, kCommand);
    if (!rows)
      return kWrongInput;
    const auto column = static_cast<size_t>(std::ranges::find(rows->members, options.name) - rows->members.begin());
    if (column == rows->members.size())
      return refuse(Code::UnknownName, fmt::format("table '{}' has no column '{}'", options.votes, options.name), false,
                    kCommand, nearest(options.name, rows->members));
    if (options.checks)
      return kDone;
    engine = makeStubEngine(std::move(*rows), column,
                            {.classes = config->classes,
                             .time = {options.constant, options.median, options.sigma},
                             .parallel = static_cast<size_t>(options.parallel),
                             .lost = options.lost,
                             .changed = options.changed,
                             .seed = static_cast<uint64_t>(options.seed)});
  } else {
    if (options.checks)
      return kDone;
    auto made = makeProcessEngine(options.engine);
    if (!made)
      return fail({made.error()}, kCommand);
    engine = std::move(*made);
  }
  auto server =
      MemberServer::start({.name = options.name, .address = listen->address, .port = listen->port}, std::move(engine));
  if (!server)
    return fail({server.error()}, kCommand);
  standardOutput() << fmt::format("member '{}' of '{}' votes at {}\n", options.name, config->name,
                                  urlText(*listen, (*server)->port()));
  standardOutput().flush();
  signals.wait();
  (*server)->stop();
  return kDone;
}

int serveAnswers(const AnswerCommandOptions &options) {
  constexpr const char *kCommand = "answer";
  auto config = readEnsembleFile(options.ensemble, kCommand);
  if (!config)
    return kWrongInput;
  const auto listen = readListenAddress(options.listen);
  if (!listen)
    return refuse(Code::BadCommandLine, fmt::format("--listen: expected ADDRESS:PORT, found '{}'", options.listen),
                  false, kCommand);
  if (options.checks) {
    standardOutput() << fmt::format("ensemble '{}': {} members, a quorum of {} of {}, {} ms\n", config->name,
                                    config->members.size(), config->quorum, config->totalWeight(), config->timeout);
    return kDone;
  }
  const std::string name = config->name;
  EndSignals signals; // before any thread begins
  auto server =
      VotingServer::start(std::move(*config), {.address = listen->address,
                                               .port = listen->port,
                                               .open = static_cast<size_t>(options.open),
                                               .connectionsPerMember = static_cast<size_t>(options.connections)});
  if (!server)
    return fail({server.error()}, kCommand);
  standardOutput() << fmt::format("ensemble '{}' answers at {}\n", name, urlText(*listen, (*server)->port()));
  standardOutput().flush();
  signals.wait();
  (*server)->stop();
  return kDone;
}

namespace {

/// Lines {"input": …, "truth": 3} of a file. Nothing after a refusal.
std::optional<std::vector<AskedInput>> readInputs(const AskCommandOptions &options) {
  auto text = readText(options.inputs, options.json, "ask");
  if (!text)
    return std::nullopt;
  std::vector<AskedInput> inputs;
  size_t number = 0;
  for (llvm::StringRef line : llvm::split(*text, '\n')) {
    ++number;
    if (line.trim().empty())
      continue;
    auto wrong = [&](size_t column, const std::string &message) {
      return refused(Code::WrongQualityFile, fmt::format("{}:{}:{}: {}", options.inputs, number, column, message),
                     options.json, "ask");
    };
    auto value = readJsonText(line);
    if (!value)
      return wrong(value.error().at + 1, value.error().message);
    const llvm::json::Object *object = value->getAsObject();
    const llvm::json::Value *input = object ? object->get("input") : nullptr;
    if (!input)
      return wrong(1, R"(expected {"input": …}, or {"input": …, "truth": LABEL})");
    AskedInput asked{.input = jsonLine(*input)};
    if (object->get("truth") && !(asked.truth = object->getInteger("truth")))
      return wrong(1, "expected a label, an integer, at 'truth'");
    inputs.push_back(std::move(asked));
  }
  if (inputs.empty())
    return refused(Code::WrongQualityFile, fmt::format("{}:1:1: there is no input in this file", options.inputs),
                   options.json, "ask");
  return inputs;
}

/// The ensemble.json of a voting server. Nothing after a refusal.
std::optional<VotingConfig> askForEnsemble(const service::HttpUrl &url, const AskCommandOptions &options) {
  auto answer = service::callHttp(url, {.method = "GET", .path = "/ensemble"}, {.pause = 5, .call = 10});
  if (!answer)
    return refused(Code::BadCommandLine,
                   fmt::format("the voting server at '{}' does not answer: {}", options.server, answer.error().message),
                   options.json, "ask");
  auto config = readVotingConfig(answer->body, options.server + "/ensemble");
  if (!config)
    return refused(config.error().code, config.error().message, options.json, "ask");
  return std::move(*config);
}

} // namespace

int ask(const AskCommandOptions &options) {
  auto wrong = [&](const std::string &message) { return refuse(Code::BadCommandLine, message, options.json, "ask"); };
  const auto url = service::httpUrlOf(options.server);
  if (!url || url->isEncrypted || !url->path.empty())
    return wrong(fmt::format("--server: expected http://HOST:PORT, found '{}'", options.server));
  if (!(options.rate >= 0 && options.rate <= 1e7))
    return wrong(fmt::format("--rate: expected 0 to 1e7 requests a second, found {}", options.rate));
  if (options.votes.empty() == options.inputs.empty())
    return wrong("what is asked? Either --votes FILE.csv, the table from which stubs answer, or --inputs FILE.jsonl, "
                 "a line {\"input\": …, \"truth\": LABEL} each");
  std::optional<VoteRows> rows;
  std::optional<std::vector<AskedInput>> inputs;
  if (!options.votes.empty())
    rows = readRows(options.votes, "ask", options.json);
  else
    inputs = readInputs(options);
  if (!rows && !inputs)
    return kWrongInput;
  const auto config = askForEnsemble(*url, options);
  if (!config)
    return kWrongInput;
  const auto seed = static_cast<uint64_t>(options.seed);
  auto inputOf = [&](int64_t id) -> AskedInput {
    if (inputs)
      return (*inputs)[static_cast<size_t>(id) % inputs->size()];
    const auto sample = static_cast<int64_t>(
        SplitMix(SplitMix(seed).next() + static_cast<uint64_t>(id)).below(static_cast<uint64_t>(rows->samples())));
    return {.input = std::to_string(sample), .truth = trueLabel(sample, config->classes)};
  };
  theAskStop = false;
  std::signal(SIGTERM, stopAsking);
  std::signal(SIGINT, stopAsking);
  auto report = generateLoad({.url = *url,
                              .requests = options.requests,
                              .connections = static_cast<size_t>(options.connections),
                              .rate = options.rate,
                              .seed = seed},
                             inputOf, theAskStop);
  std::signal(SIGTERM, SIG_DFL);
  std::signal(SIGINT, SIG_DFL);
  if (!report)
    return wrong(report.error().message);
  evaluate(*report, *config);
  if (options.json)
    standardOutput() << jsonText(toDocument(*report)) << "\n";
  else
    standardOutput() << askSummary(*report, TextStyle::of(standardOutput()));
  return report->failed > 0 ? kWrongInput : kDone;
}

} // namespace accord
