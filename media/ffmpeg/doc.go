// Package ffmpeg decodes video and sound with FFmpeg, which is opened when the first
// packet comes.
//
// No header of FFmpeg is needed to build it. It opens a shim, a small library that
// scripts/ffmpeg.sh compiles against one release of FFmpeg, and that has the interface of
// hrav.h, the same for all of them. HEADRACE_FFMPEG in the environment chooses: "system"
// is the FFmpeg of the machine, a folder is the FFmpeg in it (or a shim in it). Without
// it, the FFmpeg that came with the engine is taken, and then the machine's.
//
// A Decoder is given packets, which somebody else found in a container, and hands out
// frames one after the other, in the memory that FFmpeg decoded them into. It has one
// thread: decoders side by side keep the cores busy. Each frame says which packet it is
// of, so that times are looked up where packets came from.
//
// Demux finds the packets of files in containers that no package of media/av reads. It is
// given the whole file, mapped or read, and opens no other.
//
// Without cgo nothing is decoded, and each call says so.
package ffmpeg
