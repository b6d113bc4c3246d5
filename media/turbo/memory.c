#include "memory.h"

#include <stdlib.h>
#include <string.h>
#include <jerror.h>
#include "kernels.h"

// Larger than any alignment and overrun of libjpeg's SIMD code: it rounds rows up to
// twice 32 bytes itself.
enum { align = 64, row_align = 128, first_block = 256 << 10 };

static size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

static hr_memory now;

// Every piece has its size in front of it.
void *hr_alloc(size_t n) {
	size_t all = round_up(n, align) + align;
	size_t *p = aligned_alloc(align, all);
	if (!p)
		return NULL;
	*p = all;
	__atomic_add_fetch(&now.taken, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&now.live, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&now.bytes, all, __ATOMIC_RELAXED);
	return (uint8_t *)p + align;
}

void hr_release(void *p) {
	if (!p)
		return;
	size_t *front = (size_t *)((uint8_t *)p - align);
	__atomic_sub_fetch(&now.live, 1, __ATOMIC_RELAXED);
	__atomic_sub_fetch(&now.bytes, *front, __ATOMIC_RELAXED);
	free(front);
}

hr_memory hr_memory_now(void) {
	return (hr_memory){
		.taken = __atomic_load_n(&now.taken, __ATOMIC_RELAXED),
		.live = __atomic_load_n(&now.live, __ATOMIC_RELAXED),
		.bytes = __atomic_load_n(&now.bytes, __ATOMIC_RELAXED),
	};
}

int hr_buffer_need(hr_buffer *b, size_t size) {
	if (size <= b->size)
		return 1;
	hr_buffer_free(b);
	size = round_up(size + size / 4, 4096);
	b->data = hr_alloc(size);
	b->size = b->data ? size : 0;
	return b->data != NULL;
}

void hr_buffer_trim(hr_buffer *b) {
	if (b->size > HR_KEEP)
		hr_buffer_free(b);
}

void hr_buffer_free(hr_buffer *b) {
	hr_release(b->data);
	b->data = NULL;
	b->size = 0;
}

typedef struct block {
	struct block *next;
	size_t size, used;
	char pad[align - 3 * sizeof(size_t)];
	uint8_t data[];
} block;

struct hr_pools {
	struct jpeg_memory_mgr mgr; // first: libjpeg holds a pointer to it
	struct jpeg_memory_mgr *theirs;
	block *blocks; // all that there are
	block *at;     // the one in use; those before it are full
	jvirt_sarray_ptr sarrays;
	jvirt_barray_ptr barrays;
	size_t total;
};

// libjpeg's two kinds of arrays that it may keep on disk elsewhere; here they are
// always in memory.
struct jvirt_sarray_control {
	JSAMPARRAY rows;
	JDIMENSION width, height;
	boolean zero;
	jvirt_sarray_ptr next;
};
struct jvirt_barray_control {
	JBLOCKARRAY rows;
	JDIMENSION width, height;
	boolean zero;
	jvirt_barray_ptr next;
};

static hr_pools *pools(j_common_ptr c) { return (hr_pools *)c->mem; }

static void *out_of_memory(j_common_ptr c) {
	ERREXIT1(c, JERR_OUT_OF_MEMORY, 0);
	return NULL;
}

static void *take(j_common_ptr c, size_t n) {
	hr_pools *p = pools(c);
	if (n > SIZE_MAX / 2)
		return out_of_memory(c);
	n = round_up(n ? n : 1, align);
	for (;;) {
		if (p->at && p->at->size - p->at->used >= n) {
			void *got = p->at->data + p->at->used;
			p->at->used += n;
			return got;
		}
		block **next = p->at ? &p->at->next : &p->blocks;
		if (!*next) {
			size_t size = p->total > first_block ? p->total : first_block; // doubles what there is
			if (size < n)
				size = n;
			block *b = hr_alloc(sizeof(block) + round_up(size, align));
			if (!b)
				return out_of_memory(c);
			b->next = NULL;
			b->size = round_up(size, align);
			p->total += b->size;
			*next = b;
		}
		p->at = *next;
		p->at->used = 0;
	}
}

static void *alloc_small(j_common_ptr c, int pool, size_t n) {
	(void)pool;
	return take(c, n);
}

static size_t product(j_common_ptr c, size_t a, size_t b) {
	size_t n;
	if (__builtin_mul_overflow(a, b, &n))
		out_of_memory(c);
	return n;
}

// An array of rows of the same width in bytes, in one piece, with room behind it for
// kernels that read planes.
static void *array(j_common_ptr c, size_t width, size_t height) {
	width = round_up(width, row_align);
	uint8_t **rows = take(c, product(c, height, sizeof(*rows)));
	uint8_t *data = take(c, product(c, width, height) + HR_PAD);
	for (size_t y = 0; y < height; y++)
		rows[y] = data + y * width;
	return rows;
}

