// The cluster of a job in the certificate of a mining, or those that it is mined among.
#pragma once
#include "lib/exploration/problem/MiningCertificate.h"
#include "lib/support/documents/Fields.h"

namespace accord {

/// A graph whose operations, values and regions fit together.
void describeGraph(JsonVisitor &v, WorkGraph &graph);

/// Of a job: "cluster"; of several "clusters", "points", and "graphs", which are each there once,
/// without the seconds of what devices exchange. Refuses problems, graphs and classes that do not fit together, and one
/// cluster where `points` choices are open.
void describeClusters(JsonFields &f, CertificateJob &job, size_t points);

} // namespace accord
