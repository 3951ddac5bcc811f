#include "lib/driver/tasks/Serve.h"
#include "lib/driver/ExitStatus.h"
#include "lib/driver/Workspace.h"
#include "lib/driver/service/ClusterDescription.h"
#include "lib/driver/service/TrainingModeller.h"
#include "lib/service/control/MakeEngine.h"
#include "lib/service/control/SchedulerProcess.h"
#include "lib/service/http/ServicePage.h"
#include "lib/support/CommandHost.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

namespace accord {
namespace {
using namespace service;

std::atomic<bool> theStop = false;
void stopServing(int) { theStop = true; }

struct Listen {
  std::string address;
  int port = 0;
};
std::optional<Listen> readListen(llvm::StringRef text) {
  const auto [address, port] = text.rsplit(':');
  Listen made{address.trim("[]").str(), 0};
  if (address.empty() || port.getAsInteger(10, made.port) || made.port < 0 || made.port > 65535)
    return std::nullopt;
  return made;
}

bool isLoopback(llvm::StringRef address) {
  return address == "localhost" || address == "::1" || address.starts_with("127.");
}

/// Where it is reached: by the name of this machine if it listens at all of its addresses, which nodes of a cluster
/// know.
std::string urlOf(const Listen &listen, int port, bool isSecure) {
  char name[256] = "";
  const bool isAny = listen.address == "0.0.0.0" || listen.address == "::";
  if (isAny && (gethostname(name, sizeof(name) - 1) != 0 || !name[0]))
    return urlOf({"localhost", port}, port, isSecure);
  const std::string host = isAny ? name : listen.address;
  return fmt::format("{}://{}:{}", isSecure ? "https" : "http",
                     llvm::StringRef(host).contains(':') ? "[" + host + "]" : host, port);
}

int fail(const Error &error) { return refuse(error.code, error.message, false, "serve", error.suggestion); }

/// The database of a state, and its folders.
class State {
  std::error_code error;

public:
  explicit State(const ServeOptions &how)
      : folder(std::filesystem::absolute(how.state, error)),
        database(how.database.empty() ? (folder / "state.db").string() : how.database), how(how) {}

  Result<std::unique_ptr<ServiceStore>> open() {
    if (std::error_code none; how.checks && how.database.empty() && !std::filesystem::exists(database, none))
      return Error{Code::StateFailed, fmt::format("there is no state '{}'", database)}; // it would make one
    if (!error)
      std::filesystem::create_directories(folder / "tasks", error);
    if (!error)
      std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
    if (error)
      return Error{Code::StateFailed, fmt::format("cannot make the folder '{}': {}", how.state, error.message())};
    return ServiceStore::open(database);
  }
  /// The first token is kept for whoever may read the folder, and said once.
  Result<void> keepToken(const std::string &token) const {
    const mode_t before = umask(077);
    std::ofstream file(tokenFile());
    file << token << "\n";
    file.close();
    umask(before);
    if (!file)
      return Error{Code::StateFailed, fmt::format("cannot write '{}'", tokenFile())};
    return {};
  }
  std::string tokenFile() const { return (folder / "operator.token").string(); }

