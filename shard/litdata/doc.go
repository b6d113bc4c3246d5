// Package litdata reads sets of Lightning's LitData: chunks that a file index.json names.
//
// The leaves of a sample are its fields. Those of dictionaries have the names of their
// keys, with dots between those of one in another; those of lists and tuples have their
// numbers; a sample that is a leaf itself has the field "value". What they are follows
// from the names of LitData's serializers:
//
//   - int, float and bool are numbers, str and text text;
//   - bytes, jpeg, image, tiff, file, video, audio and others that keep files are bytes;
//   - tensor and numpy, with and without a header, are arrays;
//   - pil is an image: an array of height, width and channels.
//
// A leaf of pickle, or of a serializer that is not LitData's own, is no field. Chunks of
// LitData's TokensLoader have a field "tokens": a sample is what was written as one,
// since the length of blocks is not in the set.
//
// A sample of a chunk that is not compressed costs a read of its bytes. What zstd has
// compressed as one is a block: a chunk, a frame of some samples, or a sample, as
// LitData's compression_level has it. Chunks whose samples are rows of Arrow are refused.
package litdata
