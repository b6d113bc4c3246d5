/* What these cores can do: the work of a loader and nothing of its engine, in C on libjpeg's own interface. T threads take
 * files from one list; nothing is handed to anybody.
 *
 *   limit LIST THREADS WORK [PASSES]        prints one line of JSON
 *
 * WORK is one of
 *   read          open, read, close
 *   coefficients  Huffman decoding alone
 *   planes        and the inverse transform: planes of YCbCr, the chroma ones as small as they are stored
 *   planes_small  the same at 1/2, 1/4 and 1/8 in turn
 *   full          decode to RGB, whole
 *   val           shorter side to 256, centre 224 x 224: decodes the rows and columns that the window needs, and resizes
 *                 them with an antialiased triangle filter
 *   train         a random resized crop of 224 x 224 and a flip; decodes at 1/2, 1/4 or 1/8 where the crop allows it
 *   train_exact   the same without those reductions
 *
 * Build: gcc -O3 -march=native -o limit limit.c -ljpeg -lpthread -lm */
#define _GNU_SOURCE
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <jpeglib.h>

enum { OUT = 224, RESIZE = 256, MAX_TAPS = 64 };

typedef enum { READ, COEFFICIENTS, PLANES, PLANES_SMALL, FULL, VAL, TRAIN, TRAIN_EXACT, WORKS } work_t;

static const char *const work_names[WORKS] = {"read",  "coefficients", "planes", "planes_small",
                                                "full", "val", "train", "train_exact"};

static char **paths;
static int path_count;
static work_t work;
static int next_path; /* atomic */
static long failures; /* atomic */

/* One thread's memory, grown and never given back. */
typedef struct {
	unsigned char *file, *pixels;
	size_t file_size, file_room, pixel_room;
	float row[3 * 65536]; /* the widest JPEG image */
	unsigned char out[OUT * OUT * 3];
	unsigned long checksum; /* so that no compiler leaves the work out */
} scratch_t;

/* ---- reading ---- */

static int read_file(const char *path, scratch_t *s) {
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) != 0) {
		perror(path);
		exit(1);
	}
	if ((size_t)st.st_size > s->file_room) {
		s->file_room = (size_t)st.st_size * 2;
		s->file = realloc(s->file, s->file_room);
	}
	s->file_size = 0;
	while (s->file_size < (size_t)st.st_size) {
		ssize_t n = read(fd, s->file + s->file_size, (size_t)st.st_size - s->file_size);
		if (n <= 0)
			break;
		s->file_size += (size_t)n;
	}
	close(fd);
	return s->file_size == (size_t)st.st_size;
}

/* ---- resizing: separable, triangle filter, as wide as the reduction ---- */

typedef struct {
	int first, count;
	float weight[MAX_TAPS];
} taps_t;

/* from..from+size, in source pixels, becomes OUT pixels; source pixels are 0..limit-1. */
static void make_taps(taps_t *taps, double from, double size, int limit) {
	double scale = size / OUT, radius = scale > 1 ? scale : 1;
	for (int i = 0; i < OUT; i++) {
		double centre = from + (i + 0.5) * scale - 0.5;
		int first = (int)ceil(centre - radius), last = (int)floor(centre + radius);
		float sum = 0;
		if (first < 0)
			first = 0;
		if (last > limit - 1)
			last = limit - 1;
		if (last < first)
			first = last = first < limit ? first : limit - 1;
		if (last - first >= MAX_TAPS)
			last = first + MAX_TAPS - 1;
		taps[i].first = first;
		taps[i].count = last - first + 1;
		for (int k = first; k <= last; k++) {
			double w = 1 - fabs(k - centre) / radius;
			sum += taps[i].weight[k - first] = w > 0 ? (float)w : 0;
		}
		for (int k = 0; k < taps[i].count; k++)
			taps[i].weight[k] = sum > 0 ? taps[i].weight[k] / sum : 1.0f / taps[i].count;
	}
}

typedef struct {
	double x, y, w, h;
} box_t;

static void resize(const unsigned char *src, int width, int height, box_t box, int flip, scratch_t *s) {
	taps_t across[OUT], down[OUT];
	make_taps(across, box.x, box.w, width);
	make_taps(down, box.y, box.h, height);
	const int begin = 3 * across[0].first, end = 3 * (across[OUT - 1].first + across[OUT - 1].count);
	for (int y = 0; y < OUT; y++) {
		float *row = s->row;
		memset(row + begin, 0, sizeof(float) * (size_t)(end - begin));
		for (int k = 0; k < down[y].count; k++) {
			const unsigned char *line = src + (size_t)(down[y].first + k) * (size_t)width * 3;
			const float weight = down[y].weight[k];
			for (int i = begin; i < end; i++)
				row[i] += weight * line[i];
		}
		for (int x = 0; x < OUT; x++) {
			const float *from = row + 3 * across[x].first;
			float r = 0.5f, g = 0.5f, b = 0.5f;
			for (int k = 0; k < across[x].count; k++, from += 3) {
				const float weight = across[x].weight[k];
				r += weight * from[0];
				g += weight * from[1];
				b += weight * from[2];
			}
			unsigned char *to = s->out + 3 * (y * OUT + (flip ? OUT - 1 - x : x));
			to[0] = (unsigned char)r;
			to[1] = (unsigned char)g;
			to[2] = (unsigned char)b;
		}
	}
	s->checksum += s->out[sizeof s->out / 2];
}

