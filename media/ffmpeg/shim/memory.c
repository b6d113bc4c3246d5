// How much FFmpeg may allocate at once. A header of a few bytes can claim that a gigabyte follows, which demuxers fill with zeros before they look.
//
// FFmpeg has one limit for the process, and calls need different ones: an encoder of 4K sets aside 140 bytes for each pixel, while a small file has nothing
// large in it. So the limit is the most that anything which is open may need, by the size of its pictures or its file.
#include "shim.h"

#include <libavutil/mem.h>
#include <limits.h>
#include <pthread.h>

enum { LEAST = 256 << 20 }; // planes of 8K at 16 bits of four channels

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int large;
static int64_t most = LEAST;

int64_t hr_allow(int64_t need) {
	need = need > INT_MAX ? INT_MAX : need;
	if (need <= LEAST)
		return 0;
	pthread_mutex_lock(&guard);
	large++;
	if (need > most)
		av_max_alloc(most = need);
	pthread_mutex_unlock(&guard);
	return need;
}

void hr_disallow(int64_t allowed) {
	if (allowed == 0)
		return;
	pthread_mutex_lock(&guard);
	if (--large == 0)
		av_max_alloc(most = LEAST);
	pthread_mutex_unlock(&guard);
}

__attribute__((constructor)) static void begin(void) { av_max_alloc(LEAST); }
