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

Server::Server(Connection &connection)
    : connection(connection), requests(connection.requests()), catalog(catalogFolder()) {
  const std::pair<const char *, Answer (Server::*)(const Object &)> answered[] = {
      {"initialize", &Server::initialize},
      {"shutdown", &Server::shutdown},
      {"textDocument/completion", &Server::completion},
      {"textDocument/hover", &Server::hover},
      {"textDocument/signatureHelp", &Server::signatureHelp},
      {"textDocument/definition", &Server::definition},
      {"textDocument/references", &Server::references},
      {"textDocument/documentHighlight", &Server::highlights},
      {"textDocument/prepareRename", &Server::prepareRename},
      {"textDocument/rename", &Server::rename},
      {"textDocument/formatting", &Server::formatting},
      {"textDocument/rangeFormatting", &Server::rangeFormatting},
      {"textDocument/documentSymbol", &Server::documentSymbols},
      {"textDocument/foldingRange", &Server::foldingRanges},
      {"textDocument/selectionRange", &Server::selectionRanges},
      {"textDocument/semanticTokens/full", &Server::semanticTokens},
      {"textDocument/semanticTokens/full/delta", &Server::semanticTokenChanges},
      {"textDocument/semanticTokens/range", &Server::semanticTokensOfRange},
      {"textDocument/codeAction", &Server::codeActions},
      {"textDocument/codeLens", &Server::codeLenses},
      {"workspace/symbol", &Server::workspaceSymbols}};
  for (const auto &[method, answer] : answered)
    routes[method].answer = answer;
  routes["textDocument/inlayHint"].later = &Server::inlayHints;
  routes["workspace/executeCommand"].later = &Server::executeCommand;
  routes["textDocument/didOpen"].take = &Server::didOpen;
  routes["textDocument/didChange"].take = &Server::didChange;
  routes["textDocument/didClose"].take = &Server::didClose;
  for (const char *method : {"initialized", "textDocument/didSave", "workspace/didChangeConfiguration",
                             "workspace/didChangeWatchedFiles", "$/setTrace"})
    routes[method].take = &Server::ignore;
  background = std::make_unique<Background>(
      [this](const std::string &path, const Background::Findings &found) { publish(path, found); });
}

Server::~Server() {
  ending = true;
  background.reset();
  for (std::thread &one : planners)
    one.join();
}

int Server::run() {
  ParseMemory::Use use(memory);
  while (auto message = connection.take()) {
    if (message->method == "exit")
      return state == State::Ending ? 0 : 1;
    if (!message->id.empty()) {
      call(*message);
      continue;
    }
    auto route = routes.find(message->method);
    const Object *parameters = message->parameters.getAsObject();
    if (route != routes.end() && route->second.take && state == State::Running && parameters)
      (this->*route->second.take)(*parameters);
  }
  return 1; // the editor went away
}

void Server::call(const Connection::Message &message) {
  const std::string &id = message.id, &method = message.method;
  auto reply = [this, id](Answer answer) { connection.reply(id, std::move(answer)); };
  auto route = routes.find(method);
  if (route == routes.end() || route->second.take)
    return reply(error("the method '" + method + "' is not known", ErrorCode::MethodNotFound));
  bool starts = method == "initialize";
  if (state == State::New ? !starts : starts)
    return reply(error(starts ? "the server is initialized already" : "the server is not initialized",
                       starts ? ErrorCode::InvalidRequest : ErrorCode::ServerNotInitialized));
  if (state == State::Ending)
    return reply(error("the server is shut down", ErrorCode::InvalidRequest));
  if (requests.isCancelled(id)) {
    requests.forget(id);
    return reply(error("the request was withdrawn", ErrorCode::RequestCancelled));
  }
  static const Object none;
  const Object *object = message.parameters.getAsObject();
  if (route->second.later)
    return (this->*route->second.later)(object ? *object : none, reply);
  reply((this->*route->second.answer)(object ? *object : none));
  requests.forget(id);
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
    connection.notify("textDocument/publishDiagnostics",
                      Object{{"uri", uriOfPath(path)}, {"diagnostics", std::move(list)}});
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
  return Object{{"serverInfo", Object{{"name", "accord-lsp"}, {"version", kVersion}}},
                {"capabilities",
                 Object{{"textDocumentSync", Object{{"openClose", true}, {"change", 2}}},
                        {"completionProvider", Object{{"triggerCharacters", {"=", ":", "(", "\"", " ", "/"}}}},
                        {"hoverProvider", true},
                        {"definitionProvider", true},
                        {"referencesProvider", true},
                        {"documentHighlightProvider", true},
                        {"renameProvider", Object{{"prepareProvider", true}}},
                        {"documentFormattingProvider", true},
                        {"documentRangeFormattingProvider", true},
                        {"selectionRangeProvider", true},
                        {"signatureHelpProvider", Object{{"triggerCharacters", {"(", ","}}}},
                        {"workspaceSymbolProvider", true},
                        {"documentSymbolProvider", true},
                        {"foldingRangeProvider", true},
                        {"inlayHintProvider", true},
                        {"codeActionProvider", Object{{"codeActionKinds", {"quickfix"}}}},
                        {"codeLensProvider", Object{}},
                        {"executeCommandProvider", Object{{"commands", {"accord.plan"}}}},
                        {"semanticTokensProvider",
                         Object{{"legend", semanticLegend()}, {"full", Object{{"delta", true}}}, {"range", true}}}}}};
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
    sentTokens.erase(*path);
    publish(*path, {});
    look();
  }
}

} // namespace accord::editor
