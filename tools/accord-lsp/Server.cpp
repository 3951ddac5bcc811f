#include "tools/accord-lsp/Server.h"
#include "lib/driver/Workspace.h"
#include "lib/editor/Outline.h"
#include "lib/support/Version.h"
#include "tools/accord-lsp/Convert.h"

namespace accord::editor {
namespace {
namespace json = llvm::json;
using llvm::lsp::ErrorCode;

json::Value semanticLegend() {
  json::Array kinds;
  for (const char *name : tokenKindNames())
    kinds.push_back(name);
  return json::Object{{"tokenTypes", std::move(kinds)}, {"tokenModifiers", {"declaration"}}};
}

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
  void (Server::*later)(const Object &, Reply) = nullptr;

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
    if (later)
      return (server.*later)(object ? *object : none, std::move(reply));
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
  request("textDocument/definition", &Server::definition);
  request("textDocument/references", &Server::references);
  request("textDocument/documentHighlight", &Server::highlights);
  request("textDocument/prepareRename", &Server::prepareRename);
  request("textDocument/rename", &Server::rename);
  request("textDocument/formatting", &Server::formatting);
  request("textDocument/documentSymbol", &Server::documentSymbols);
  request("textDocument/foldingRange", &Server::foldingRanges);
  request("textDocument/semanticTokens/full", &Server::semanticTokens);
  request("textDocument/codeAction", &Server::codeActions);
  request("textDocument/codeLens", &Server::codeLenses);
  laterRequest("textDocument/inlayHint", &Server::inlayHints);
  laterRequest("workspace/executeCommand", &Server::executeCommand);
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

Server::~Server() {
  ending = true;
  background.reset();
  for (std::thread &one : planners)
    one.join();
}

void Server::request(llvm::StringLiteral method, Answer (Server::*answer)(const Object &)) {
  routes.push_back(std::make_unique<Route>(Route{*this, method, answer}));
  handler.method(method, routes.back().get(), &Route::call);
}

void Server::laterRequest(llvm::StringLiteral method, void (Server::*answer)(const Object &, Reply)) {
  routes.push_back(std::make_unique<Route>(Route{*this, method, nullptr, nullptr, answer}));
  handler.method(method, routes.back().get(), &Route::call);
}

void Server::notification(llvm::StringLiteral method, void (Server::*take)(const Object &)) {
  routes.push_back(std::make_unique<Route>(Route{*this, method, nullptr, take}));
  handler.notification(method, routes.back().get(), &Route::notify);
}

int Server::run() {
  ParseMemory::Use use(memory);
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
    kept.snapshot.reset(); // its trees are taken over
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

void Server::publish(const std::string &path, const Background::Findings &found) {
  std::set<std::string> paths{path};
  {
    std::lock_guard<std::mutex> alone(findingsGuard);
    Background::Findings &kept = findings[path];
    for (const auto &[file, list] : kept)
      paths.insert(file);
    for (const auto &[file, list] : found)
      paths.insert(file);
    kept = found;
    if (found.empty())
      findings.erase(path);
  }
  publishFindings(paths);
}

/// Diagnostics of a file are those that were found from any file that is open.
void Server::publishFindings(const std::set<std::string> &paths) {
  for (const std::string &path : paths) {
    json::Array list;
    std::set<std::string> told;
    for (const Finding &one : findingsOf(path)) {
      json::Value value = toJson(one);
      if (told.insert(llvm::debugString(value)).second)
        list.push_back(std::move(value));
    }
    publishDiagnostics({Object{{"uri", uriOfPath(path)}, {"diagnostics", std::move(list)}}});
  }
}

std::vector<Finding> Server::findingsOf(const std::string &path) {
  std::lock_guard<std::mutex> alone(findingsGuard);
  std::vector<Finding> all;
  for (const auto &[from, found] : findings)
    if (auto there = found.find(path); there != found.end())
      all.insert(all.end(), there->second.begin(), there->second.end());
  if (auto there = conflicts.find(path); there != conflicts.end())
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
                              {"hoverProvider", true},
                              {"definitionProvider", true},
                              {"referencesProvider", true},
                              {"documentHighlightProvider", true},
                              {"renameProvider", Object{{"prepareProvider", true}}},
                              {"documentFormattingProvider", true},
                              {"documentSymbolProvider", true},
                              {"foldingRangeProvider", true},
                              {"inlayHintProvider", true},
                              {"codeActionProvider", Object{{"codeActionKinds", {"quickfix"}}}},
                              {"codeLensProvider", Object{}},
                              {"executeCommandProvider", Object{{"commands", {"accord.plan"}}}},
                              {"semanticTokensProvider", Object{{"legend", semanticLegend()}, {"full", true}}}}}};
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
  {
    std::lock_guard<std::mutex> alone(findingsGuard);
    conflicts.erase(*path); // of another text
  }
  look();
}

void Server::didClose(const Object &parameters) {
  const Object *document = parameters.getObject("textDocument");
  std::optional<llvm::StringRef> uri = document ? document->getString("uri") : std::nullopt;
  if (std::optional<std::string> path = uri ? pathOfUri(*uri) : std::nullopt) {
    open.close(*path);
    snapshots.erase(*path);
    memory.forget(*path);
    publish(*path, {});
    look();
  }
}

} // namespace accord::editor
