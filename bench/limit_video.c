// The limit of decoding whole frames: libavformat, libavcodec and libswscale by themselves, one thread, into memory that is
// used again. Prints what bench/video.py reads: videos a second, CPU seconds a video, frames of one.
//
//   limit_video FILE FRAMES SECONDS
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/imgutils.h>
#include <libswscale/swscale.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(clockid_t clock) {
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void check(int result, const char *what) {
	if (result >= 0)
		return;
	fprintf(stderr, "%s: %s\n", what, av_err2str(result));
	exit(1);
}

static int decode(const char *path, int most) {
	static struct SwsContext *scale;
	static uint8_t *to[4];
	static int stride[4];
	AVFormatContext *file = NULL;
	check(avformat_open_input(&file, path, NULL, NULL), path);
	check(avformat_find_stream_info(file, NULL), path);
	const AVCodec *codec;
	int stream = av_find_best_stream(file, AVMEDIA_TYPE_VIDEO, -1, -1, &codec, 0);
	check(stream, "video");
	AVCodecContext *decoder = avcodec_alloc_context3(codec);
	check(avcodec_parameters_to_context(decoder, file->streams[stream]->codecpar), "parameters");
	decoder->thread_count = 1;
	check(avcodec_open2(decoder, codec, NULL), "decoder");
	if (scale == NULL) {
		scale = sws_getContext(decoder->width, decoder->height, decoder->pix_fmt, decoder->width, decoder->height, AV_PIX_FMT_RGB24, SWS_BILINEAR, NULL, NULL, NULL);
		check(av_image_alloc(to, stride, decoder->width, decoder->height, AV_PIX_FMT_RGB24, 64), "memory");
	}

	AVPacket *packet = av_packet_alloc();
	AVFrame *frame = av_frame_alloc();
	int frames = 0, ended = 0;
	while (frames < most && !ended) {
		int result = av_read_frame(file, packet);
		if (result >= 0 && packet->stream_index == stream)
			check(avcodec_send_packet(decoder, packet), "packet");
		if (result < 0)
			avcodec_send_packet(decoder, NULL);
		av_packet_unref(packet);
		while (frames < most && (result = avcodec_receive_frame(decoder, frame)) >= 0) {
			sws_scale(scale, (const uint8_t *const *)frame->data, frame->linesize, 0, frame->height, to, stride);
			frames++;
		}
		ended = result == AVERROR_EOF;
	}
	av_frame_free(&frame);
	av_packet_free(&packet);
	avcodec_free_context(&decoder);
	avformat_close_input(&file);
	return frames;
}

int main(int count, char **arguments) {
	if (count != 4) {
		fprintf(stderr, "limit_video FILE FRAMES SECONDS\n");
		return 2;
	}
	int frames = decode(arguments[1], atoi(arguments[2])), done = 0; // and libraries are loaded
	double begun = now(CLOCK_MONOTONIC), used = now(CLOCK_PROCESS_CPUTIME_ID);
	do {
		decode(arguments[1], atoi(arguments[2]));
		done++;
	} while (now(CLOCK_MONOTONIC) - begun < atof(arguments[3]));
	double took = now(CLOCK_MONOTONIC) - begun;
	printf("{\"rate\": %f, \"cpu\": %f, \"frames\": %d}\n", done / took, (now(CLOCK_PROCESS_CPUTIME_ID) - used) / done, frames);
}
