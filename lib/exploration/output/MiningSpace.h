// The machines of a space that a certificate states, read anew by the front end: what a choice offers, what follows
// from it, and what is required are computed here and in lib/exploration/space each by itself.
#pragma once
#include "lib/exploration/verify/MiningVerifier.h"
#include <map>

namespace accord {

class MiningSpace : public CertificateMachines {
public:
  /// The first accelerator of a text in the accel dialect; or what is wrong with it.
  static std::variant<std::unique_ptr<MiningSpace>, std::string> read(const std::string &text);
  ~MiningSpace() override;

  const std::string &name() const;
  /// What is left open, by path, with what it offers.
  const std::map<std::string, std::vector<std::string>> &choices() const;
  std::vector<std::string> requirements() const;
  /// In which order designs list the choices, each once; false if these are not all.
  bool arrange(const std::vector<std::string> &paths);

  const Machine *nearly(const Design &design) override;
  std::variant<Machine, std::string> exactly(const Design &design) override;
  std::optional<std::string> violatedRequirement(const Design &design, const Machine &machine) override;
  /// What it makes least, in words; empty: nothing.
  std::string metric() const;
  double metricValue(const Machine &machine, const StepUse &step) override;

private:
  struct Data;
  explicit MiningSpace(std::unique_ptr<Data> data);
  std::unique_ptr<Data> data_;
};

} // namespace accord
