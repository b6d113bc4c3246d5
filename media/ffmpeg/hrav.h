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
	HR_AV_CUT = -5, // the file ends before its packets do
	HR_AV_SYSTEM = -1000, // and, below it, the number of an error of the system: it was not about what is in a file
};

// What is known of a stream before its first packet. Zeros are unknown. Matrix, primaries and transfer are numbers of ITU-T H.273.
typedef struct {
	int32_t audio; // 1: it is
	uint32_t tag; // the container's four letters, the first lowest
	int32_t width, height;
	int32_t reorder; // frames that come later than their packets, at most
	int32_t matrix, primaries, transfer, range, siting;
	int32_t rate, channels, block, bits; // of sound
	int64_t bit_rate;                    // likewise: WMA is not read without it
	int64_t max_pixels;
} hr_av_stream;

enum { HR_AV_LIMITED = 1, HR_AV_FULL = 2 };                    // range
enum { HR_AV_LEFT = 1, HR_AV_CENTRE = 2, HR_AV_TOP_LEFT = 3 }; // siting of chroma; more as H.273 has them, plus 1

// Flags of packets: what it shows is decoded, and not handed out unless the decoder has patched it up; decoding may begin with it.
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

// Flags. Turned: matrix is known. Guessed: nothing but the container says which pictures are key.
enum { HR_AV_TRACK_DEFAULT = 1, HR_AV_TRACK_COVER = 2, HR_AV_TRACK_TURNED = 4, HR_AV_TRACK_GUESSED = 8 };

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

// Between: it is shown before the last packet that is not.
enum { HR_AV_PART_KEY = 1, HR_AV_PART_DISCARD = 2, HR_AV_PART_CORRUPT = 4, HR_AV_PART_BETWEEN = 8 };

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
	int32_t cut; // FFmpeg has seen that the file ends before its packets do
	size_t parts, extra_size;
	const hr_av_track *track;
	const hr_av_part *part;
	const uint8_t *extra;
} hr_av_file;

// A coded packet on its own, as readers give it and writers take it. Its bytes come beside it where it is given. Side is what the container says of it:
// a name, a 0, 4 bytes of a size, lower first, and so many bytes, once for each kind.
typedef struct {
	int64_t pts, dts, duration;
	int32_t track, flags; // HR_AV_PART_…
	uint32_t skip, cut;   // as of parts
	int64_t place;        // in the file, of what it is in; negative: the container does not tell
	const uint8_t *data, *side;
	size_t size, side_size;
} hr_av_coded;

// What enters a graph, or leaves it. Formats are FFmpeg's names.
typedef struct {
	char label[64], format[32];
	int32_t audio, width, height, aspect[2];
	int32_t unit[2], frame_rate[2]; // 0/0: unknown
	int32_t rate, channels;
	uint64_t layout; // 0: the usual one
	int32_t matrix, range;
} hr_av_port;

// What an encoder is to make. Numbers that are negative leave it to FFmpeg.
typedef struct {
	hr_av_port from; // frames that it is given
	int64_t bit_rate;
	int32_t gop, b_frames;
	float quality; // FFmpeg's scale of the codec, 1 being the best
	int32_t headers_apart; // the container has them in its own
} hr_av_encoding;