/* ---- which part of the image the work keeps ---- */

static double uniform(unsigned *state) {
	*state = *state * 1664525u + 1013904223u;
	return (*state >> 8) / 16777216.0;
}

static box_t centre_box(int width, int height) {
	double side = (width < height ? width : height) * (double)OUT / RESIZE;
	return (box_t){(width - side) / 2, (height - side) / 2, side, side};
}

static box_t random_box(int width, int height, unsigned *state) {
	for (int attempt = 0; attempt < 10; attempt++) {
		double area = (double)width * height * (0.08 + 0.92 * uniform(state));
		double ratio = exp(log(3 / 4.) + uniform(state) * (log(4 / 3.) - log(3 / 4.)));
		double w = sqrt(area * ratio), h = sqrt(area / ratio);
		if (w <= width && h <= height)
			return (box_t){(width - w) * uniform(state), (height - h) * uniform(state), w, h};
	}
	double side = width < height ? width : height;
	return (box_t){(width - side) / 2, (height - side) / 2, side, side};
}

/* The smallest of 8, 4, 2 and 1 eighths at which the box still has OUT pixels: those have SIMD code in libjpeg-turbo. */
static int eighths_for(box_t box) {
	double side = box.w < box.h ? box.w : box.h;
	int n = 1;
	while (n < 8 && side * n / 8 < OUT)
		n *= 2;
	return n;
}

/* ---- decoding ---- */

typedef struct {
	struct jpeg_error_mgr base;
	jmp_buf failed;
} jump_t;

static void on_error(j_common_ptr c) { longjmp(((jump_t *)c->err)->failed, 1); }

static void on_message(j_common_ptr c) { (void)c; }

static void make_room(scratch_t *s, size_t need) {
	if (need > s->pixel_room) {
		s->pixel_room = need * 2;
		free(s->pixels);
		s->pixels = malloc(s->pixel_room);
	}
}

/* Reads rows [top, top+rows) into the scratch, tightly packed. */
static void read_rows(struct jpeg_decompress_struct *c, int top, int rows, int width, scratch_t *s) {
	size_t stride = (size_t)width * 3, need = stride * (size_t)rows;
	make_room(s, need);
	if (top > 0)
		jpeg_skip_scanlines(c, (JDIMENSION)top);
	for (int y = 0; y < rows;) {
		JSAMPROW lines[16];
		int n = rows - y < 16 ? rows - y : 16;
		for (int i = 0; i < n; i++)
			lines[i] = s->pixels + (size_t)(y + i) * stride;
		y += (int)jpeg_read_scanlines(c, lines, (JDIMENSION)n);
	}
}

static void decode_whole(struct jpeg_decompress_struct *c, scratch_t *s) {
	jpeg_start_decompress(c);
	read_rows(c, 0, (int)c->output_height, (int)c->output_width, s);
	jpeg_finish_decompress(c);
	s->checksum += s->pixels[0];
}

/* Where the samples of a component lie: a row of blocks, which the next one overwrites. */
typedef struct {
	JSAMPROW rows[4 * DCTSIZE];
} component_rows_t;

#if JPEG_LIB_VERSION >= 70
#define BLOCK_SIDE(part) ((part)->DCT_h_scaled_size)
#define LEAST_BLOCK_SIDE(c) ((c)->min_DCT_v_scaled_size)
#else
#define BLOCK_SIDE(part) ((part)->DCT_scaled_size)
#define LEAST_BLOCK_SIDE(c) ((c)->min_DCT_scaled_size)
#endif

static void decode_planes(struct jpeg_decompress_struct *c, int eighths, scratch_t *s) {
	component_rows_t lines[MAX_COMPS_IN_SCAN];
	JSAMPARRAY planes[MAX_COMPS_IN_SCAN];
	size_t need = 0, at = 0;
	c->out_color_space = c->jpeg_color_space;
	c->raw_data_out = TRUE;
	c->scale_num = (unsigned)eighths;
	c->scale_denom = 8;
	jpeg_start_decompress(c);
	for (int pass = 0; pass < 2; pass++) { /* first the sizes, then the addresses */
		for (int i = 0; i < c->num_components; i++) {
			const jpeg_component_info *part = &c->comp_info[i];
			size_t width = ((size_t)part->width_in_blocks + (size_t)part->h_samp_factor) * (size_t)BLOCK_SIDE(part);
			int rows = part->v_samp_factor * BLOCK_SIDE(part);
			planes[i] = lines[i].rows;
			for (int y = 0; y < rows; y++, at += width)
				lines[i].rows[y] = pass ? s->pixels + at : NULL;
		}
		need = at;
		at = 0;
		make_room(s, need);
	}
	while (c->output_scanline < c->output_height)
		jpeg_read_raw_data(c, planes, (JDIMENSION)(c->max_v_samp_factor * LEAST_BLOCK_SIDE(c)));
	jpeg_finish_decompress(c);
	s->checksum += s->pixels[0];
}