static JSAMPARRAY alloc_sarray(j_common_ptr c, int pool, JDIMENSION width, JDIMENSION height) {
	(void)pool;
	return array(c, width, height);
}

static JBLOCKARRAY alloc_barray(j_common_ptr c, int pool, JDIMENSION width, JDIMENSION height) {
	(void)pool;
	return array(c, product(c, width, sizeof(JBLOCK)), height);
}

static jvirt_sarray_ptr request_virt_sarray(j_common_ptr c, int pool, boolean zero, JDIMENSION width, JDIMENSION height,
                                            JDIMENSION access) {
	(void)pool;
	(void)access;
	jvirt_sarray_ptr a = take(c, sizeof(*a));
	*a = (struct jvirt_sarray_control){NULL, width, height, zero, pools(c)->sarrays};
	return pools(c)->sarrays = a;
}

static jvirt_barray_ptr request_virt_barray(j_common_ptr c, int pool, boolean zero, JDIMENSION width, JDIMENSION height,
                                            JDIMENSION access) {
	(void)pool;
	(void)access;
	jvirt_barray_ptr a = take(c, sizeof(*a));
	*a = (struct jvirt_barray_control){NULL, width, height, zero, pools(c)->barrays};
	return pools(c)->barrays = a;
}

static void realize_virt_arrays(j_common_ptr c) {
	for (jvirt_sarray_ptr a = pools(c)->sarrays; a; a = a->next) {
		if (a->rows)
			continue;
		a->rows = alloc_sarray(c, JPOOL_IMAGE, a->width, a->height);
		for (JDIMENSION y = 0; a->zero && y < a->height; y++)
			memset(a->rows[y], 0, a->width);
	}
	for (jvirt_barray_ptr a = pools(c)->barrays; a; a = a->next) {
		if (a->rows)
			continue;
		a->rows = alloc_barray(c, JPOOL_IMAGE, a->width, a->height);
		for (JDIMENSION y = 0; a->zero && y < a->height; y++)
			memset(a->rows[y], 0, a->width * sizeof(JBLOCK));
	}
}

static JSAMPARRAY access_virt_sarray(j_common_ptr c, jvirt_sarray_ptr a, JDIMENSION start, JDIMENSION n, boolean writable) {
	(void)writable;
	if (!a->rows || start > a->height || n > a->height - start)
		ERREXIT(c, JERR_BAD_VIRTUAL_ACCESS);
	return a->rows + start;
}

static JBLOCKARRAY access_virt_barray(j_common_ptr c, jvirt_barray_ptr a, JDIMENSION start, JDIMENSION n, boolean writable) {
	(void)writable;
	if (!a->rows || start > a->height || n > a->height - start)
		ERREXIT(c, JERR_BAD_VIRTUAL_ACCESS);
	return a->rows + start;
}

// libjpeg empties its pool of one picture when it aborts; here hr_pools_reset does, for
// both pools.
static void free_pool(j_common_ptr c, int pool) {
	(void)c;
	(void)pool;
}

static void self_destruct(j_common_ptr c) { (void)c; }

hr_pools *hr_pools_install(struct jpeg_decompress_struct *c) {
	hr_pools *p = hr_alloc(sizeof(*p));
	if (!p)
		return NULL;
	memset(p, 0, sizeof(*p));
	p->theirs = c->mem;
	p->mgr = (struct jpeg_memory_mgr){
		.alloc_small = alloc_small,
		.alloc_large = alloc_small,
		.alloc_sarray = alloc_sarray,
		.alloc_barray = alloc_barray,
		.request_virt_sarray = request_virt_sarray,
		.request_virt_barray = request_virt_barray,
		.realize_virt_arrays = realize_virt_arrays,
		.access_virt_sarray = access_virt_sarray,
		.access_virt_barray = access_virt_barray,
		.free_pool = free_pool,
		.self_destruct = self_destruct,
		.max_memory_to_use = c->mem->max_memory_to_use,
		.max_alloc_chunk = c->mem->max_alloc_chunk,
	};
	c->mem = &p->mgr;
	return p;
}

void hr_pools_reset(hr_pools *p) {
	p->sarrays = NULL;
	p->barrays = NULL;
	p->at = NULL;
	if (p->total <= HR_KEEP) {
		if (p->blocks) {
			p->at = p->blocks;
			p->at->used = 0;
		}
		return;
	}
	for (block *b = p->blocks, *next; b; b = next) {
		next = b->next;
		hr_release(b);
	}
	p->blocks = NULL;
	p->total = 0;
}

void hr_pools_remove(hr_pools *p, struct jpeg_decompress_struct *c) {
	c->mem = p->theirs;
	for (block *b = p->blocks, *next; b; b = next) {
		next = b->next;
		hr_release(b);
	}
	hr_release(p);
}
