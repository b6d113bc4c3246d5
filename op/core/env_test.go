package core_test

import (
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/loadertest"
	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/sample"
)

// Later samples are younger, whatever numbers people give to epochs.
func TestAgesFollowTheOrderOfARun(t *testing.T) {
	for _, first := range []int{0, 1<<24 - 1, 20261121, 1 << 60} {
		w := core.Env{Epoch: first}
		last := w.Age(sample.ID{Epoch: first})
		for _, id := range []sample.ID{{Epoch: first, Pos: 1}, {Epoch: first, Pos: 1<<40 - 1}, {Epoch: first + 1}, {Epoch: first + 2, Pos: 7}} {
			age := w.Age(id)
			if age <= last {
				t.Errorf("from epoch %d on: %+v is older than what came before it", first, id)
			}
			last = age
		}
	}
}

// An image that is enlarged before it is cut takes more than its file and its result
// say.
func TestPicturesOnTheWayAreReserved(t *testing.T) {
	root := phototest.Folder(t, 4)
	const steps = `{"files":{"pattern":%q,"root":"/"}},"decode_image",{"resize":{"size":1000}},
		{"resize":{"size":[8,8]}},{"batch":{"size":4}}`
	for _, fuse := range []bool{true, false} {
		l := loadertest.Open(t, loadertest.Recipe(t, steps, root), headrace.Config{Epochs: new(1), Fuse: &fuse, Workers: new(1)}, headrace.Options{})
		loadertest.Next(t, l).Release()
		for _, p := range l.Stats().Memory.Purposes {
			if p.Name == string(core.ForDecoder) && p.Peak < 1000*1000*3 {
				t.Errorf("fuse=%v: at most %d bytes were reserved", fuse, p.Peak)
			}
		}
	}
}