  const std::filesystem::path folder;
  const std::string database;

private:
  const ServeOptions &how;
};

/// `accord.progress` is copied into the state, which nodes see, too: a folder for PYTHONPATH of tasks. Containers see
/// no folder but their own. Empty where there is none.
std::string pythonPath(const ServeOptions &how, const std::filesystem::path &folder) {
  if (how.engine != "local" && how.engine != "slurm")
    return "";
  const std::filesystem::path from = std::filesystem::path(catalogFolder()).parent_path() / "python" / "accord";
  const std::filesystem::path to = folder / "python";
  std::error_code error;
  std::filesystem::create_directories(to / "accord", error);
  for (const char *name : {"__init__.py", "progress.py"}) {
    const std::filesystem::path fresh = to / (std::string(name) + ".new");
    std::filesystem::copy_file(from / name, fresh, std::filesystem::copy_options::overwrite_existing, error);
    if (!error) // whole at any moment, for tasks that read it
      std::filesystem::rename(fresh, to / "accord" / name, error);
  }
  if (!std::filesystem::exists(to / "accord" / "progress.py", error)) {
    standardError() << fmt::format("note: tasks get no 'accord.progress', which is not in '{}'\n", from.string());
    return "";
  }
  const char *own = how.engine == "local" ? std::getenv("PYTHONPATH") : nullptr; // which its tasks have, too
  return to.string() + (own && *own ? fmt::format(":{}", own) : "");
}

/// What an engine is told beside what the command line says: the start of names of its tasks, a folder, and of the
/// machines that a description has, nodes for those that have none of their own.
Result<EngineOptions> engineOptions(const ServeOptions &how, const std::string &cluster,
                                    const std::filesystem::path &folder,
                                    const std::vector<std::pair<std::string, int64_t>> &servers) {
  EngineOptions options;
  for (const std::string &text : how.engineOptions) {
    const auto [key, value] = llvm::StringRef(text).split('=');
    if (key.empty() || !llvm::StringRef(text).contains('='))
      return Error{Code::BadCommandLine, fmt::format("--engine-option: expected KEY=VALUE, found '{}'", text)};
    options[key.str()] = value.str();
  }
  const auto kind = std::ranges::find(engineKinds(), how.engine, &EngineKind::name);
  auto knows = [&](const char *name) {
    return kind != engineKinds().end() && std::ranges::count(kind->options, name) > 0;
  };
  if (knows("prefix") && !options.contains("prefix"))
    options["prefix"] = SchedulerProcess::prefixOf(cluster);
  if (knows("folder") && !options.contains("folder"))
    options["folder"] = (folder / how.engine).string();
  if (knows("nodes") && !options.contains("nodes")) {
    std::string nodes;
    const size_t width = std::to_string(servers.size()).size(); // in the order of their names, as engines list them
    for (size_t i = 0; i < servers.size(); ++i)
      nodes += fmt::format("{}node{:0{}}={}:{}", i ? "," : "", i + 1, width, servers[i].first, servers[i].second);
    options["nodes"] = nodes;
  }
  return std::move(options);
}

int report(const Result<std::vector<std::string>> &found) {
  if (!found)
    return fail(found.error());
  for (const std::string &text : *found)
    standardError() << text << "\n";
  standardOutput() << (found->empty() ? "the state is sound\n" : "the state is damaged\n");
  return found->empty() ? kDone : kWrongInput;
}

} // namespace

int serve(const Options &options, const ServeOptions &how) {
  const auto listen = readListen(how.listen);
  if (!listen)
    return refuse(Code::BadCommandLine, fmt::format("--listen: expected ADDRESS:PORT, found '{}'", how.listen), false,
                  "serve");
  for (const auto &[option, seconds] : {std::pair("--interval", how.interval), {"--plan-limit", how.planLimit}})
    if (!(seconds >= 0.01 && seconds <= 3600))
      return refuse(Code::BadCommandLine, fmt::format("{}: expected 0.01 to 3600 s, found {}", option, seconds), false,
                    "serve");
  State state(how);
  if (!how.backup.empty()) {
    auto made = copyDatabase(state.database, how.backup);
    return made ? kDone : fail(made.error());
  }
  auto store = state.open();
  if (!store)
    return fail(store.error());
  if (how.checks)
    return report((*store)->check());
  ClusterDescription cluster;
  if (!options.file.empty()) {
    auto read = readClusterDescription(options);
    if (!read)
      return kWrongInput;
    cluster = std::move(*read);
  }
  SchedulerOptions scheduling;
  scheduling.cluster = how.name.empty() ? cluster.name : how.name;
  auto chosen = engineOptions(how, scheduling.cluster, state.folder, cluster.servers);
  if (!chosen)
    return fail(chosen.error());
  auto engine = makeEngine(how.engine, *chosen);
  if (!engine)
    return fail(engine.error());
  scheduling.operation = cluster.operation, scheduling.types = cluster.types;
  scheduling.watts = cluster.watts;
  scheduling.folder = (state.folder / "tasks").string();
  scheduling.pythonPath = pythonPath(how, state.folder);
  scheduling.interval = how.interval, scheduling.planLimit = how.planLimit;
  scheduling.planner.limits.effort = options.effort;
  scheduling.isOpen = how.isOpen;
  scheduling.operation.slot = how.period > 0 ? static_cast<double>(how.period) : cluster.operation.slot;
  const bool isSecure = !how.certificate.empty();
  ApiOptions api;
  api.http.address = listen->address, api.http.port = listen->port;
  api.http.certificate = how.certificate, api.http.key = how.key;
  api.hasOpenMetrics = how.hasOpenMetrics;
  api.page = servicePage();
  if (!how.url.empty()) // by which name browsers ask
    api.hosts.push_back(llvm::StringRef(how.url).split("://").second.split('/').first.rsplit(':').first.str());
  std::shared_ptr<JobModeller> modeller;
  if (!cluster.target.empty())
    modeller = trainingModeller(options, cluster, (state.folder / "submissions").string());
  auto process = SchedulerProcess::open(scheduling, std::move(*store), std::move(*engine), modeller);
  if (!process)
    return fail(process.error());
  auto token = (*process)->firstToken([&](const std::string &text) { return state.keepToken(text); });
  if (!token)
    return fail(token.error());
  auto server = ApiServer::start(**process, api);
  if (!server)
    return fail(server.error());
  const std::string url = how.url.empty() ? urlOf(*listen, (*server)->port(), isSecure) : how.url;
  (*process)->setUrl(url);
  if (how.engine == "kubernetes" && how.url.empty() && isLoopback(listen->address)) // they have no other way to report
    standardError() << fmt::format("note: tasks on other machines do not reach '{}': see --listen and --url\n", url);
  std::signal(SIGTERM, stopServing);
  std::signal(SIGINT, stopServing);
  std::signal(SIGPIPE, SIG_IGN);
  standardOutput() << fmt::format("accord serves '{}' by {} at {}\n", scheduling.cluster, how.engine, url);
  if (*token && !how.isOpen)
    standardOutput() << fmt::format(
        "the token of its operator is in {0}: export ACCORD_SERVER={1} ACCORD_TOKEN=$(cat {0})\n", state.tokenFile(),
        url);
  standardOutput().flush();
  (*process)->run(theStop);
  (*server)->stop();
  return kDone;
}

} // namespace accord
