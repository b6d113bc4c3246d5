// Containers: all packets of a file that is in memory.
#include "shim.h"

#include <libavutil/display.h>
#include <libavutil/intreadwrite.h>
#include <stdlib.h>
#include <string.h>

// Formats that a file of its own can have. Others name further files, which nobody has asked for.
#define FORMATS                                                                                                                \
	"mov,matroska,avi,mpegts,mpeg,mpegvideo,flv,ogg,asf,wav,w64,aiff,au,caf,flac,mp3,aac,ac3,eac3,amr,amrnb,amrwb,wv,"      \
	"h264,hevc,m4v,vc1,ivf,av1,obu,gif,dv,mxf,nut,yuv4mpegpipe"

// A file, and what it lies in.
typedef struct {
	hr_av_file file;
	hr_av_track *track;
	hr_av_part *part;
	uint8_t *extra;
	size_t part_room, extra_room;
} held;

typedef struct {
	const uint8_t *data;
	int64_t size, at;
} memory;

static int read_memory(void *from, uint8_t *to, int n) {
	memory *m = from;
	if (n > m->size - m->at)
		n = (int)(m->size - m->at);
	if (n <= 0)
		return AVERROR_EOF;
	memcpy(to, m->data + m->at, n);
	m->at += n;
	return n;
}

static int64_t seek_memory(void *in, int64_t to, int whence) {
	memory *m = in;
	switch (whence & ~AVSEEK_FORCE) {
	case AVSEEK_SIZE:
		return m->size;
	case SEEK_CUR:
		to += m->at;
		break;
	case SEEK_END:
		to += m->size;
	}
	if (to < 0 || to > m->size)
		return AVERROR(EINVAL);
	return m->at = to;
}

static int refuse(AVFormatContext *f, AVIOContext **io, const char *url, int flags, AVDictionary **options) {
	(void)f, (void)io, (void)url, (void)flags, (void)options;
	return AVERROR(EPERM);
}

AVFormatContext *hr_container(AVIOContext *io) {
	AVFormatContext *f = io != NULL ? avformat_alloc_context() : NULL;
	if (f == NULL)
		return NULL;
	f->pb = io;
	f->io_open = refuse;
	f->flags |= AVFMT_FLAG_CUSTOM_IO | AVFMT_FLAG_GENPTS;
	f->format_whitelist = av_strdup(FORMATS);
	f->protocol_whitelist = av_strdup("none");
	return f;
}

void hr_forget(hr_av_file *file) {
	held *h = (held *)file;
	if (h == NULL)
		return;
	for (int32_t i = 0; i < h->file.tracks; i++)
		free((void *)h->track[i].config);
	free(h->track);
	free(h->part);
	free(h->extra);
	free(h);
}

// grow makes room for so many more, at least doubling it. Returns NULL if there is none.
static void *grow(void *what, size_t *room, size_t have, size_t more, size_t each) {
	if (have + more <= *room)
		return what;
	size_t want = have + more > 2 * *room ? have + more : 2 * *room;
	if (want < 256)
		want = 256;
	void *new = realloc(what, want * each);
	if (new != NULL)
		*room = want;
	return new;
}

static const int32_t *display_matrix(const AVStream *s) {
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(60, 31, 102)
	const AVPacketSideData *d = av_packet_side_data_get(s->codecpar->coded_side_data, s->codecpar->nb_coded_side_data, AV_PKT_DATA_DISPLAYMATRIX);
	return d != NULL && d->size >= 9 * 4 ? (const int32_t *)d->data : NULL;
#else
	size_t size = 0;
	const uint8_t *d = av_stream_get_side_data(s, AV_PKT_DATA_DISPLAYMATRIX, &size);
	return d != NULL && size >= 9 * 4 ? (const int32_t *)d : NULL;
#endif
}

int64_t hr_time(int64_t t) { return t == AV_NOPTS_VALUE ? HR_AV_NO_TIME : t; }

// What it keeps is its own, for FFmpeg's memory goes with the call.
int hr_tell_track(const AVStream *s, hr_av_track *to) {
	const AVCodecParameters *c = s->codecpar;
	int result = hr_tell_parameters(c, s->time_base, to);
	if (result < 0)
		return result;
	to->id = s->id;
	if (s->disposition & AV_DISPOSITION_DEFAULT)
		to->flags |= HR_AV_TRACK_DEFAULT;
	if (s->disposition & AV_DISPOSITION_ATTACHED_PIC)
		to->flags |= HR_AV_TRACK_COVER;
	const AVDictionaryEntry *language = av_dict_get(s->metadata, "language", NULL, 0);
	if (language != NULL)
		snprintf(to->language, sizeof to->language, "%s", language->value);
	to->start = hr_time(s->start_time);
	to->duration = hr_time(s->duration);
	AVRational aspect = s->sample_aspect_ratio.num ? s->sample_aspect_ratio : c->sample_aspect_ratio;
	to->aspect[0] = aspect.num;
	to->aspect[1] = aspect.den;
	to->rate[0] = s->avg_frame_rate.num;
	to->rate[1] = s->avg_frame_rate.den;
	const int32_t *matrix = display_matrix(s);
	if (matrix != NULL) {
		to->flags |= HR_AV_TRACK_TURNED;
		memcpy(to->matrix, matrix, sizeof to->matrix);
	}
	return 0;
}

