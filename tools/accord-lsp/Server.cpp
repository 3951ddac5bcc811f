#include "tools/accord-lsp/Server.h"
#include "lib/driver/Workspace.h"
#include "lib/editor/Complete.h"
#include "lib/editor/Hover.h"
#include "lib/support/Version.h"
#include "tools/accord-lsp/Convert.h"

namespace accord::editor {
namespace {
namespace json = llvm::json;
using llvm::lsp::ErrorCode;

llvm::Error error(const std::string &message, ErrorCode code) {
  return llvm::make_error<llvm::lsp::LSPError>(message, code);
}

} // namespace

bool fromJSON(const json::Value &value, Parameters &result, json::Path) {
  result.value = value;
  return true;
}

/// What one method calls. Requests are refused before `initialize` and after `shutdown`, and where they are withdrawn.
struct Server::Route {
  Server &server;
  llvm::StringLiteral method;
  Answer (Server::*answer)(const Object &) = nullptr;
  void (Server::*take)(const Object &) = nullptr;

  void call(const Parameters &parameters, Reply reply) {
    const std::string id = server.requests.current;
    bool starts = method == "initialize";
    if (server.state == State::New ? !starts : starts)
      return reply(error(starts ? "the server is initialized already" : "the server is not initialized",
                         starts ? ErrorCode::InvalidRequest : ErrorCode::ServerNotInitialized));
    if (server.state == State::Ending)
      return reply(error("the server is shut down", ErrorCode::InvalidRequest));
    if (server.requests.isCancelled(id)) {
      server.requests.forget(id);
      return reply(error("the request was withdrawn", ErrorCode::RequestCancelled));
    }
    static const Object none;
    const Object *object = parameters.value.getAsObject();
    reply((server.*answer)(object ? *object : none));
    server.requests.forget(id);
  }
  void notify(const Parameters &parameters) {
    const Object *object = parameters.value.getAsObject();
    if (server.state == State::Running && object)
      (server.*take)(*object);
  }
};

Server::Server(llvm::lsp::JSONTransport &transport, Requests &requests)
    : transport(transport), handler(transport), requests(requests), catalog(catalogFolder()) {
  publishDiagnostics = handler.outgoingNotification<Parameters>("textDocument/publishDiagnostics");
  request("initialize", &Server::initialize);
  request("shutdown", &Server::shutdown);
  request("textDocument/completion", &Server::completion);
  request("textDocument/hover", &Server::hover);
  notification("textDocument/didOpen", &Server::didOpen);
  notification("textDocument/didChange", &Server::didChange);
  notification("textDocument/didClose", &Server::didClose);
  for (llvm::StringLiteral method :
       {llvm::StringLiteral("initialized"), llvm::StringLiteral("textDocument/didSave"),
        llvm::StringLiteral("workspace/didChangeConfiguration"), llvm::StringLiteral("workspace/didChangeWatchedFiles"),
        llvm::StringLiteral("$/setTrace")})
    notification(method, &Server::ignore);
  background = std::make_unique<Background>(
      [this](const std::string &path, const Background::Findings &found) { publish(path, found); });
}

Server::~Server() = default;

void Server::request(llvm::StringLiteral method, Answer (Server::*answer)(const Object &)) {
  routes.push_back(std::make_unique<Route>(Route{*this, method, answer}));
  handler.method(method, routes.back().get(), &Route::call);
}

void Server::notification(llvm::StringLiteral method, void (Server::*take)(const Object &)) {
  routes.push_back(std::make_unique<Route>(Route{*this, method, nullptr, take}));
  handler.notification(method, routes.back().get(), &Route::notify);
}

int Server::run() {
  llvm::Error broken = transport.run(handler);
  bool failed = static_cast<bool>(broken);
  llvm::consumeError(std::move(broken));
  return state == State::Ending && !failed ? 0 : 1;
}

llvm::Expected<Server::Subject> Server::subjectOf(const Object &parameters, bool position) {
  const Object *document = parameters.getObject("textDocument");
  std::optional<llvm::StringRef> uri = document ? document->getString("uri") : std::nullopt;
  std::optional<std::string> path = uri ? pathOfUri(*uri) : std::nullopt;
  if (!path)
    return error("textDocument.uri is no file", ErrorCode::InvalidParams);
  Subject subject{*path, open.find(*path), 0, nullptr};
  if (!subject.file)
    return error("'" + *path + "' is not open", ErrorCode::InvalidParams);
  subject.lines = std::make_unique<LineTable>(subject.file->text);
  if (!position)
    return subject;
  auto place = positionOf(parameters.get("position"));
  if (!place)
    return error("position is none", ErrorCode::InvalidParams);
  subject.offset = subject.lines->offset(*place);
  return subject;
}

Snapshot &Server::snapshotOf(const std::string &path) {
  Kept &kept = snapshots[path];
  if (!kept.snapshot || kept.generation != open.generation()) {
    kept.snapshot = std::make_unique<Snapshot>(open, path, catalog);
    kept.generation = open.generation();
  }
  return *kept.snapshot;
}

Snapshot *Server::lastSnapshotOf(const std::string &path) {
  auto found = snapshots.find(path);
  return found == snapshots.end() ? nullptr : found->second.snapshot.get();
}

void Server::look() {
  std::set<std::string> paths;
  for (const auto &[real, file] : open.files())
    paths.insert(file.path);
  background->look(open, paths);
}

/// Diagnostics of a file are those that were found from any file that is open.
void Server::publish(const std::string &path, const Background::Findings &found) {
  std::map<std::string, json::Array> lists;
  {
    std::lock_guard<std::mutex> alone(findingsGuard);
    Background::Findings &kept = findings[path];
    for (const Background::Findings *all : {static_cast<const Background::Findings *>(&kept), &found})
      for (const auto &[file, list] : *all)
        lists.try_emplace(file);
    lists.try_emplace(path);
    kept = found;
    for (auto &[file, list] : lists) {
      std::set<std::string> told;
      for (const auto &[from, all] : findings)
        if (auto there = all.find(file); there != all.end())
          for (const Finding &one : there->second) {
            json::Value value = toJson(one);
            if (told.insert(llvm::debugString(value)).second)
              list.push_back(std::move(value));
          }
    }
    if (found.empty())
      findings.erase(path);
  }
  for (auto &[file, list] : lists)
    publishDiagnostics({json::Object{{"uri", uriOfPath(file)}, {"diagnostics", std::move(list)}}});
}

std::vector<Finding> Server::findingsOf(const std::string &path) {
  std::lock_guard<std::mutex> alone(findingsGuard);
  std::vector<Finding> all;
  for (const auto &[from, found] : findings)
    if (auto there = found.find(path); there != found.end())
      all.insert(all.end(), there->second.begin(), there->second.end());
  return all;
}

Server::Answer Server::initialize(const Object &parameters) {
  const Object *at = &parameters;
  for (const char *key : {"capabilities", "textDocument", "completion", "completionItem"})
    at = at ? at->getObject(key) : nullptr;
  snippets = at && at->getBoolean("snippetSupport").value_or(false);
  state = State::Running;
  return Object{
      {"serverInfo", Object{{"name", "accord-lsp"}, {"version", kVersion}}},
      {"capabilities", Object{{"textDocumentSync", Object{{"openClose", true}, {"change", 2}}},
                              {"completionProvider", Object{{"triggerCharacters", {"=", ":", "(", "\"", " ", "/"}}}},
                              {"hoverProvider", true}}}};
}

Server::Answer Server::shutdown(const Object &) {
  state = State::Ending;
  return nullptr;
}

void Server::didOpen(const Object &parameters) {
  const Object *document = parameters.getObject("textDocument");
  std::optional<llvm::StringRef> uri = document ? document->getString("uri") : std::nullopt,
                                 text = document ? document->getString("text") : std::nullopt;
  std::optional<std::string> path = uri ? pathOfUri(*uri) : std::nullopt;
  if (!path || !text)
    return llvm::lsp::Logger::error("didOpen without a file or its text");
  open.open(*path, text->str(), document->getInteger("version").value_or(0));
  look();
}

void Server::didChange(const Object &parameters) {
  const Object *document = parameters.getObject("textDocument");
  const json::Array *list = parameters.getArray("contentChanges");
  std::optional<llvm::StringRef> uri = document ? document->getString("uri") : std::nullopt;
  std::optional<std::string> path = uri ? pathOfUri(*uri) : std::nullopt;
  auto changes = list ? changesOf(*list) : std::nullopt;
  if (!path || !changes || !open.change(*path, *changes, document->getInteger("version").value_or(0)))
    return llvm::lsp::Logger::error("didChange of a file that is not open, or that is none");
  look();
}

void Server::didClose(const Object &parameters) {
  const Object *document = parameters.getObject("textDocument");
  std::optional<llvm::StringRef> uri = document ? document->getString("uri") : std::nullopt;
  if (std::optional<std::string> path = uri ? pathOfUri(*uri) : std::nullopt) {
    open.close(*path);
    snapshots.erase(*path);
    publish(*path, {});
    look();
  }
}

Server::Answer Server::completion(const Object &parameters) {
  auto subject = subjectOf(parameters, true);
  if (!subject)
    return subject.takeError();
  // Names of the last moment at which the file was read are good enough while a word is typed.
  Snapshot *last = lastSnapshotOf(subject->path);
  Snapshot &snapshot = last ? *last : snapshotOf(subject->path);
  llvm::StringRef text = subject->file->text;
  Proposals proposals = complete(text, subject->path, subject->offset, snapshot);
  json::Value range = toJson(*subject->lines, proposals.begin, proposals.end);
  json::Array items;
  for (const Proposal &one : proposals.all)
    items.push_back(toJson(one, items.size(), range, text, *subject->lines, snippets));
  return Object{{"isIncomplete", false}, {"items", std::move(items)}};
}

Server::Answer Server::hover(const Object &parameters) {
  auto subject = subjectOf(parameters, true);
  if (!subject)
    return subject.takeError();
  Explanation explained = explainAt(snapshotOf(subject->path), subject->offset, findingsOf(subject->path));
  if (explained.markdown.empty())
    return nullptr;
  Object answer{{"contents", toMarkdown(explained.markdown)}};
  if (explained.range.end > explained.range.begin)
    answer["range"] = toJson(*subject->lines, explained.range.begin, explained.range.end);
  return answer;
}

} // namespace accord::editor
