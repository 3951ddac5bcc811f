// Projects and shops in the text formats of their public libraries -> a scheduling problem. Of each format: files of at
// most 1,000,000 tasks, whole numbers from 0 to 2^40, precedences without a cycle. nullopt after errors, which are all
// at their words.
#pragma once
#include "lib/import/psplib/Psplib.h"

namespace accord {

/// Patterson's format (.rcp), as RanGen writes RG30 and RG300: the numbers of jobs and of resources, the capacities,
/// then of each job its duration, what it needs of each resource, the number of its successors, and these.
std::optional<PsplibImport> importPatterson(Diagnostics &diags, FileId file);

/// ProGen/max (.sch): RCPSP/max of Schwindt (1998) with minimum and maximum time lags between starts. A lag of at least
/// the duration of the job before is a precedence with a delay, unless such lags form a cycle; all others are time
/// lags.
std::optional<PsplibImport> importProgenMax(Diagnostics &diags, FileId file);

/// A job shop: "jobs machines", then a row of pairs "machine duration" for each job, machines from 0 (the standard of
/// the OR-Library and JSPLIB; from 1 where no row has machine 0). Lines before the sizes that are no numbers are
/// comments. Taillard's own form, with the sections Times and Machines, is read, too. Tasks are "J1.1", …, in the order
/// of each job; machines "M0", … of capacity 1.
std::optional<PsplibImport> importJobShop(Diagnostics &diags, FileId file);

/// A flexible job shop (.fjs, Brandimarte 1993): "jobs machines", then of each job the number of its operations, and of
/// each operation the number of its machines and these, from 1, with the duration on each: a mode for each machine.
std::optional<PsplibImport> importFlexibleJobShop(Diagnostics &diags, FileId file);

} // namespace accord
