//go:build cgo

#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

// Go reserves addresses, takes memory and starts threads before any Go code runs, and
// aborts with pages of stacks and registers where it gets too few. The C library runs
// this before that, so that one line says what is wrong.
//
// Address space: below 2 GiB a start fails sometimes, below 800 MiB always.
#define ADDRESSES (2048ULL << 20)
// Memory that counts as data, and with it the stacks of threads: on two cores, a start
// fails sometimes below 150 MiB, always below 80 MiB.
#define DATA (160ULL << 20)
#define DATA_OF_A_CORE (8ULL << 20)
// Threads: on two cores, a run fails sometimes with 8, and a start with 6.
#define THREADS 8
#define THREADS_OF_A_CORE 2
#define MOST_THREADS 64

static void stop(const char *format, ...) {
	char line[256];
	va_list values;
	va_start(values, format);
	int n = vsnprintf(line, sizeof line, format, values);
	va_end(values);
	_exit(write(2, line, n) < 0 ? 2 : 1);
}

static int cores(void) {
	cpu_set_t set;
	return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

static void check_memory(int resource, unsigned long long needed, const char *what, char letter) {
	struct rlimit r;
	if (getrlimit(resource, &r) == 0 && r.rlim_cur < needed)
		stop("headrace: this process may use only %llu MiB of %s, and needs %llu MiB to start: run `ulimit -%c unlimited` first\n",
			(unsigned long long)r.rlim_cur >> 20, what, needed >> 20, letter);
}

static void *wait_for(void *gate) {
	pthread_mutex_lock(gate);
	pthread_mutex_unlock(gate);
	return NULL;
}

// check_threads starts as many threads as will be needed. How many there may be is
// known only so: the limit is of all that the user runs, and a container has another.
static void check_threads(int needed) {
	pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
	pthread_t threads[MOST_THREADS];
	pthread_attr_t small;
	int n = 0, failed = 0;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 128 << 10);

	pthread_mutex_lock(&gate);
	while (n < needed && (failed = pthread_create(&threads[n], &small, wait_for, &gate)) == 0)
		n++;
	pthread_mutex_unlock(&gate);

	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	pthread_attr_destroy(&small);
	if (failed == EAGAIN)
		stop("headrace: this process may start only %d of the %d threads that it needs: run `ulimit -u unlimited` first, or raise pids.max of the container\n",
			n, needed);
}

__attribute__((constructor)) static void check_limits(void) {
	int n = cores(), threads = THREADS + THREADS_OF_A_CORE * n;
	check_memory(RLIMIT_AS, ADDRESSES, "address space", 'v');
	check_memory(RLIMIT_DATA, DATA + DATA_OF_A_CORE * n, "data", 'd');
	check_threads(threads < MOST_THREADS ? threads : MOST_THREADS);
}
