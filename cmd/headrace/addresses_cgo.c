//go:build cgo

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

// Go reserves addresses before any Go code runs, and aborts with a page of registers where
// there are too few. The C library runs this before that, so that one line says what is wrong.
// Below 2 GiB a start fails sometimes, below 800 MiB always.
#define NEEDED (2ULL << 30)

__attribute__((constructor)) static void check_addresses(void) {
	struct rlimit r;
	if (getrlimit(RLIMIT_AS, &r) != 0 || r.rlim_cur >= NEEDED)
		return;
	char line[256];
	int n = snprintf(line, sizeof line,
		"headrace: this process may use only %llu MiB of address space, and needs 2048 MiB to start: run `ulimit -v unlimited` first\n",
		(unsigned long long)r.rlim_cur >> 20);
	_exit(write(2, line, n) < 0 ? 2 : 1);
}
