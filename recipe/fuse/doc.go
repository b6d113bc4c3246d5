// Package fuse finds the steps of a recipe that the engine carries out as one.
//
// Decoding, the operations on an image's geometry, and batching become one operation that reads a compressed file and writes final pixels into
// their row of a batch: no image in between is ever stored, and what a crop will throw away is not decoded. [Find] says which steps
// these are and what they come to.
//
//	images, err := fuse.Find(r, order.OpID)
//	media.MakePlan(info, images.Orient, images.Steps, draws, &plan)
//
// The result is the same as that of the steps one by one; that is for package media to keep.
package fuse
