// accord-lsp: what editors ask about .accel and .dnn files, answered on standard input and output in the language
// server protocol.
#include "lib/support/Version.h"
#include "tools/accord-lsp/Connection.h"
#include "tools/accord-lsp/Server.h"
#include "llvm/Support/LSP/Logging.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

int main(int argc, char **argv) {
  llvm::StringRef option = argc > 1 ? argv[1] : "";
  if (option == "--version" || option == "--help") {
    llvm::outs() << (option == "--version" ? "accord-lsp " + std::string(accord::kVersion) + "\n"
                                           : "Language server of .accel and .dnn files: an editor starts it and speaks "
                                             "to it on standard input and output.\n"
                                             "usage: accord-lsp [--log | --version | --help]\n");
    return 0;
  }
  // --stdio is what editors say by custom.
  if (argc > 2 || (!option.empty() && option != "--stdio" && option != "--log")) {
    llvm::errs() << "accord-lsp: error[A0801]: '" << argv[argc - 1]
                 << "' was not expected\n  help: see accord-lsp --help\n";
    return 1;
  }
  llvm::lsp::Logger::setLogLevel(option == "--log" ? llvm::lsp::Logger::Level::Debug : llvm::lsp::Logger::Level::Error);
  if (llvm::sys::ChangeStdinToBinary() || llvm::sys::ChangeStdoutToBinary())
    return 1;
  accord::editor::Connection connection(stdin, llvm::outs());
  accord::editor::Server server(connection);
  return server.run();
}
