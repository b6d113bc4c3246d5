// Package fuse finds the steps of a recipe that the engine carries out as one.
//
// Decoding, all operations on an image, and batching become one operation that reads a compressed file and writes final pixels into
// their row of a batch: no image in between is stored, and what a crop throws away need not be decoded. [Fuse] says which steps these are
// and what they come to.
//
//	plan, err := fuse.Fuse(r)
//	err = media.MakePlan(info, plan.Images.Decode, plan.Images.Steps, &key, &geometry)
//
// The pixels are those of the steps one by one; that is for package media to keep.
package fuse
