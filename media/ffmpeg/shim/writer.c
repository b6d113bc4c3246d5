// Containers, written packet by packet into a file that is open.
#include "shim.h"

#include <errno.h>
#include <libavutil/display.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct hr_av_writer {
	AVFormatContext *container;
	AVPacket *packet;
	int fd, begun;
	int64_t at, size;
	int failed; // the system's number of an error of writing
};

#if LIBAVFORMAT_VERSION_MAJOR >= 61
static int write_file(void *to, const uint8_t *from, int n) {
#else
static int write_file(void *to, uint8_t *from, int n) {
#endif
	hr_av_writer *w = to;
	for (int at = 0; at < n;) {
		ssize_t put = pwrite(w->fd, from + at, n - at, w->at);
		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0) {
			w->failed = put < 0 ? errno : EIO;
			return AVERROR(w->failed);
		}
		at += (int)put;
		w->at += put;
	}
	if (w->at > w->size)
		w->size = w->at;
	return n;
}

static int64_t seek_file(void *in, int64_t to, int whence) {
	hr_av_writer *w = in;
	switch (whence & ~AVSEEK_FORCE) {
	case AVSEEK_SIZE:
		return w->size;
	case SEEK_CUR:
		to += w->at;
		break;
	case SEEK_END:
		to += w->size;
	}
	if (to < 0)
		return AVERROR(EINVAL);
	return w->at = to;
}

static void close_io(AVIOContext **io) {
	if (*io != NULL)
		av_freep(&(*io)->buffer);
	avio_context_free(io);
}

static AVIOContext *open_io(void *of, int writes, int (*read)(void *, uint8_t *, int), int64_t (*seek)(void *, int64_t, int)) {
	enum { buffer = 1 << 16 };
	uint8_t *room = av_malloc(buffer);
	AVIOContext *io = room != NULL ? avio_alloc_context(room, buffer, writes, of, read, writes ? write_file : NULL, seek) : NULL;
	if (io == NULL)
		av_free(room);
	return io;
}

// The index of an MP4 is moved to the front by reading what was written: from places of its own.
typedef struct {
	hr_av_writer *writer;
	int64_t at;
} again;

static int read_again(void *from, uint8_t *to, int n) {
	again *a = from;
	ssize_t got;
	do
		got = pread(a->writer->fd, to, n, a->at);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return AVERROR(errno);
	a->at += got;
	return got == 0 ? AVERROR_EOF : (int)got;
}

static int64_t seek_again(void *in, int64_t to, int whence) {
	again *a = in;
	switch (whence & ~AVSEEK_FORCE) {
	case AVSEEK_SIZE:
		return a->writer->size;
	case SEEK_CUR:
		to += a->at;
		break;
	case SEEK_END:
		to += a->writer->size;
	}
	return to < 0 ? AVERROR(EINVAL) : (a->at = to);
}

// A muxer that opens its own output again does so to read it; it gets no other file.
static int open_again(AVFormatContext *f, AVIOContext **io, const char *url, int flags, AVDictionary **options) {
	(void)url, (void)options;
	if (flags & AVIO_FLAG_WRITE)
		return AVERROR(EPERM);
	again *a = calloc(1, sizeof *a);
	if (a == NULL)
		return AVERROR(ENOMEM);
	a->writer = f->opaque;
	*io = open_io(a, 0, read_again, seek_again);
	if (*io == NULL)
		free(a);
	return *io != NULL ? 0 : AVERROR(ENOMEM);
}

static int close_again(AVFormatContext *f, AVIOContext *io) {
	(void)f;
	free(io->opaque);
	close_io(&io);
	return 0;
}

AVFormatContext *hr_writer_container(hr_av_writer *w) { return w->container; }

void hr_writer_close(hr_av_writer *w) {
	if (w == NULL)
		return;
	if (w->container != NULL) {
		close_io(&w->container->pb);
		avformat_free_context(w->container);
	}
	av_packet_free(&w->packet);
	free(w);
}

static int refused(hr_av_writer *w, int result, char *error) {
	if (w->failed == 0)
		return hr_failed(result, error);
	snprintf(error, HR_AV_TEXT, "%s", strerror(w->failed));
	return HR_AV_SYSTEM - w->failed;
}

// With an index of its own each device, protocol or list of further files is a muxer, too: such have no place here.
static const AVOutputFormat *format_of(const char *name) {
	const AVOutputFormat *f = av_guess_format(name, NULL, NULL);
	return f != NULL && !(f->flags & AVFMT_NOFILE) ? f : NULL;
}

const char *hr_writer_format(const char *name) {
	const AVOutputFormat *f = av_guess_format(NULL, name, NULL);
	return f != NULL && !(f->flags & AVFMT_NOFILE) ? f->name : NULL;
}

