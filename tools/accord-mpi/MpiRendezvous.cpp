// The processes of an MPI job meet: who is which, and what the first one has to say. Then MPI is
// over for them: at its end it waits for all ranks, for ever where one was lost.
#include <mpi.h>

extern "C" {

/// Rank and number of this job's processes. False: MPI failed.
__attribute__((visibility("default"))) bool accordMpiInitialize(int *rank, int *ranks) {
  return MPI_Init(nullptr, nullptr) == MPI_SUCCESS && MPI_Comm_rank(MPI_COMM_WORLD, rank) == MPI_SUCCESS &&
         MPI_Comm_size(MPI_COMM_WORLD, ranks) == MPI_SUCCESS;
}

/// The first one's `size` bytes, to all; after `accordMpiInitialize`, once. False: MPI failed.
__attribute__((visibility("default"))) bool accordMpiBroadcast(char *text, int size) {
  bool told = MPI_Bcast(text, size, MPI_CHAR, 0, MPI_COMM_WORLD) == MPI_SUCCESS;
  return MPI_Finalize() == MPI_SUCCESS && told;
}
}
