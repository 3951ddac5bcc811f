// accord verify: proves an answer again with code that shares nothing with what made it.
#include "lib/driver/CommandLine.h"
#include "lib/driver/Workspace.h"
#include "lib/driver/certificates/CertificateKind.h"

namespace accord {

static const CommandEntry kEntry("verify", "Check an answer and its certificate independently", [](Command &command) {
  auto request = Command::values<CertificateRequest>();
  command
      .option("plan", request->path,
              "A folder that `accord compile`, `mine`, `prune`, `vote` or `schedule` wrote, a plan.json, or a schedule "
              "in the plan dialect (.mlir)")
      .required();
  command.option("--solver", request->solver, "SMT solver that re-checks the queries: z3, cvc5 or a path");
  command.option("--from", request->from,
                 "Sources from which the answer was made: its command is run again on them, and every file compared");
  command.flag("--no-manifest", request->withoutManifest,
               "Prove what certificates say, whatever files were changed since they were written");
  command.flag("--allow-trusted", request->allowTrusted,
               "Accept bounds that assume the answer of a solver alone, without a proof that can be replayed");
  addJson(command, request->json);
  command.example("accord verify out/\n"
                  "         accord verify out/ --from job.dnn\n"
                  "         accord verify schedule/ --solver cvc5");
  command.action([request] {
    request->program = installedPath("bin/accord");
    return verifyAnswer(*request);
  });
});

} // namespace accord
