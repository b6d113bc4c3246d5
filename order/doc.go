// Package order is the arithmetic that says which sample comes when, and what chance
// says about it.
//
// Nothing here holds state or memory that grows with the data, but for 8 bytes a block of
// [Windows], and 20·√n bytes for those who ask for [Permutation.Tabulated]: an epoch's
// order is a function from position to index ([Permutation]), a rank's share of it
// another ([Split]), and a random draw a third ([Key]). So a run can be cut, resumed,
// given other numbers of workers or ranks, and moved to another machine, and still the
// same sample is at the same place with the same crop.
//
//	p := order.Permute(samples, seed, epoch)
//	s := order.Split{Samples: samples, Batch: 256, World: 8, Rank: 3}
//	if err := s.Check(); err != nil { … }
//	for pos := range s.Len() {
//		global, _ := s.At(pos)
//		index := p.At(global)
//		key := order.NewKey(seed, epoch, order.SourceID("files"), index)
//		x := key.Float64(order.OpID("random_flip"), 0)
//		y := key.Output(3).Float64(order.OpID("random_flip"), 0) // for the fourth sample that was made of this one
//	}
//
// Numbers of many places at once cost a fraction of as many calls of At:
// [Share.Run], [Sequence.Each], and [Course.Run] for all steps from a position to a
// sample.
//
// Where samples are in blocks that are read as one, [Windows] is an order that reads each
// block once.
//
// Where the number of ranks changes inside an epoch, what was finished before is a list
// of ranges of places ([Share.Finished]), and what remains is split again
// ([Split.Over]).
//
// [Version] names all of these functions together. It goes into every saved state; a
// change of any number that they return needs another version.
//
// # Concurrency
//
// All types are values that nothing changes after they were made: any number of
// goroutines may use them.
//
// # Testing
//
// Philox is held against its published vectors, the permutation against being one
// (every small size whole, large ones by inverse) and against chance (chi-square over
// seeds and epochs), the split and the shares of what remains against lists that are
// really cut into pieces. Golden vectors pin Version.
package order

// Version is the number of the algorithms in this package. Anyone who saves a position
// saves it too: under another version the position means other samples.
const Version = 3
