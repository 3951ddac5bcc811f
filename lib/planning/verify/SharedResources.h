// What operations share in the verifier's lower bounds: cores, memories, networks, and a core
// together with a memory.
#pragma once
#include "lib/planning/verify/Proof.h"

namespace accord {

/// One form of an operation: picoseconds that it runs, and of these what it takes of the whole.
struct Demand {
  int64_t duration = 0;
  long double work = 0;
};

/// Something of which no more is taken at a time than there is.
struct SharedResource {
  std::string name;
  std::vector<std::vector<Demand>> of; ///< by OperationId, by form; empty: nothing, surely or not
  long double min(OperationId id) const;
  bool depends() const; ///< on the forms that are chosen
};

/// Cores, memories, networks that exchanges name; then a core with a memory, where operations that
/// take the memory's whole bandwidth keep those from running that use both.
std::vector<SharedResource> findSharedResources(const Proof &p);

} // namespace accord
