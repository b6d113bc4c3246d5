// What a packet's own head says of its picture. Parsers without an opinion and containers without an index call every picture key, and AVI has no times of
// display.
#include "shim.h"

#include <string.h>

enum { UNKNOWN, INTRA, PREDICTED, BETWEEN }; // refers to nothing; to pictures before it; is shown before the last that is not of this kind

// bits reads up to 25 of them; what is behind the end is 0.
static uint32_t bits(const AVPacket *p, int from, int n) {
	uint64_t all = 0;
	for (int i = 0; i < 5; i++)
		all = all << 8 | (from / 8 + i < p->size ? p->data[from / 8 + i] : 0);
	return (uint32_t)(all >> (40 - from % 8 - n)) & ((1u << n) - 1);
}

// after is where something begins behind a start code, or -1.
static int after(const AVPacket *p, int from, uint8_t code) {
	for (int i = from; i + 4 < p->size; i++)
		if (p->data[i] == 0 && p->data[i + 1] == 0 && p->data[i + 2] == 1 && p->data[i + 3] == code)
			return i + 4;
	return -1;
}

static int of_four(uint32_t type) { return type == 0 ? INTRA : type == 2 ? BETWEEN : PREDICTED; }

static int h263(const AVPacket *p) {
	if (bits(p, 0, 22) != 0x20)
		return UNKNOWN;
	if (bits(p, 35, 3) != 7)
		return bits(p, 38, 1) == 0 ? INTRA : PREDICTED;
	return bits(p, bits(p, 38, 3) == 1 ? 59 : 41, 3) == 0 ? INTRA : PREDICTED;
}

static int flv(const AVPacket *p) {
	if (bits(p, 0, 17) != 1)
		return UNKNOWN;
	uint32_t size = bits(p, 30, 3);
	return bits(p, 33 + (size == 0 ? 16 : size == 1 ? 32 : 0), 2) == 0 ? INTRA : PREDICTED;
}

static int picture(enum AVCodecID codec, const AVPacket *p) {
	int at;
	switch (codec) {
	case AV_CODEC_ID_MPEG4:
		at = after(p, 0, 0xB6);
		return at < 0 ? UNKNOWN : of_four(p->data[at] >> 6);
	case AV_CODEC_ID_MPEG1VIDEO:
	case AV_CODEC_ID_MPEG2VIDEO:
		at = after(p, 0, 0);
		return at < 0 || at + 1 >= p->size ? UNKNOWN : (p->data[at + 1] >> 3 & 7) == 1 ? INTRA : PREDICTED;
	case AV_CODEC_ID_H263:
	case AV_CODEC_ID_H263P:
		return h263(p);
	case AV_CODEC_ID_FLV1:
		return flv(p);
	case AV_CODEC_ID_MSMPEG4V1:
		return bits(p, 37, 2) == 0 ? INTRA : PREDICTED;
	case AV_CODEC_ID_MSMPEG4V2:
	case AV_CODEC_ID_MSMPEG4V3:
	case AV_CODEC_ID_WMV1:
		return bits(p, 0, 2) == 0 ? INTRA : PREDICTED;
	case AV_CODEC_ID_WMV2:
		return bits(p, 0, 1) == 0 ? INTRA : PREDICTED;
	case AV_CODEC_ID_VP8:
		return bits(p, 7, 1) == 0 ? INTRA : PREDICTED;
	default:
		return UNKNOWN;
	}
}

void hr_tell_picture(enum AVCodecID codec, const AVPacket *p, int32_t *flags) {
	int is = picture(codec, p);
	if (is == PREDICTED || is == BETWEEN)
		*flags &= ~HR_AV_PART_KEY;
	if (is == BETWEEN)
		*flags |= HR_AV_PART_BETWEEN;
}

// DivX and Xvid pack a picture and the one to show before it into a packet; an empty picture, of a few bytes, follows in the other's place. Decoders that begin
// with any but the first packet do not know of it. FFmpeg's own filter takes every small picture for an empty one, and never finds back where one is missing,
// as where another file was joined.
int hr_unpack(AVPacket *waits, AVPacket *p) {
	enum { most_empty = 19 };
	int first = after(p, 0, 0xB6);
	if (first < 0)
		return 0;
	int type = p->data[first] >> 6, second = after(p, first, 0xB6);
	int empty = p->size <= most_empty && type != 2;
	if (waits->data == NULL || !(empty || type == 2)) {
		av_packet_unref(waits);
		if (second < 0)
			return 0;
		int result = av_packet_ref(waits, p);
		if (result < 0)
			return result;
		p->size = second - 4;
		waits->data += p->size;
		waits->size -= p->size;
		if (waits->pos >= 0)
			waits->pos += p->size;
		return 0;
	}

	AVPacket *now = av_packet_alloc(); // what waits, at the time of this one
	int result = now == NULL ? AVERROR(ENOMEM) : av_packet_copy_props(now, p);
	if (result >= 0) {
		now->buf = waits->buf;
		now->data = waits->data;
		now->size = waits->size;
		now->pos = waits->pos;
		waits->buf = NULL;
		av_packet_unref(waits);
		if (!empty)
			av_packet_move_ref(waits, p);
		av_packet_unref(p);
		av_packet_move_ref(p, now);
	}
	av_packet_free(&now);
	return result;
}

int hr_is_packed(const AVFormatContext *f, const AVStream *s) {
	return strcmp(f->iformat->name, "avi") == 0 && s->codecpar->codec_id == AV_CODEC_ID_MPEG4;
}

int hr_tells_pictures(enum AVCodecID codec) {
	const AVCodecDescriptor *about = avcodec_descriptor_get(codec);
	switch (codec) {
	case AV_CODEC_ID_MPEG4:
	case AV_CODEC_ID_MPEG1VIDEO:
	case AV_CODEC_ID_MPEG2VIDEO:
	case AV_CODEC_ID_H263:
	case AV_CODEC_ID_H263P:
	case AV_CODEC_ID_FLV1:
	case AV_CODEC_ID_MSMPEG4V1:
	case AV_CODEC_ID_MSMPEG4V2:
	case AV_CODEC_ID_MSMPEG4V3:
	case AV_CODEC_ID_WMV1:
	case AV_CODEC_ID_WMV2:
	case AV_CODEC_ID_VP8:
	case AV_CODEC_ID_H264: // these have parsers that know
	case AV_CODEC_ID_HEVC:
	case AV_CODEC_ID_VP9:
	case AV_CODEC_ID_AV1:
		return 1;
	default:
		return about != NULL && about->props & AV_CODEC_PROP_INTRA_ONLY;
	}
}
