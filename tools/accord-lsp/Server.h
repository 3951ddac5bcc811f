// The requests and notifications of the language server protocol, each answered by a call of lib/editor.
#pragma once
#include "lib/editor/Snapshot.h"
#include "lib/language/syntax/ParseMemory.h"
#include "tools/accord-lsp/Background.h"
#include "tools/accord-lsp/Connection.h"
#include "llvm/ADT/StringMap.h"

namespace accord::editor {

class Server {
public:
  explicit Server(Connection &connection);
  ~Server();

  /// Answers until the editor says exit or goes away. Returns 0 where it said before that it would shut down, else 1.
  int run();

private:
  using Answer = llvm::Expected<JsonText>;
  using Reply = llvm::unique_function<void(Answer)>;
  using Object = llvm::json::Object;
  /// An open document that a request is about, and the byte of its position, if it has one.
  struct Subject {
    std::string path;
    const OpenFiles::File *file = nullptr;
    uint32_t offset = 0;
    std::unique_ptr<LineTable> lines;
  };
  /// What one method calls: one of the three.
  struct Route {
    Answer (Server::*answer)(const Object &parameters) = nullptr;
    void (Server::*take)(const Object &parameters) = nullptr; ///< of a notification
    /// A request that is answered later, from another thread.
    void (Server::*later)(const Object &parameters, Reply reply) = nullptr;
  };

  /// Answers a request, or says why not: before `initialize`, after `shutdown`, and where it was withdrawn.
  void call(const Connection::Message &message);
  llvm::Expected<Subject> subjectOf(const Object &parameters, bool position);
  /// What was read of a file after the last change of any; made at the first question.
  Snapshot &snapshotOf(const std::string &path);
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
  Answer rangeFormatting(const Object &parameters);
  Answer selectionRanges(const Object &parameters);
  Answer signatureHelp(const Object &parameters);
  Answer workspaceSymbols(const Object &parameters);
  Answer documentSymbols(const Object &parameters);
  Answer foldingRanges(const Object &parameters);
  Answer semanticTokens(const Object &parameters);
  Answer semanticTokenChanges(const Object &parameters);
  Answer semanticTokensOfRange(const Object &parameters);
  Answer codeActions(const Object &parameters);
  Answer codeLenses(const Object &parameters);
  void inlayHints(const Object &parameters, Reply reply);
  void executeCommand(const Object &parameters, Reply reply);
  void didOpen(const Object &parameters);
  void didChange(const Object &parameters);
  void didClose(const Object &parameters);
  void ignore(const Object &) {}

  Connection &connection;
  Requests &requests;
  llvm::StringMap<Route> routes;
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
  /// The colours that an editor has of a file, as the protocol writes them.
  struct SentTokens {
    std::string id;
    std::vector<uint32_t> data;
  };
  std::map<std::string, SentTokens> sentTokens;
  uint64_t numTokenAnswers = 0;
  std::mutex findingsGuard;
  /// By the file that was looked at, then by the file that they are in.
  std::map<std::string, Background::Findings> findings;
  std::map<std::string, std::vector<Finding>> conflicts; ///< of plans, by file; guarded like findings
  std::vector<std::thread> planners;
  std::atomic<bool> ending = false;
  std::unique_ptr<Background> background; // last: its thread uses all the others
};

} // namespace accord::editor
