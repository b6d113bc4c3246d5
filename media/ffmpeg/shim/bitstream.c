// Filters of coded packets, as in "h264_mp4toannexb".
#include "shim.h"

#include <libavcodec/bsf.h>
#include <stdlib.h>

struct hr_av_bitstream {
	AVBSFContext *filter;
	AVPacket *packet;
	hr_av_track out;
	hr_side side;
};

void hr_bitstream_close(hr_av_bitstream *b) {
	if (b == NULL)
		return;
	av_bsf_free(&b->filter);
	av_packet_free(&b->packet);
	free((void *)b->out.config);
	free(b->side.bytes);
	free(b);
}

int hr_bitstream_open(hr_av_bitstream **to, const hr_av_track **out, const char *filters, const hr_av_track *in, const uint8_t *config, size_t size, char *error) {
	hr_said[0] = 0;
	*to = NULL;
	hr_av_bitstream *b = calloc(1, sizeof *b);
	if (b == NULL)
		return hr_failed(AVERROR(ENOMEM), error);
	b->packet = av_packet_alloc();
	int result = b->packet != NULL ? av_bsf_list_parse_str(filters, &b->filter) : AVERROR(ENOMEM);
	if (result >= 0)
		result = hr_make_parameters(b->filter->par_in, in, config, size);
	if (result >= 0) {
		b->filter->time_base_in = (AVRational){in->unit[0], in->unit[1]};
		result = av_bsf_init(b->filter);
	}
	if (result >= 0)
		result = hr_tell_parameters(b->filter->par_out, b->filter->time_base_out, &b->out);
	if (result < 0) {
		hr_bitstream_close(b);
		return hr_failed(result, error);
	}
	*to = b;
	*out = &b->out;
	return 0;
}

int hr_bitstream_push(hr_av_bitstream *b, const hr_av_coded *p, const uint8_t *data, const uint8_t *side, char *error) {
	hr_said[0] = 0;
	av_packet_unref(b->packet);
	int result = p != NULL ? hr_make_packet(b->packet, p, data, side) : 0;
	if (result >= 0)
		result = av_bsf_send_packet(b->filter, p != NULL ? b->packet : NULL);
	return result < 0 ? hr_failed(result, error) : 0;
}

int hr_bitstream_pull(hr_av_bitstream *b, hr_av_coded *to, char *error) {
	hr_said[0] = 0;
	av_packet_unref(b->packet);
	int result = av_bsf_receive_packet(b->filter, b->packet);
	if (result == AVERROR(EAGAIN))
		return HR_AV_NEEDS;
	if (result == AVERROR_EOF)
		return HR_AV_END;
	if (result >= 0)
		result = hr_tell_packet(b->packet, &b->side, to);
	return result < 0 ? hr_failed(result, error) : HR_AV_FRAME;
}
