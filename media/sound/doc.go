// Package sound reads windows of recordings: any rate, any channels.
//
// A [Stream] is a recording whose samples can be read from any place on. [Window] takes a
// part of one, mixes its channels and brings it to another rate. A window is that slice
// of what the whole recording would be: windows that touch tile it, to the bit, whatever
// their lengths, because each sample that comes out depends on its place alone.
//
// Samples are float32 from -1 to 1, interleaved: those of all channels at one time are
// side by side. Formats are packages below this one, and are made known by [Register].
package sound