typedef struct hr_av_reader hr_av_reader;
typedef struct hr_av_bitstream hr_av_bitstream;
typedef struct hr_av_graph hr_av_graph;
typedef struct hr_av_encoder hr_av_encoder;
typedef struct hr_av_writer hr_av_writer;

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

	// Reads packets one by one from a file that is open, which stays the caller's. What it tells is its own, and lasts until it is closed.
	int (*reader_open)(hr_av_reader **, const hr_av_file **, int fd, int64_t from, int64_t size, char *error);
	// The packet lasts until the next call.
	int (*reader_read)(hr_av_reader *, hr_av_coded *, char *error);
	// Goes to a packet of a track with which decoding may begin, at a time or before it: place is where reading goes on.
	int (*reader_seek)(hr_av_reader *, int32_t track, int64_t time, int64_t *place, char *error);
	void (*reader_close)(hr_av_reader *);

	// Filters of coded packets, described as FFmpeg does it. What comes out is of the track that is told.
	int (*bitstream_open)(hr_av_bitstream **, const hr_av_track **, const char *filters, const hr_av_track *, const uint8_t *config, size_t size, char *error);
	// No packet: there are no more. All that it gives for those before must be taken.
	int (*bitstream_push)(hr_av_bitstream *, const hr_av_coded *, const uint8_t *data, const uint8_t *side, char *error);
	int (*bitstream_pull)(hr_av_bitstream *, hr_av_coded *, char *error);
	void (*bitstream_close)(hr_av_bitstream *);

	// A graph of filters. All outputs are brought to one of the formats, divided by |; none: any.
	int (*graph_open)(hr_av_graph **, const char *graph, const hr_av_port *in, int32_t inputs, const char *pictures, const char *samples, char *error);
	// Outputs are known when it is open.
	int32_t (*graph_outputs)(hr_av_graph *, int32_t output, hr_av_port *);
	// Sound comes out in pieces of so many samples, but for the last.
	void (*graph_pieces)(hr_av_graph *, int32_t output, int32_t samples);
	// Copies a frame: of raw bytes, as av_image_copy_to_buffer and av_samples_fill_arrays have them, or, without them, its planes. No frame: no more follow.
	int (*graph_push)(hr_av_graph *, int32_t input, const hr_av_frame *, const uint8_t *raw, size_t size, int64_t pts, char *error);
	// The frame lasts until the next call. HR_AV_NEEDS: more has to be pushed.
	int (*graph_pull)(hr_av_graph *, int32_t output, hr_av_frame *, int64_t *pts, char *error);
	// Copies the frame that came last, as raw bytes. Returns how many they are.
	int64_t (*graph_raw)(hr_av_graph *, uint8_t *to, size_t room);
	void (*graph_close)(hr_av_graph *);

	// Names of the formats that an encoder takes, divided by |, and of sound its rates likewise, where it does not take any.
	int (*encoder_takes)(const char *codec, int32_t *audio, char *formats, char *rates, size_t room, char *error);
	// Options are as in "name=value:name=value".
	int (*encoder_open)(hr_av_encoder **, const hr_av_track **, int32_t *samples, const char *codec, const hr_av_encoding *, const char *options, char *error);
	int (*encoder_push)(hr_av_encoder *, const hr_av_frame *, int64_t pts, char *error); // no frame: no more follow
	int (*encoder_pull)(hr_av_encoder *, hr_av_coded *, char *error);
	void (*encoder_close)(hr_av_encoder *);

	// Writes a container into a file that is open and can be sought in. Packets of a track come in the order of decoding; they are interleaved.
	int (*writer_open)(hr_av_writer **, int fd, const char *format, int32_t *headers_apart, char *error);
	int (*writer_add)(hr_av_writer *, const hr_av_track *, const uint8_t *config, size_t size, char *error);
	int (*writer_begin)(hr_av_writer *, const char *options, char *error);
	int (*writer_write)(hr_av_writer *, const hr_av_coded *, const int32_t unit[2], const uint8_t *data, const uint8_t *side, char *error);
	int (*writer_finish)(hr_av_writer *, char *error);
	void (*writer_close)(hr_av_writer *);
	// The name of the format that files of a name usually have; NULL: none.
	const char *(*writer_format)(const char *name);

	// Reads all packets of a file that is open, which stays the caller's. It need not be mapped: whoever makes it shorter meanwhile gets an error.
	int (*demux_file)(hr_av_file **, int fd, int64_t from, int64_t size, char *error);
	// Copies tags, chapters and dispositions, after all tracks were added: `tracks` are those of the reader, in their order. A window, in microseconds of the
	// file, has the chapters in it, whose times begin with it; HR_AV_NO_TIME: from the file's beginning, whose times stay; to its end.
	int (*writer_like)(hr_av_writer *, const hr_av_reader *, const int32_t *tracks, int64_t begin, int64_t end, char *error);
	// Packets of other tracks need not come, and so cost no reading where the container can leave them out.
	void (*reader_only)(hr_av_reader *, const int32_t *tracks, int32_t count);

	// Tells whether options of a filter of a graph, of an encoder or a container, as they are given, may have it open files: HR_AV_UNSUPPORTED, and which.
	int (*files)(int32_t kind, const char *name, const char *options, char *error);

	// Opens a decoder as open does: that of a name, "" being the usual one of the codec, with options as in "name=value:name=value".
	int (*open_named)(hr_av_decoder **, const char *codec, const char *name, const char *options, const hr_av_stream *, const uint8_t *config, size_t size, char *error);

	// A frame without a head: how many bytes it has, in a format of FFmpeg's name, or an error; and the tag by which the decoder of "rawvideo" knows the format.
	int64_t (*raw_picture)(const char *format, int32_t width, int32_t height, uint32_t *tag, char *error);
} hr_av;

enum { HR_AV_OF_GRAPH, HR_AV_OF_ENCODER, HR_AV_OF_CONTAINER };

#endif
