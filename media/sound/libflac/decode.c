#include "decode.h"

#include <FLAC/stream_decoder.h>
#include <stdlib.h>
#include <string.h>

const char *const hr_flac_memory = "no memory";

struct hr_flac {
	FLAC__StreamDecoder *decoder;
	unsigned channels, bits;

	// During a call.
	const uint8_t *at, *end;
	float *to;
	size_t samples;
	int written;
	const char *wrong;
};

static FLAC__StreamDecoderReadStatus read_next(const FLAC__StreamDecoder *decoder, FLAC__byte *to, size_t *n, void *client);
static FLAC__StreamDecoderWriteStatus write_frame(const FLAC__StreamDecoder *decoder, const FLAC__Frame *frame, const FLAC__int32 *const *from, void *client);
static void note(const FLAC__StreamDecoder *decoder, FLAC__StreamDecoderErrorStatus status, void *client);
static int describe(hr_flac *d, const uint8_t *info);

hr_flac *hr_flac_open(const uint8_t *info) {
	hr_flac *d = calloc(1, sizeof *d);
	if (d == NULL) return NULL;
	d->decoder = FLAC__stream_decoder_new();
	if (d->decoder == NULL || !describe(d, info)) {
		hr_flac_close(d);
		return NULL;
	}
	return d;
}

// describe has the decoder read what comes before the frames. How many samples the whole
// has is not said: the decoder would stop after the last, and frames come in any order.
static int describe(hr_flac *d, const uint8_t *info) {
	uint8_t head[8 + 34] = {'f', 'L', 'a', 'C', 0x80, 0, 0, 34};
	memcpy(head + 8, info, 34);
	head[8 + 13] &= 0xF0;
	memset(head + 8 + 14, 0, 4);
	d->channels = (head[8 + 12] >> 1 & 7) + 1;
	d->bits = ((head[8 + 12] & 1) << 4 | head[8 + 13] >> 4) + 1;
	d->at = head;
	d->end = head + sizeof head;
	return FLAC__stream_decoder_init_stream(d->decoder, read_next, NULL, NULL, NULL, NULL, write_frame, NULL, note, d) == FLAC__STREAM_DECODER_INIT_STATUS_OK &&
	       FLAC__stream_decoder_process_until_end_of_metadata(d->decoder) && d->wrong == NULL;
}

const char *hr_flac_decode(hr_flac *d, const uint8_t *frame, size_t size, float *to, size_t samples) {
	d->at = frame;
	d->end = frame + size;
	d->to = to;
	d->samples = samples;
	d->written = 0;
	d->wrong = NULL;
	// It forgets what it has read and not decoded, also after an error.
	if (!FLAC__stream_decoder_flush(d->decoder)) return hr_flac_memory;
	FLAC__stream_decoder_process_single(d->decoder);
	if (FLAC__stream_decoder_get_state(d->decoder) == FLAC__STREAM_DECODER_MEMORY_ALLOCATION_ERROR) return hr_flac_memory;
	if (d->wrong != NULL) return d->wrong;
	if (!d->written) return "it ends too early";
	return NULL;
}

static FLAC__StreamDecoderReadStatus read_next(const FLAC__StreamDecoder *decoder, FLAC__byte *to, size_t *n, void *client) {
	(void)decoder;
	hr_flac *d = client;
	const size_t left = (size_t)(d->end - d->at);
	if (*n > left) *n = left;
	if (*n == 0) return FLAC__STREAM_DECODER_READ_STATUS_END_OF_STREAM;
	memcpy(to, d->at, *n);
	d->at += *n;
	return FLAC__STREAM_DECODER_READ_STATUS_CONTINUE;
}

static FLAC__StreamDecoderWriteStatus write_frame(const FLAC__StreamDecoder *decoder, const FLAC__Frame *frame, const FLAC__int32 *const *from, void *client) {
	(void)decoder;
	hr_flac *d = client;
	const FLAC__FrameHeader *h = &frame->header;
	if (d->written || h->blocksize != d->samples || h->channels != d->channels || h->bits_per_sample != d->bits) {
		d->wrong = "it has another form than its file";
		return FLAC__STREAM_DECODER_WRITE_STATUS_ABORT;
	}
	d->written = 1;

	// A power of two, so what comes out is exact up to 24 bits.
	const float scale = 1.0f / (float)(1u << (d->bits - 1));
	const size_t n = d->samples, channels = d->channels;
	float *restrict to = d->to;
	if (channels == 2) {
		const FLAC__int32 *left = from[0], *right = from[1];
		for (size_t i = 0; i < n; i++) {
			to[2 * i] = (float)left[i] * scale;
			to[2 * i + 1] = (float)right[i] * scale;
		}
		return FLAC__STREAM_DECODER_WRITE_STATUS_CONTINUE;
	}
	for (size_t c = 0; c < channels; c++) {
		for (size_t i = 0; i < n; i++) to[i * channels + c] = (float)from[c][i] * scale;
	}
	return FLAC__STREAM_DECODER_WRITE_STATUS_CONTINUE;
}

static void note(const FLAC__StreamDecoder *decoder, FLAC__StreamDecoderErrorStatus status, void *client) {
	(void)decoder;
	hr_flac *d = client;
	switch (status) {
	case FLAC__STREAM_DECODER_ERROR_STATUS_FRAME_CRC_MISMATCH:
		d->wrong = "its check sum is wrong";
		return;
	case FLAC__STREAM_DECODER_ERROR_STATUS_UNPARSEABLE_STREAM:
		d->wrong = "libFLAC cannot decode its form";
		return;
	default:
		d->wrong = "it is damaged";
	}
}

void hr_flac_close(hr_flac *d) {
	if (d->decoder != NULL) FLAC__stream_decoder_delete(d->decoder);
	free(d);
}

const char *hr_flac_version(void) { return FLAC__VERSION_STRING; }
