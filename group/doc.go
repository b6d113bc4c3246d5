// Package group decides which samples come into a batch together: buckets of like
// lengths or shapes, as many as a budget of tokens or bytes allows, several to a row
// without a gap.
//
// It knows a sample by its length or its shape, which the caller tells, and nothing
// else. What it makes are aggregators for [pipe.Aggregate], one for each epoch:
//
//   - [Buckets] gathers samples of like lengths. [Placed] tells each the length to
//     which its batch is padded.
//   - [Shapes] gathers samples of one shape.
//   - [Budget] takes samples as they come, as many as their costs allow.
//   - [Pack] puts several samples after each other into a [Row] of a fixed length.
//     Rows are batched as any items are, with [pipe.Fill] or [pipe.Batch].
//
// Samples of a batch are handed on one by one, so that a [pipe.Fill] after can write
// them at the same time, each into its row:
//
//	begin, err := group.Shapes(shapeOf, group.ShapeOpts{Size: 32})
//	placed := pipe.Aggregate(samples, begin, pipe.AggregateOpts{Name: "buckets"})
//	batches := pipe.Fill(placed, 32, store, write, pipe.FillOpts{Name: "fill", Ordered: true, Last: group.Placed[Sample, Shape].Last})
//
// # Exactness
//
// What an aggregator here does with a sample depends on the samples that it holds, in
// their order, and never on those that it has handed on: between two batches, or two
// rows, it is as if they had not been. So a run that is resumed there yields what
// the uninterrupted run would have. The comments at each kind say why.
package group
