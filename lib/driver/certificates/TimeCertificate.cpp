// How long a program of instructions takes on a machine.
#include "lib/driver/AnswerFolder.h"
#include "lib/driver/certificates/CertificateKind.h"
#include "lib/microarchitecture/output/TimingCertificate.h"
#include "lib/microarchitecture/verify/ReplayTiming.h"
#include <fmt/format.h>

namespace accord {
namespace {

using namespace microarchitecture;

/// Cycles of the oldest instructions are all cycles of the program.
void verifyWaits(Verification &proof, const InstructionTiming &timing) {
  __int128 waited = 0;
  for (const WaitedFor &is : timing.waits)
    waited += is.oldest;
  if (waited == timing.cycles)
    proof.trusted.push_back("what cycles were waited for, as the engine counted them");
  else
    proof.findings.push_back({Code::WrongProgramTiming,
                              fmt::format("the oldest instructions wait for {} cycles in all, and the program takes {}",
                                          waited, timing.cycles)});
}

Verification verifyTimed(const TimedProgram &answer) {
  Verification proof;
  const InstructionTiming &timing = answer.timing;
  proof.findings = verifyTiming(answer.machine, answer.program, timing);
  if (!proof.holds())
    return proof;
  verifyWaits(proof, timing);
  proof.checked.push_back(fmt::format("'{}' takes {} cycles on '{}': {} instructions replayed cycle by cycle",
                                      answer.program.name, timing.cycles, answer.machine.name, timing.evaluated));
  if (!timing.recurrences.empty())
    proof.checked.push_back(fmt::format("recurrences of loops ({}), which stand for the other {} instructions",
                                        timing.recurrences.size(), timing.instructions - timing.evaluated));
  return proof;
}

std::optional<VerifiedCertificate> verifyTime(const CertificateRequest &request) {
  const std::string folder = answerFolder(request.path),
                    file = (folder.empty() ? "." : folder) + "/" + kTimeCertificate;
  auto text = readText(file, request.json, "verify");
  if (!text)
    return std::nullopt;
  auto answer = timingFromCertificate(*text, file);
  if (!answer)
    return VerifiedCertificate{{answer.takeError(), {}, {}, {}}};
  VerifiedCertificate verified{verifyTimed(*answer)};
  if (verified.proof.holds())
    verified.printed = filesOf(*answer);
  return verified;
}

} // namespace

CertificateKind timeCertificate() {
  return {"timing", [](const std::string &path) { return hasResultFile(path, kTimeDocument); }, verifyTime};
}

} // namespace accord
