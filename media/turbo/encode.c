#include "encode.h"

#include <setjmp.h>
#include <string.h>
#include "memory.h"
#include <jerror.h>

typedef struct {
	struct jpeg_compress_struct jpeg;
	struct jpeg_error_mgr errors;
	struct jpeg_destination_mgr destination;
	jmp_buf failed;
	int status;
	hr_file *file;
	size_t room;
} encoder;

static _Noreturn void error_exit(j_common_ptr c) {
	encoder *e = c->client_data;
	char message[JMSG_LENGTH_MAX];
	c->err->format_message(c, message);
	strncpy(e->file->message, message, sizeof(e->file->message) - 1);
	e->status = c->err->msg_code == JERR_OUT_OF_MEMORY ? HR_MEMORY : HR_UNSUPPORTED;
	longjmp(e->failed, 1);
}

static void emit_message(j_common_ptr c, int level) {
	(void)c;
	(void)level;
}

static void output_message(j_common_ptr c) { (void)c; }

// Gives libjpeg the memory behind what is already written.
static void hand_out(encoder *e) {
	e->destination.next_output_byte = e->file->data + e->file->size;
	e->destination.free_in_buffer = e->room - e->file->size;
}

static void grow(encoder *e, size_t room) {
	uint8_t *data = hr_alloc(room);
	if (!data)
		ERREXIT1(&e->jpeg, JERR_OUT_OF_MEMORY, 1);
	if (e->file->size)
		memcpy(data, e->file->data, e->file->size);
	hr_release(e->file->data);
	e->file->data = data;
	e->room = room;
	hand_out(e);
}

static void init_destination(j_compress_ptr c) {
	encoder *e = c->client_data;
	grow(e, (size_t)c->image_width * c->image_height / 4 + (16 << 10));
}

static boolean empty_output_buffer(j_compress_ptr c) {
	encoder *e = c->client_data;
	e->file->size = e->room; // all of it, whatever free_in_buffer says
	grow(e, e->room * 2);
	return TRUE;
}

static void term_destination(j_compress_ptr c) {
	encoder *e = c->client_data;
	e->file->size = e->room - e->destination.free_in_buffer;
}

static void configure(j_compress_ptr c, const hr_picture *p) {
	c->image_width = p->width;
	c->image_height = p->height;
	c->input_components = p->channels;
	c->in_color_space = p->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
	jpeg_set_defaults(c);
	jpeg_set_quality(c, p->quality, TRUE);
	if (p->channels == 3) {
		c->comp_info[0].h_samp_factor = p->across;
		c->comp_info[0].v_samp_factor = p->down;
	}
	if (p->progressive)
		jpeg_simple_progression(c);
}

static void compress(encoder *e, const hr_picture *p, const uint8_t *pixels, ptrdiff_t stride) {
	j_compress_ptr c = &e->jpeg;
	jpeg_create_compress(c);
	e->destination.init_destination = init_destination;
	e->destination.empty_output_buffer = empty_output_buffer;
	e->destination.term_destination = term_destination;
	c->dest = &e->destination;
	configure(c, p);
	jpeg_start_compress(c, TRUE);
	while (c->next_scanline < c->image_height) {
		JSAMPROW row = (JSAMPROW)(pixels + (ptrdiff_t)c->next_scanline * stride);
		jpeg_write_scanlines(c, &row, 1);
	}
	jpeg_finish_compress(c);
}

int hr_encode(const hr_picture *p, const uint8_t *pixels, ptrdiff_t stride, hr_file *file) {
	encoder e;
	memset(&e, 0, sizeof(e));
	memset(file, 0, sizeof(*file));
	e.file = file;
	e.jpeg.err = jpeg_std_error(&e.errors);
	e.errors.error_exit = error_exit;
	e.errors.emit_message = emit_message;
	e.errors.output_message = output_message;
	e.jpeg.client_data = &e;
	if (!setjmp(e.failed))
		compress(&e, p, pixels, stride);
	jpeg_destroy_compress(&e.jpeg);
	if (e.status != HR_OK) {
		hr_release(file->data);
		file->data = NULL;
	}
	return e.status;
}
