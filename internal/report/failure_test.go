package report

import (
	"errors"
	"fmt"
	"testing"

	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/sample"
)

// An error names the file first, what is wrong with it, and then the step and the place.
func TestErrorsNameTheSampleFirst(t *testing.T) {
	of := func(cause error) error {
		return &pipe.StageError{Stage: "decode_image+batch", Epoch: 2, Pos: 7, Err: &sample.Error{Key: "a/b.jpg", Index: 3, Err: cause}}
	}
	output := &pipe.StageError{Stage: "map", Pos: 7, Err: &sample.Error{Key: "a\nb", Output: "4.1", Err: errors.New("bad")}}
	for want, err := range map[string]error{
		"EOF": errors.New("EOF"),
		"a/b.jpg: truncated\n  in decode_image+batch, epoch 2, position 7":                                    of(errors.New("media: truncated")),
		"a/b.jpg: truncated\n  in decode_image, epoch 2, position 7":                                          of(&core.StepError{Step: "decode_image", Err: errors.New("truncated")}),
		"a/b.jpg: one line\n  in decode_image+batch, epoch 2, position 7\nand another":                        of(errors.New("one line\nand another")),
		"a/b.jpg: cannot be read: no such file\n  in decode_image+batch, epoch 2, position 7":                 of(errors.New(`store: read "/data/a/b.jpg": no such file`)),
		"a/b.jpg: /data/shard.tar cannot be read: no such file\n  in decode_image+batch, epoch 2, position 7": of(errors.New(`store: read "/data/shard.tar": no such file`)),
		`a\nb: bad` + "\n  in map, epoch 0, position 7, output 4.1":                                           output,
		"the run: a/b.jpg: truncated\n  in decode_image+batch, epoch 2, position 7\nand more":                 fmt.Errorf("the run: %w\nand more", of(errors.New("truncated"))),
		"pipe: stage decode_image: epoch 2, item 7: no sample": &pipe.StageError{Stage: "decode_image", Epoch: 2, Pos: 7,
			Err: errors.New("no sample")},
	} {
		if got := Failure(err); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

// Of a stage that carries out several steps, the one that failed is named.
func TestStepsThatFailed(t *testing.T) {
	in := func(err error) error { return &pipe.StageError{Stage: "first+second", Err: err} }
	for want, err := range map[string]error{
		"":       in(errors.New("bad")),
		"crop":   in(&core.StepError{Step: "crop", Err: errors.New("bad")}),
		"second": in(&extern.CallError{Step: "second"}),
		"first":  in(&extern.CallError{}),
		"died":   in(&extern.WorkerError{Stage: "died"}),
		"late":   in(&extern.LimitError{Stage: "late"}),
	} {
		if got := Step(err); got != want {
			t.Errorf("%v: %q, not %q", err, got, want)
		}
	}
}