int hr_writer_open(hr_av_writer **to, int fd, const char *format, int32_t *headers_apart, char *error) {
	hr_said[0] = 0;
	*to = NULL;
	const AVOutputFormat *f = format_of(format);
	if (f == NULL)
		return hr_told(HR_AV_UNSUPPORTED, error, "no container to write is called ", format);
	hr_av_writer *w = calloc(1, sizeof *w);
	if (w == NULL)
		return hr_failed(AVERROR(ENOMEM), error);
	w->fd = fd;
	w->packet = av_packet_alloc();
	int result = w->packet != NULL ? avformat_alloc_output_context2(&w->container, f, NULL, "output") : AVERROR(ENOMEM);
	if (result >= 0 && (w->container->pb = open_io(w, 1, NULL, seek_file)) == NULL)
		result = AVERROR(ENOMEM);
	if (result < 0) {
		hr_writer_close(w);
		return hr_failed(result, error);
	}
	w->container->opaque = w;
	w->container->io_open = open_again;
	w->container->io_close2 = close_again;
	w->container->flags |= AVFMT_FLAG_CUSTOM_IO | AVFMT_FLAG_BITEXACT;
	w->container->strict_std_compliance = FF_COMPLIANCE_EXPERIMENTAL; // what a release calls that is what another takes
	*headers_apart = (f->flags & AVFMT_GLOBALHEADER) != 0;
	*to = w;
	return 0;
}

static int turn(AVStream *s, const int32_t matrix[9]) {
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(60, 31, 102)
	AVPacketSideData *d = av_packet_side_data_new(&s->codecpar->coded_side_data, &s->codecpar->nb_coded_side_data, AV_PKT_DATA_DISPLAYMATRIX, 9 * 4, 0);
	uint8_t *to = d != NULL ? d->data : NULL;
#else
	uint8_t *to = av_stream_new_side_data(s, AV_PKT_DATA_DISPLAYMATRIX, 9 * 4);
#endif
	if (to == NULL)
		return AVERROR(ENOMEM);
	memcpy(to, matrix, 9 * 4);
	return 0;
}

int hr_writer_add(hr_av_writer *w, const hr_av_track *t, const uint8_t *config, size_t size, char *error) {
	hr_said[0] = 0;
	AVStream *s = avformat_new_stream(w->container, NULL);
	if (s == NULL)
		return hr_failed(AVERROR(ENOMEM), error);
	int result = hr_make_parameters(s->codecpar, t, config, size);
	if (result < 0)
		return hr_failed(result, error);
	const AVOutputFormat *f = w->container->oformat;
	if (avformat_query_codec(f, s->codecpar->codec_id, FF_COMPLIANCE_EXPERIMENTAL) == 0) {
		snprintf(error, HR_AV_TEXT, "the container %s cannot hold %s", f->name, t->codec);
		return HR_AV_UNSUPPORTED;
	}
	// The letters of one container are not those of another; it finds its own. Some releases write those of PCM in MP4 without the box that says how wide it is.
	if (t->about.tag == MKTAG('i', 'p', 'c', 'm') || t->about.tag == MKTAG('f', 'p', 'c', 'm') ||
		(f->codec_tag != NULL && av_codec_get_id(f->codec_tag, t->about.tag) != s->codecpar->codec_id))
		s->codecpar->codec_tag = 0;
	s->time_base = (AVRational){t->unit[0], t->unit[1]};
	s->avg_frame_rate = (AVRational){t->rate[0], t->rate[1]};
	s->sample_aspect_ratio = s->codecpar->sample_aspect_ratio;
	if (t->flags & HR_AV_TRACK_DEFAULT)
		s->disposition |= AV_DISPOSITION_DEFAULT;
	if (t->language[0] != 0 && (result = av_dict_set(&s->metadata, "language", t->language, 0)) < 0)
		return hr_failed(result, error);
	if (t->flags & HR_AV_TRACK_TURNED && (result = turn(s, t->matrix)) < 0)
		return hr_failed(result, error);
	return 0;
}

int hr_writer_begin(hr_av_writer *w, const char *options, char *error) {
	hr_said[0] = 0;
	AVDictionary *given = NULL;
	int result = av_dict_parse_string(&given, options, "=", ":", 0);
	if (result >= 0)
		result = avformat_write_header(w->container, &given);
	w->begun = result >= 0;
	const AVDictionaryEntry *left = av_dict_get(given, "", NULL, AV_DICT_IGNORE_SUFFIX);
	if (result >= 0 && left != NULL)
		result = hr_told(HR_AV_UNSUPPORTED, error, "the container has no option ", left->key);
	else if (result < 0)
		result = refused(w, result, error);
	av_dict_free(&given);
	return result < 0 ? result : 0;
}

int hr_writer_write(hr_av_writer *w, const hr_av_coded *p, const int32_t unit[2], const uint8_t *data, const uint8_t *side, char *error) {
	hr_said[0] = 0;
	if ((unsigned)p->track >= w->container->nb_streams)
		return hr_told(HR_AV_MISUSE, error, "a packet of a track that was not added", "");
	int result = hr_make_packet(w->packet, p, data, side);
	if (result >= 0) {
		av_packet_rescale_ts(w->packet, (AVRational){unit[0], unit[1]}, w->container->streams[p->track]->time_base);
		result = av_interleaved_write_frame(w->container, w->packet);
	}
	if (result >= 0 && w->failed != 0)
		result = AVERROR(w->failed);
	return result < 0 ? refused(w, result, error) : 0;
}

int hr_writer_finish(hr_av_writer *w, char *error) {
	hr_said[0] = 0;
	int result = av_write_trailer(w->container);
	avio_flush(w->container->pb);
	if (result >= 0)
		result = w->container->pb->error;
	if (result >= 0 && w->failed != 0)
		result = AVERROR(w->failed);
	return result < 0 ? refused(w, result, error) : 0;
}
