#include "lib/machine/collectives/GroupTopology.h"

namespace accord {

const char *formulaOf(Algorithm algorithm, Collective collective, const GroupTopology &groupTopology, bool powerOfTwo) {
  bool twice = collective == Collective::AllReduce, allToAll = collective == Collective::AllToAll;
  switch (algorithm) {
  case Algorithm::Ring:
    return twice ? "2(n-1) a + 2(n-1)/n S/B" : "(n-1) a + (n-1)/n S/B";
  case Algorithm::HalvingDoubling:
    if (!powerOfTwo)
      return "(2k+2) a + (2(2^k-1)/2^k + 2) S/B, k = floor(log2 n)";
    return twice ? "2 log2(n) a + 2(n-1)/n S/B" : "log2(n) a + (n-1)/n S/B";
  case Algorithm::DoubleTree:
    return twice ? "2(d+m-1) (a + S/(m B))" : "(d+m-1) (a + S/(m B))";
  case Algorithm::Direct:
    if (collective == Collective::Send)
      return "a + S/B";
    if (groupTopology.hasLinkPerPair)
      return twice ? "2 a + 2(n-1)/n S/B" : "a + (n-1)/n S/B";
    return twice ? "2(n-1) a + 2(n-1)/n S/B" : "(n-1) a + (n-1)/n S/B";
  case Algorithm::Tree:
    return "ceil(log2 n) (a + S/B)";
  case Algorithm::Dimensions:
    if (allToAll)
      return "sum(d_i-1) a + sum((d_i-1)/d_i) S/B";
    return twice ? "2 sum(d_i-1) a + 2(n-1)/n S/B" : "sum(d_i-1) a + (n-1)/n S/B";
  case Algorithm::InSwitch:
    return "a + S/B";
  case Algorithm::Hierarchical:
    break;
  }
  return "";
}

} // namespace accord
