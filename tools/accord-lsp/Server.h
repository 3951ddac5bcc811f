// The requests and notifications of the language server protocol, each answered by a call of lib/editor.
#pragma once
#include "lib/editor/Snapshot.h"
#include "lib/language/syntax/ParseMemory.h"
#include "tools/accord-lsp/Background.h"
#include "tools/accord-lsp/MessageQueue.h"
#include "llvm/Support/LSP/Transport.h"

namespace accord::editor {

/// Parameters of a message, as they are.
struct Parameters {
  llvm::json::Value value = nullptr;
};
bool fromJSON(const llvm::json::Value &value, Parameters &result, llvm::json::Path path);
inline llvm::json::Value toJSON(const Parameters &parameters) { return parameters.value; }

class Server {
public:
  Server(llvm::lsp::JSONTransport &transport, Requests &requests);
  ~Server();

  /// Answers until the editor says exit or goes away. Returns 0 where it said before that it would shut down, else 1.
  int run();

private:
  using Reply = llvm::lsp::Callback<llvm::json::Value>;
  using Answer = llvm::Expected<llvm::json::Value>;
  using Object = llvm::json::Object;
  /// An open document that a request is about, and the byte of its position, if it has one.
  struct Subject {
    std::string path;
    const OpenFiles::File *file = nullptr;
    uint32_t offset = 0;
    std::unique_ptr<LineTable> lines;
  };
  struct Route;

  void request(llvm::StringLiteral method, Answer (Server::*answer)(const Object &parameters));
  /// A request that is answered later, from another thread.
  void laterRequest(llvm::StringLiteral method, void (Server::*answer)(const Object &parameters, Reply reply));
  void notification(llvm::StringLiteral method, void (Server::*take)(const Object &parameters));
  llvm::Expected<Subject> subjectOf(const Object &parameters, bool position);
  /// What was read of a file after the last change of any; made at the first question.
  Snapshot &snapshotOf(const std::string &path);
  /// The last one that was made, however old; null: there is none yet.
  Snapshot *lastSnapshotOf(const std::string &path);
  void look();
  void publish(const std::string &path, const Background::Findings &findings);
  std::vector<Finding> findingsOf(const std::string &path);
  /// Documents that are open, besides one.
  std::vector<std::string> otherPaths(const std::string &path) const;
  /// Tells the editor what was found in these files.
  void publishFindings(const std::set<std::string> &paths);

  Answer initialize(const Object &parameters);
  Answer shutdown(const Object &parameters);
  Answer completion(const Object &parameters);
  Answer hover(const Object &parameters);
  Answer definition(const Object &parameters);
  Answer references(const Object &parameters);
  Answer highlights(const Object &parameters);
  Answer prepareRename(const Object &parameters);
  Answer rename(const Object &parameters);
  Answer formatting(const Object &parameters);
  Answer documentSymbols(const Object &parameters);
  Answer foldingRanges(const Object &parameters);
  Answer semanticTokens(const Object &parameters);
  Answer codeActions(const Object &parameters);
  Answer codeLenses(const Object &parameters);
  void inlayHints(const Object &parameters, Reply reply);
  void executeCommand(const Object &parameters, Reply reply);
  void didOpen(const Object &parameters);
  void didChange(const Object &parameters);
  void didClose(const Object &parameters);
  void ignore(const Object &) {}

  llvm::lsp::JSONTransport &transport;
  llvm::lsp::MessageHandler handler;
  Requests &requests;
  std::vector<std::unique_ptr<Route>> routes;
  llvm::lsp::OutgoingNotification<Parameters> publishDiagnostics;
  enum class State : uint8_t { New, Running, Ending } state = State::New;
  bool snippets = false;

  std::string catalog;
  OpenFiles open;
  ParseMemory memory; ///< of the thread that answers
  struct Kept {
    uint64_t generation = 0;
    std::unique_ptr<Snapshot> snapshot;
  };
  std::map<std::string, Kept> snapshots;
  std::mutex findingsGuard;
  /// By the file that was looked at, then by the file that they are in.
  std::map<std::string, Background::Findings> findings;
  std::map<std::string, std::vector<Finding>> conflicts; ///< of plans, by file; guarded like findings
  std::vector<std::thread> planners;
  std::atomic<bool> ending = false;
  std::unique_ptr<Background> background; // last: its thread uses all the others
};

} // namespace accord::editor
