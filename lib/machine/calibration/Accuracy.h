// How well calibrations predict steps that they have not seen: the tables of docs/accuracy.md.
#pragma once
#include "lib/machine/calibration/CaseBuilder.h"
#include "lib/machine/calibration/Score.h"

namespace accord::calibrate {

/// Rows that are calibrated together and scored as one or several strata.
struct Study {
  const char *name;
  const char *source;           ///< part of the column `source`
  const char *accelerator;      ///< start of the column `accelerator`
  const char *precision;        ///< start of the column `precision`
  const char *family;           ///< the column `family`, or empty
  const char *framework;        ///< start of the column `framework`, or empty
  const char *calibrationGroup; ///< studies with the same word share one calibration
  double gate;                  ///< largest mean error in percent that is asked for
};
const std::vector<Study> &studies();

/// Five splits in halves, on the half not seen.
struct SplitScore {
  double mean = 0, worst = 0; ///< percent
  unsigned splits = 0;        ///< how many of the five had rows in both halves
  bool passes(const Study &study) const { return splits > 0 && mean <= study.gate; }
};
struct Accuracy {
  Study study;
  size_t rows = 0;
  Score prior;                 ///< from the data sheet alone
  SplitScore balanced, hashed; ///< balanced, and by the hash of the id alone
  Score seen;                  ///< fitted to all rows of the study
};
/// In the order of `studies`; those without rows are left out.
std::vector<Accuracy> accuracyOf(const std::vector<Case> &cases);

/// The parameters of one case.
struct CaseParameters {
  const Study *study = nullptr;                    ///< the first that it belongs to
  Parameters seen{};                               ///< fitted to all cases of its study and those `together` with it
  std::optional<Parameters> unseen;                ///< fitted to the balanced half of them that it is not in
  double closedFormSeen = 0, closedFormUnseen = 0; ///< seconds of the step, by `predict`
};
/// By case; nothing for those of no study.
std::vector<std::optional<CaseParameters>> parametersByCase(const std::vector<Case> &cases);

struct HeldOutSize {
  std::string model;
  size_t rows = 0;
  double mape = 0, worst = 0; ///< percent, calibrated on every other model of the same study
};
/// Of the study with this `together`.
std::vector<HeldOutSize> crossValidateSizes(const std::vector<Case> &cases, const std::string &calibrationGroup);

struct RankedGroup {
  std::string job; ///< "24 layers of 2304 on 8 devices, batch 512"
  size_t rows = 0;
  double spread = 0;   ///< the slowest over the fastest, minus 1, percent
  double spearman = 0; ///< rank correlation
  double regret = 0;   ///< percent
};
struct RankingScore {
  std::vector<RankedGroup> each;
  size_t groups = 0;
  /// Of pairs of one group whose measured times differ by more than 3 %, what repeated runs do: the
  /// percentage that is in the right order, and how many there are.
  double ordered = 0;
  size_t pairs = 0;
  double spearman = 0, regret = 0, worstRegret = 0; ///< means over groups; regret in percent
};
/// Over groups of at least `least` cases of one job on as many devices, each computed by
/// calibrations that have not seen it (the other half of a balanced split).
RankingScore rankingScore(const std::vector<Case> &cases, const std::string &calibrationGroup, size_t min);

/// The page, in Markdown; `gatesOnly`: nothing behind its first table.
std::string accuracyPage(const std::vector<Case> &cases, const Errors &leftOut, bool gatesOnly = false);

} // namespace accord::calibrate
