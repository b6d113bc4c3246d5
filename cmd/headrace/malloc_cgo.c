//go:build cgo && linux

#include <malloc.h>
#include <stdlib.h>

// What decoders of large images take from the C library goes back to the system at
// once. By itself the library raises the size from which it does so to the largest
// piece it has seen freed, up to 32 MiB, and keeps smaller ones for each thread: no
// budget knows of those. Smaller pieces are kept, since fresh pages cost time.
__attribute__((constructor)) static void give_back_large_pieces(void) {
#ifdef __GLIBC__
	if (getenv("MALLOC_MMAP_THRESHOLD_") || getenv("MALLOC_TRIM_THRESHOLD_") || getenv("GLIBC_TUNABLES"))
		return; // somebody knows better
	mallopt(M_MMAP_THRESHOLD, 4 << 20);
	mallopt(M_TRIM_THRESHOLD, 8 << 20);
#endif
}
