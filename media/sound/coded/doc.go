// Package coded reads recordings whose samples are coded in packets: MP3, AAC, Opus,
// Vorbis, FLAC, ALAC and others, by themselves or with video.
//
// A [Recording] knows which samples each packet gives, so a window costs its own packets
// and a few before them, with which the decoder settles. MP3 and ADTS are framed by
// [github.com/headrace/headrace/media/av/mpa], MP4 is indexed by
// [github.com/headrace/headrace/media/av/mp4], and FFmpeg finds the packets of other
// containers. FFmpeg decodes all of them, in one thread.
//
// What an encoder has added is cut off, as the file says: LAME's delays, the edit list of
// MP4, the pre-skip of Opus.
package coded
