package batch

import (
	"slices"
	"testing"

	"github.com/headrace/headrace/internal/byref"
)

// objects returns uses of n objects, and the list of those that have ended, in order.
func objects(n int) (all []byref.List, ended *[]int) {
	ended = new([]int)
	for i := range n {
		all = append(all, byref.List{byref.New(func() { *ended = append(*ended, i) })})
	}
	return all, ended
}

// A batch has one use of each object, whichever of its rows they are in, and a copy of a
// row has another.
func TestObjectsEndWithTheLastBatchThatHasThem(t *testing.T) {
	all, ended := objects(3)
	var first, second kept
	for _, one := range all {
		first.add(one)
	}
	first.add(nil)
	second.add(first.share())

	one := first.take()
	one.Leave()
	if again := first.take(); again != nil || len(*ended) > 0 {
		t.Fatalf("taken twice: %v; ended while another batch has them: %v", again, *ended)
	}
	two := second.take()
	two.Leave()
	if want := []int{0, 1, 2}; !slices.Equal(*ended, want) {
		t.Errorf("ended %v, want %v", *ended, want)
	}
}

// Batches that were sent keep their objects until their own memory is given back.
func TestObjectsOfSentBatchesAreTheirs(t *testing.T) {
	all, ended := objects(2)
	var s Slots
	s.sent.by = map[[2]uint32]byref.List{{1, 0}: all[0], {1, 1}: all[1]}
	s.Forget(2, 1)
	if len(*ended) > 0 {
		t.Fatalf("another segment's slot ended %v", *ended)
	}
	s.Forget(1, 1)
	s.Forget(1, 1)
	if !slices.Equal(*ended, []int{1}) {
		t.Errorf("ended %v, want that of slot 1, once", *ended)
	}
	s.Forget(1, 0)
	if !slices.Equal(*ended, []int{1, 0}) || len(s.sent.by) > 0 {
		t.Errorf("ended %v, and %d batches are kept", *ended, len(s.sent.by))
	}
}
