// accord choose, after its command line is read: which offers of clouds, or of an inventory, train something.
#pragma once
#include "lib/driver/Options.h"
#include "lib/support/Verification.h"

namespace accord {

struct ChooseOptions {
  std::vector<std::string> files;       ///< .dnn
  std::vector<std::string> prices;      ///< price lists
  std::vector<std::string> inventories; ///< .accel
  std::vector<std::string> trains;      ///< names of `train` blocks; empty: all of the files
  std::string deadline, budget, power;  ///< as written; empty: none
  std::string minimize = "cost";
  std::vector<std::string> intensities; ///< "400 g/kWh", or REGION=400 g/kWh
  double samples = 0;                   ///< of each training, instead of what its file says; 0: as it says
  int64_t maxInstances = 16;
  bool spot = true, onDemand = true;
  bool sure = false;
  std::string sky;    ///< a .yaml file to write, or ""
  std::string output; ///< folder of the answer to write, or ""
  Options training;   ///< settings of all trainings
};

namespace offers {
struct OfferReport;
}

/// What is proved of an answer: its options, the choice, the front, and the runners-up.
Verification proofOf(const offers::OfferReport &report);

/// Exit status: 0, 1 the input is wrong, 2 no choice keeps the limits, which is proved, 4 the search ended before.
int choose(const ChooseOptions &options);

} // namespace accord
