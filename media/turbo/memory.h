// Memory that is kept from picture to picture, so that a warm decoder allocates nothing.
#ifndef HEADRACE_MEMORY_H
#define HEADRACE_MEMORY_H

#include <stdint.h>
#include <stdio.h>
#include <jpeglib.h>

// What is kept after a picture at most, of each kind; what a larger one needed goes
// back to the system.
#define HR_KEEP (16 << 20)

// Memory from the system, aligned to 64 bytes, and back.
void *hr_alloc(size_t n);
void hr_release(void *p);

typedef struct {
	long taken, live; // pieces taken so far, and not given back
	long bytes;       // of those not given back
} hr_memory;

// What all decoders have.
hr_memory hr_memory_now(void);

typedef struct {
	uint8_t *data; // aligned to 64 bytes
	size_t size;
} hr_buffer;

// Makes the buffer at least that large; its content is lost when it grows. Returns 0 if
// there is no memory.
int hr_buffer_need(hr_buffer *b, size_t size);
void hr_buffer_trim(hr_buffer *b);
void hr_buffer_free(hr_buffer *b);

// A memory manager for libjpeg in place of its own. Its pools are stacks of blocks that
// are emptied, not freed.
typedef struct hr_pools hr_pools;

// Takes the place of c->mem. c must have been created just now. Returns NULL if there
// is no memory.
hr_pools *hr_pools_install(struct jpeg_decompress_struct *c);
// Forgets what has been allocated since install, for good: also the tables that libjpeg
// would keep for the next picture.
void hr_pools_reset(hr_pools *p);
// Puts libjpeg's manager back, so that c can be destroyed.
void hr_pools_remove(hr_pools *p, struct jpeg_decompress_struct *c);

#endif
