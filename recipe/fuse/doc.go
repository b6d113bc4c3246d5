// Package fuse finds the steps of a recipe that the engine carries out as one.
//
// Decoding, all operations on an image, and batching become one operation that reads a
// compressed file and writes final pixels into their row of a batch: no image in between
// is stored, and what a crop throws away need not be decoded. Steps of other kinds are
// between such operations, and so do merges and routes. [Fuse] says which steps are one
// [Part] and what they come to, [Separate] makes a part of each.
//
//	plan, err := fuse.Fuse(r)
//	images := plan.Last.Images
//	err = media.MakePlan(info, images.Decode, images.Steps, &key, &geometry)
//
// The pixels are those of the steps one by one; that is for package media to keep.
package fuse
