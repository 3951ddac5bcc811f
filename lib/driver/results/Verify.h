// The document of `accord verify --json`: The independent check of an answer. status is 'done' when it holds, else
// 'error'. Written by scripts/results.py from docs/schema/verify.schema.json. Units are in the names.
#pragma once
#include "lib/driver/results/Read.h"

namespace accord::results {

struct Verify {
  struct AnswerEntry {
    std::string name;            ///< the job, or common
    std::optional<double> value; ///< of the design that was found; null: none
    std::optional<double> bound; ///< no design has a smaller value, as is claimed; null: no design can be
    int64_t by_plans = 0;        ///< not below it by the bounds of plans in the certificate
    int64_t by_prices = 0;       ///< not below it with the prices of the cost model
    int64_t by_search = 0;       ///< the search found none below it; that there is none is not proved
    int64_t by_work = 0;         ///< not below the bound by arithmetic, bytes, dependences and device memory
    int64_t designs = 0;
    int64_t not_allowed = 0;      ///< break what is required, or are no machines
    std::optional<double> proved; ///< no design has a smaller value, as is proved here; at most the bound

    static AnswerEntry of(const Document &from) {
      AnswerEntry out;
      read(from, "name", out.name, "value", out.value, "bound", out.bound, "by_plans", out.by_plans, "by_prices",
           out.by_prices, "by_search", out.by_search, "by_work", out.by_work, "designs", out.designs, "not_allowed",
           out.not_allowed, "proved", out.proved);
      return out;
    }
  };

  struct Finding {
    std::string code; ///< explained by accord explain
    std::string message;

    static Finding of(const Document &from) {
      Finding out;
      read(from, "code", out.code, "message", out.message);
      return out;
    }
  };

  std::string command;
  std::string version; ///< version of accord that wrote this
  std::string status;
  std::vector<AnswerEntry> answers; ///< of a mining: what proves each bound, as numbers of designs
  std::vector<std::string> assumed; ///< what the proof assumes
  std::vector<std::string> checked; ///< what was proved
  std::vector<Finding> findings;    ///< what is wrong
  bool valid = false;

  /// Throws NoSuchValue where the document is another one.
  static Verify of(const Document &from) {
    Verify out;
    read(from, "command", out.command, "version", out.version, "status", out.status, "?answers", out.answers, "assumed",
         out.assumed, "checked", out.checked, "findings", out.findings, "valid", out.valid);
    return out;
  }
};

} // namespace accord::results