static void decode_box(struct jpeg_decompress_struct *c, box_t box, int eighths, int flip, scratch_t *s) {
	const int margin = 2; /* what the filter reaches beyond the box */
	c->scale_num = (unsigned)eighths;
	c->scale_denom = 8;
	jpeg_start_decompress(c);
	double f = eighths / 8.0;
	box = (box_t){box.x * f, box.y * f, box.w * f, box.h * f};
	int left = (int)box.x - margin, right = (int)ceil(box.x + box.w) + margin;
	int top = (int)box.y - margin, bottom = (int)ceil(box.y + box.h) + margin;
	left = left < 0 ? 0 : left;
	top = top < 0 ? 0 : top;
	right = right > (int)c->output_width ? (int)c->output_width : right;
	bottom = bottom > (int)c->output_height ? (int)c->output_height : bottom;
	JDIMENSION x = (JDIMENSION)left, width = (JDIMENSION)(right - left);
	jpeg_crop_scanline(c, &x, &width); /* moves to the borders of its blocks */
	read_rows(c, top, bottom - top, (int)width, s);
	box.x -= x;
	box.y -= top;
	resize(s->pixels, (int)width, bottom - top, box, flip, s);
}

static void decode(int index, scratch_t *s) {
	struct jpeg_decompress_struct c;
	jump_t error;
	c.err = jpeg_std_error(&error.base);
	error.base.error_exit = on_error;
	error.base.output_message = on_message;
	if (setjmp(error.failed)) {
		jpeg_destroy_decompress(&c);
		__atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED);
		return;
	}
	jpeg_create_decompress(&c);
	jpeg_mem_src(&c, s->file, s->file_size);
	jpeg_read_header(&c, TRUE);
	c.out_color_space = JCS_RGB;
	int width = (int)c.image_width, height = (int)c.image_height;
	unsigned state = (unsigned)index * 2654435761u + 12345u;
	box_t box;
	switch (work) {
	case COEFFICIENTS:
		jpeg_read_coefficients(&c);
		break;
	case PLANES:
	case PLANES_SMALL:
		decode_planes(&c, work == PLANES ? 8 : 4 >> index % 3, s);
		break;
	case FULL:
		decode_whole(&c, s);
		break;
	case VAL:
		decode_box(&c, centre_box(width, height), 8, 0, s);
		break;
	default:
		box = random_box(width, height, &state);
		decode_box(&c, box, work == TRAIN ? eighths_for(box) : 8, uniform(&state) < 0.5, s);
	}
	jpeg_destroy_decompress(&c);
}

static void *worker(void *unused) {
	(void)unused;
	scratch_t *s = calloc(1, sizeof *s);
	for (;;) {
		int i = __atomic_fetch_add(&next_path, 1, __ATOMIC_RELAXED);
		if (i >= path_count)
			return s;
		if (read_file(paths[i], s) && work != READ)
			decode(i, s);
	}
}

/* ---- the program ---- */

static double seconds(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double cpu_seconds(void) {
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

static void read_list(const char *name) {
	char line[4096];
	int room = 0;
	FILE *f = fopen(name, "r");
	if (!f) {
		perror(name);
		exit(1);
	}
	while (fgets(line, sizeof line, f)) {
		line[strcspn(line, "\n")] = 0;
		if (path_count == room) {
			room = room ? 2 * room : 1024;
			paths = realloc(paths, sizeof *paths * (size_t)room);
		}
		paths[path_count++] = strdup(line);
	}
	fclose(f);
}

int main(int argc, char **argv) {
	int threads = argc > 2 ? atoi(argv[2]) : 0, passes = argc > 4 ? atoi(argv[4]) : 1;
	work = WORKS;
	for (int i = 0; argc > 3 && i < WORKS; i++)
		if (!strcmp(argv[3], work_names[i]))
			work = (work_t)i;
	if (threads < 1 || threads > 1024 || passes < 1 || work == WORKS) {
		fprintf(stderr, "usage: limit LIST THREADS read|coefficients|planes|planes_small|full|val|train|train_exact [PASSES]\n");
		return 2;
	}
	read_list(argv[1]);
	pthread_t *pool = calloc((size_t)threads, sizeof *pool);
	double begun = seconds();
	for (int pass = 0; pass < passes; pass++) {
		next_path = 0;
		for (int i = 0; i < threads; i++)
			pthread_create(&pool[i], NULL, worker, NULL);
		for (int i = 0; i < threads; i++)
			pthread_join(pool[i], NULL);
	}
	double took = seconds() - begun, images = (double)path_count * passes;
	printf("{\"images\": %.0f, \"images_per_s\": %.1f, \"cpu_s_per_1k\": %.4f, \"failures\": %ld}\n", images, images / took,
	       cpu_seconds() / images * 1000, failures);
	return 0;
}
