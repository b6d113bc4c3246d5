// Package video gives frames of videos by number, and reads no more of a file than they
// need.
//
// [Open] finds the packets of a file: by its index, if it is MP4 or MOV, otherwise by
// [Library], which has to have the whole file. [Video.Clip] takes the numbers of frames
// and works out which packets they need. [Clip.Load] reads these, and [Clip.Decode] has
// them decoded, each frame exactly as if the whole video were decoded from its beginning.
// Packets that no wanted frame needs are not decoded.
//
// What is damaged is an error that names the frame: no frame is shown that a decoder has
// made up because something was missing.
//
// The package does not decode by itself. A library registers with [Use] when it is
// imported, as github.com/headrace/headrace/media/ffmpeg does.
package video
