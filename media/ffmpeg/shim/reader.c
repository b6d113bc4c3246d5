// Containers, packet by packet, from a file that is open. No more of it is held than a packet and the container's own index.
#include "shim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct hr_av_reader {
	hr_av_file file; // the first, for it is told
	AVFormatContext *container;
	AVIOContext *io;
	AVPacket *packet;
	hr_av_track *tracks;
	hr_side side;
	AVPacket **waits; // of each track, see hr_unpack
	int fd;
	int64_t from; // where it begins in the file
	int64_t at, size;
	int failed; // the system's number of an error of reading
	int cut;    // the file ends before its packets do
	int64_t allowed;
};

static int read_file(void *from, uint8_t *to, int n) {
	hr_av_reader *r = from;
	if (n > r->size - r->at)
		n = (int)(r->size - r->at);
	if (n <= 0)
		return AVERROR_EOF;
	ssize_t got;
	do
		got = pread(r->fd, to, n, r->from + r->at);
	while (got < 0 && errno == EINTR);
	if (got < 0) {
		r->failed = errno;
		return AVERROR(errno);
	}
	r->at += got;
	return got == 0 ? AVERROR_EOF : (int)got;
}

static int64_t seek_file(void *in, int64_t to, int whence) {
	hr_av_reader *r = in;
	switch (whence & ~AVSEEK_FORCE) {
	case AVSEEK_SIZE:
		return r->size;
	case SEEK_CUR:
		to += r->at;
		break;
	case SEEK_END:
		to += r->size;
	}
	if (to < 0 || to > r->size) // a packet that lies behind the end is damage, not the end
		return AVERROR(EINVAL);
	return r->at = to;
}

const AVFormatContext *hr_reader_container(const hr_av_reader *r) { return r->container; }

void hr_reader_close(hr_av_reader *r) {
	if (r == NULL)
		return;
	for (int32_t i = 0; r->waits != NULL && i < r->file.tracks; i++)
		av_packet_free(&r->waits[i]);
	free(r->waits);
	avformat_close_input(&r->container);
	if (r->io != NULL) {
		av_freep(&r->io->buffer);
		avio_context_free(&r->io);
	}
	hr_disallow(r->allowed);
	av_packet_free(&r->packet);
	for (int32_t i = 0; i < r->file.tracks; i++)
		free((void *)r->tracks[i].config);
	free(r->tracks);
	free(r->side.bytes);
	free(r);
}

static int refused(hr_av_reader *r, int result, char *error) {
	if (r->failed == 0)
		return hr_failed(result, error);
	snprintf(error, HR_AV_TEXT, "%s", strerror(r->failed));
	return HR_AV_SYSTEM - r->failed;
}

static int open_container(hr_av_reader *r) {
	enum { buffer = 1 << 16 };
	uint8_t *room = av_malloc(buffer);
	r->io = room != NULL ? avio_alloc_context(room, buffer, 0, r, read_file, NULL, seek_file) : NULL;
	if (r->io == NULL)
		av_free(room);
	r->container = hr_container(r->io);
	r->packet = av_packet_alloc();
	if (r->container == NULL || r->packet == NULL)
		return AVERROR(ENOMEM);
	int result = avformat_open_input(&r->container, NULL, hr_short_transport(r->io), NULL);
	if (result >= 0)
		result = avformat_find_stream_info(r->container, NULL);
	if (result < 0)
		return result;

	AVFormatContext *f = r->container;
	snprintf(r->file.format, sizeof r->file.format, "%s", f->iformat->name);
	r->file.duration = hr_time(f->duration);
	r->tracks = calloc(f->nb_streams + 1, sizeof *r->tracks);
	r->waits = calloc(f->nb_streams + 1, sizeof *r->waits);
	if (r->tracks == NULL || r->waits == NULL)
		return AVERROR(ENOMEM);
	for (unsigned i = 0; i < f->nb_streams && result >= 0; i++) {
		r->file.tracks = i + 1;
		result = hr_tell_track(f, f->streams[i], &r->tracks[i]);
		if (hr_is_packed(f, f->streams[i]) && (r->waits[i] = av_packet_alloc()) == NULL)
			result = AVERROR(ENOMEM);
	}
	r->file.track = r->tracks;
	return result;
}

int hr_reader_open(hr_av_reader **to, const hr_av_file **file, int fd, int64_t from, int64_t size, char *error) {
	hr_said[0] = 0;
	*to = NULL;
	hr_av_reader *r = calloc(1, sizeof *r);
	if (r == NULL)
		return hr_failed(AVERROR(ENOMEM), error);
	r->fd = fd;
	r->from = from;
	r->size = size;
	r->allowed = hr_allow(r->size); // which one packet may be
	int result = open_container(r);
	if (result < 0) {
		result = refused(r, result, error);
		hr_reader_close(r);
		return result;
	}
	*to = r;
	*file = &r->file;
	return 0;
}

// Tracks that turn up later, as in transport streams, are not told, so their packets are left out.
int hr_reader_read(hr_av_reader *r, hr_av_coded *to, char *error) {
	int result;
	do {
		hr_said[0] = 0;
		av_packet_unref(r->packet);
		result = av_read_frame(r->container, r->packet);
		r->cut |= hr_cut();
	} while (result >= 0 && (r->packet->stream_index >= r->file.tracks || r->packet->size < 0));
	if (result >= 0 && r->waits[r->packet->stream_index] != NULL)
		result = hr_unpack(r->waits[r->packet->stream_index], r->packet);
	if (result >= 0)
		result = hr_tell_packet(r->packet, &r->side, to);
	if (result >= 0)
		hr_tell_picture(r->container->streams[to->track]->codecpar->codec_id, r->packet, &to->flags);
	if (result == AVERROR_EOF && r->failed == 0 && r->cut)
		return hr_told(HR_AV_CUT, error, "the file is truncated: it ends before its packets do", "");
	if (result == AVERROR_EOF && r->failed == 0)
		return HR_AV_END;
	return result < 0 ? refused(r, result, error) : HR_AV_FRAME;
}

void hr_reader_only(hr_av_reader *r, const int32_t *tracks, int32_t count) {
	for (unsigned i = 0; i < r->container->nb_streams; i++)
		r->container->streams[i]->discard = AVDISCARD_ALL;
	for (int32_t i = 0; i < count; i++)
		if ((unsigned)tracks[i] < r->container->nb_streams)
			r->container->streams[tracks[i]]->discard = AVDISCARD_DEFAULT;
}

int hr_reader_seek(hr_av_reader *r, int32_t track, int64_t time, int64_t *place, char *error) {
	hr_said[0] = 0;
	for (int32_t i = 0; i < r->file.tracks; i++)
		if (r->waits[i] != NULL)
			av_packet_unref(r->waits[i]);
	int result = av_seek_frame(r->container, track, time, AVSEEK_FLAG_BACKWARD);
	*place = avio_tell(r->io);
	return result < 0 ? refused(r, result, error) : 0;
}
