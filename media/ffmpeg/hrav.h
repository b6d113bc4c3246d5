// What this package and its shim agree on. The shim (shim/hrav.c) is compiled against FFmpeg's headers into a library of its own; no structure of
// FFmpeg crosses this border, so one program works with any release that there is a shim for.
//
// A library exports one symbol, hr_av_1, an hr_av. Whatever changes in an existing field makes it hr_av_2; new functions come at the end.
#ifndef HEADRACE_HRAV_H
#define HEADRACE_HRAV_H

#include <stddef.h>
#include <stdint.h>

#define HR_AV_SYMBOL "hr_av_1"
#define HR_AV_TEXT 400 // bytes of an error's text, with the 0 at its end

// What calls return.
enum {
	HR_AV_NEEDS = 0, // all packets are used up
	HR_AV_FRAME = 1,
	HR_AV_END = 2, // the last frame has come
	HR_AV_CORRUPT = -1,
	HR_AV_UNSUPPORTED = -2,
	HR_AV_MEMORY = -3,
	HR_AV_MISUSE = -4,
};

// What is known of a stream before its first packet. Zeros are unknown. Matrix, primaries and transfer are numbers of ITU-T H.273.
typedef struct {
	int32_t audio;
	uint32_t tag; // the container's four letters, the first lowest
	int32_t width, height;
	int32_t reorder; // frames that come later than their packets, at most
	int32_t matrix, primaries, transfer, range, siting;
	int32_t rate, channels, block, bits; // of sound
	int64_t max_pixels;
} hr_av_stream;

enum { HR_AV_LIMITED = 1, HR_AV_FULL = 2 };                    // range
enum { HR_AV_LEFT = 1, HR_AV_CENTRE = 2, HR_AV_TOP_LEFT = 3 }; // siting of chroma; more as H.273 has them, plus 1

// Flags of packets: what it shows is decoded, and not handed out; decoding may begin with it.
enum { HR_AV_UNWANTED = 1, HR_AV_KEY = 2 };

typedef struct {
	uint64_t offset, size; // in the data that come with it
	int32_t flags;
} hr_av_packet;

enum { HR_AV_OTHER, HR_AV_GRAY, HR_AV_YUV, HR_AV_RGB, HR_AV_SOUND }; // what a frame has

enum { HR_AV_IS_KEY = 1, HR_AV_IS_CORRUPT = 2, HR_AV_IS_INTERLACED = 4, HR_AV_IS_TOP_FIRST = 8, HR_AV_IS_PLANAR = 16 };

// Where samples of a component are: the first `offset` bytes behind the beginning of its plane's rows, the next `step` bytes further, in a byte or, where
// shift + depth > 8, in two, the lower first, above `shift` bits that do not count.
typedef struct {
	int32_t plane, step, offset, shift, depth;
} hr_av_component;

enum { HR_AV_U8, HR_AV_S16, HR_AV_S32, HR_AV_F32, HR_AV_F64, HR_AV_S64 }; // samples of sound

// A frame. Its memory is the decoder's, until the next call.
typedef struct {
	int32_t kind, flags;
	int64_t packet; // which it came from, counted from 0; -1: unknown

	int32_t width, height;
	hr_av_component component[4]; // Y or R first
	const uint8_t *plane[4];      // the first row
	int64_t stride[4];            // may be negative
	int32_t chroma_x, chroma_y;   // chroma has 1 sample for 1<<chroma_x columns and 1<<chroma_y rows
	int32_t matrix, primaries, transfer, range, siting;
	int32_t aspect[2]; // of a pixel; 0: unknown

	const uint8_t *const *channel; // planar: one for each; else one for all
	int32_t samples, rate, channels, sample;
	uint64_t layout; // bits as WAV has them; 0: unknown

	char format[32]; // FFmpeg's name of the format
} hr_av_frame;

typedef struct hr_av_decoder hr_av_decoder;

// What is in a file. Times are in units of the stream; HR_AV_NO_TIME: unknown.
#define HR_AV_NO_TIME INT64_MIN

enum { HR_AV_TRACK_OTHER, HR_AV_TRACK_VIDEO, HR_AV_TRACK_AUDIO };

enum { HR_AV_TRACK_DEFAULT = 1, HR_AV_TRACK_COVER = 2, HR_AV_TRACK_TURNED = 4 }; // flags; turned: matrix is known

typedef struct {
	int32_t type, id, flags;
	hr_av_stream about;
	char codec[32]; // FFmpeg's name
	char language[8];
	const uint8_t *config;
	size_t config_size;
	int32_t unit[2]; // of times, in seconds
	int64_t start, duration;
	int32_t aspect[2], rate[2]; // of pixels, of frames on average
	int32_t matrix[9]; // as MP4 has it
	int32_t padding; // samples that the encoder has put before the first
} hr_av_track;

enum { HR_AV_PART_KEY = 1, HR_AV_PART_DISCARD = 2, HR_AV_PART_CORRUPT = 4 };

// A packet of a file. Its bytes are those of the file from offset on or, where offset is not below the file's size, those of `extra`.
typedef struct {
	int64_t pts, dts, duration;
	uint64_t offset;
	uint32_t size;
	int32_t track, flags;
	uint32_t skip, cut; // samples at its beginning and its end that are not part of the recording
} hr_av_part;

typedef struct {
	char format[64]; // FFmpeg's names
	int64_t duration; // in microseconds
	int32_t tracks;
	size_t parts, extra_size;
	const hr_av_track *track;
	const hr_av_part *part;
	const uint8_t *extra;
} hr_av_file;

typedef struct {
	uint32_t size; // of this structure
	uint32_t major; // of libavcodec

	// FFmpeg's own.
	const char *(*version)(void);
	const char *(*license)(void);
	const char *(*configuration)(void);

	// Names of the codecs that can be decoded, as in "h264", with a space behind each. Returns the bytes that all of them need, with the 0 at the end.
	size_t (*decoders)(char *names, size_t room);

	// Opens a decoder, of one thread. Error has room for HR_AV_TEXT bytes, here and below.
	int (*open)(hr_av_decoder **, const char *codec, const hr_av_stream *, const uint8_t *config, size_t size, char *error);
	// Copies packets, which takes effect with the next `next`. Last: no more follow. The packets before must be used up.
	int (*feed)(hr_av_decoder *, const uint8_t *data, size_t size, const hr_av_packet *, int32_t count, int32_t last, char *error);
	// Decodes until a frame comes. After an error the next call goes on behind the packet that made it, which is told.
	int (*next)(hr_av_decoder *, hr_av_frame *, int64_t *packet, char *error);
	// Forgets all packets and frames; packets are counted from 0 again.
	void (*flush)(hr_av_decoder *);
	void (*close)(hr_av_decoder *);

	// Reads all packets of a file in memory.
	int (*demux)(hr_av_file **, const uint8_t *data, size_t size, char *error);
	void (*forget)(hr_av_file *);
} hr_av;

#endif