// tell_part keeps where a packet's bytes are in the file, or the bytes, if the container has them in pieces.
static int tell_part(held *h, const AVPacket *p, const uint8_t *data, size_t size) {
	void *room = grow(h->part, &h->part_room, h->file.parts, 1, sizeof *h->part);
	if (room == NULL)
		return AVERROR(ENOMEM);
	h->part = room;
	hr_av_part *to = &h->part[h->file.parts];
	*to = (hr_av_part){
		.pts = hr_time(p->pts), .dts = hr_time(p->dts), .duration = p->duration, .size = p->size, .track = p->stream_index,
	};
	if (p->flags & AV_PKT_FLAG_KEY)
		to->flags |= HR_AV_PART_KEY;
	if (p->flags & AV_PKT_FLAG_DISCARD)
		to->flags |= HR_AV_PART_DISCARD;
	if (p->flags & AV_PKT_FLAG_CORRUPT)
		to->flags |= HR_AV_PART_CORRUPT;
	size_t n = 0;
	const uint8_t *skip = av_packet_get_side_data(p, AV_PKT_DATA_SKIP_SAMPLES, &n);
	if (skip != NULL && n >= 8) {
		to->skip = AV_RL32(skip);
		to->cut = AV_RL32(skip + 4);
	}

	// Some containers tell where the packet's own head begins: then its bytes are a little behind.
	for (int64_t at = p->pos; p->pos >= 0 && at < p->pos + 64 && (uint64_t)at + p->size <= size; at++)
		if (memcmp(data + at, p->data, p->size) == 0) {
			to->offset = at;
			h->file.parts++;
			return 0;
		}
	room = grow(h->extra, &h->extra_room, h->file.extra_size, p->size, 1);
	if (room == NULL)
		return AVERROR(ENOMEM);
	h->extra = room;
	if (p->size > 0)
		memcpy(h->extra + h->file.extra_size, p->data, p->size);
	to->offset = size + h->file.extra_size;
	h->file.extra_size += p->size;
	h->file.parts++;
	return 0;
}

// Damaged files may have packets without end: more bytes than a file holds, or a packet for less than 4 of them, are none.
static int endless(const held *h, size_t size) { return h->file.parts > size / 4 + 4096 || h->file.extra_size > 2 * size + (1 << 20); }

static int read_all(held *h, AVFormatContext *f, const uint8_t *data, size_t size) {
	AVPacket *p = av_packet_alloc();
	if (p == NULL)
		return AVERROR(ENOMEM);
	int result;
	while ((result = av_read_frame(f, p)) >= 0) {
		if ((unsigned)p->stream_index < (unsigned)f->nb_streams && p->size >= 0)
			result = tell_part(h, p, data, size);
		av_packet_unref(p);
		if (result < 0 || endless(h, size))
			break;
	}
	av_packet_free(&p);
	if (result >= 0)
		return AVERROR_INVALIDDATA;
	return result == AVERROR_EOF ? 0 : result;
}

static int tell_file(held *h, AVFormatContext *f) {
	snprintf(h->file.format, sizeof h->file.format, "%s", f->iformat->name);
	h->file.duration = hr_time(f->duration);
	h->track = calloc(f->nb_streams + 1, sizeof *h->track);
	if (h->track == NULL)
		return AVERROR(ENOMEM);
	for (unsigned i = 0; i < f->nb_streams; i++) {
		h->file.tracks = i + 1;
		int result = hr_tell_track(f->streams[i], &h->track[i]);
		if (result < 0)
			return result;
	}
	h->file.track = h->track;
	h->file.part = h->part;
	h->file.extra = h->extra;
	return 0;
}

int hr_demux(hr_av_file **to, const uint8_t *data, size_t size, char *error) {
	enum { buffer = 1 << 15 };
	hr_said[0] = 0;
	*to = NULL;
	held *h = calloc(1, sizeof *h);
	uint8_t *room = av_malloc(buffer);
	memory m = {data, (int64_t)size, 0};
	AVIOContext *io = room != NULL ? avio_alloc_context(room, buffer, 0, &m, read_memory, NULL, seek_memory) : NULL;
	AVFormatContext *f = hr_container(io);
	int result = AVERROR(ENOMEM);
	if (h == NULL || f == NULL || io == NULL) {
		if (io == NULL)
			av_free(room);
		avformat_free_context(f);
		goto done;
	}

	result = avformat_open_input(&f, NULL, NULL, NULL); // on failure it frees f
	if (result >= 0)
		result = avformat_find_stream_info(f, NULL);
	if (result >= 0)
		result = read_all(h, f, data, size);
	if (result >= 0)
		result = tell_file(h, f); // what parsers have found out on the way is in it
	avformat_close_input(&f);
done:
	if (io != NULL) {
		av_freep(&io->buffer);
		avio_context_free(&io);
	}
	if (result < 0) {
		hr_forget(h != NULL ? &h->file : NULL);
		return hr_failed(result, error);
	}
	*to = &h->file;
	return 0;
}
