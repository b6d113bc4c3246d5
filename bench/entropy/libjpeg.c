#include "libjpeg.h"

#include <setjmp.h>
#include <stdio.h>
#include <time.h>
#include <jpeglib.h>

static jmp_buf failed;

static void fail(j_common_ptr c) {
	(void)c;
	longjmp(failed, 1);
}

int libjpeg_coefficients(const unsigned char *src, size_t n) {
	struct jpeg_decompress_struct c;
	struct jpeg_error_mgr errors;
	c.err = jpeg_std_error(&errors);
	errors.error_exit = fail;
	jpeg_create_decompress(&c);
	const int is_sound = !setjmp(failed);
	if (is_sound) {
		jpeg_mem_src(&c, src, n);
		jpeg_read_header(&c, TRUE);
		jpeg_read_coefficients(&c);
	}
	jpeg_destroy_decompress(&c);
	return is_sound;
}

double thread_seconds(void) {
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}
