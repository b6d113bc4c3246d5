// Package mp4 reads the index of MP4, MOV and fragmented MP4 files.
//
// [Open] reads the headers of boxes, and those that describe: moov, wherever it is, and
// each moof. The media themselves are never read. What it makes of them is an [av.Table]
// for each stream, with the times and edits that ffprobe has.
//
// Files are not trusted. A box must be within its parent, a count within its box, and
// the packets within what a file of that size can hold, before memory is allocated for
// them. An error says which box is wrong, and where it is. One that wraps
// [ErrUnsupported] is no fault of the file: a general demuxer may read it.
package mp4
