// Package av is the arithmetic of video: which frames a clip has, and which packets they
// need.
//
// A [Table] lists all packets of one stream of a file. It comes from an index of the
// file, such as [github.com/headrace/headrace/media/av/mp4] reads, and not from a
// decoder. Everything that a reader of video decides follows from it: a [Clip] picks
// frames by number, [Table.Runs] says which packets must be decoded to have them.
// Decoders carry that out.
//
// Frames are numbered as they are displayed, from 0 on. Times count from the first
// displayed frame. They are integers in the stream's time base, so nothing is rounded
// before somebody asks for seconds.
package av
