package headrace_test

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	. "github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/pipe"
)

// With steps_per_epoch every epoch has the first batches that it would have had
// without, and a run that is resumed anywhere has the same.
func TestStepsPerEpoch(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 23)
	r := augmented(t, root, `{"size":4}`)
	var whole [][]row
	l := openLoader(t, r, Config{Epochs: new(3)}, Options{})
	for range 3 {
		whole = append(whole, drain(t, l)[:4]...)
	}
	c := Config{Epochs: new(3), StepsPerEpoch: new(4)}
	l = openLoader(t, r, c, Options{})
	if i := l.Info(); i.BatchesPerEpoch != 4 || !i.Exact {
		t.Errorf("%d batches per epoch, exact: %v", i.BatchesPerEpoch, i.Exact)
	}
	states := []State{l.Info().State}
	for k := range whole {
		b, err := l.Next(t.Context())
		if err != nil {
			t.Fatal(k, err)
		}
		if got := rows(t, b); !slices.Equal(got, whole[k]) || b.Step() != int64(k%4) || b.Epoch() != k/4 {
			t.Errorf("batch %d is another one: epoch %d, step %d", k, b.Epoch(), b.Step())
		}
		b.Release()
		states = append(states, l.State())
		if s := l.State(); s.Epoch != (k+1)/4 || s.Batches != int64((k+1)%4) {
			t.Errorf("after batch %d the state is %+v", k, s)
		}
		if k%4 == 3 {
			if _, err := l.Next(t.Context()); err != io.EOF {
				t.Fatal(err)
			}
			if e := l.Epoch(); e.Batches != 4 || e.Samples != 16 || e.Epoch != k/4 || e.Last != (k == 11) {
				t.Errorf("%+v", e)
			}
		}
	}
	if _, err := l.Next(t.Context()); err != pipe.ErrDone {
		t.Errorf("after the last epoch: %v", err)
	}
	for k := range len(whole) {
		if err := l.Start(states[k], nil); err != nil {
			t.Fatal(err)
		}
		for epoch := k / 4; epoch < 3; epoch++ {
			if got := drain(t, l); !slices.EqualFunc(got, whole[max(k, 4*epoch):4*epoch+4], slices.Equal) {
				t.Errorf("from batch %d on, epoch %d differs", k, epoch)
			}
		}
	}
}

// What could make ranks yield different numbers of batches is allowed, and they yield
// equal numbers; the rank that has too little says so.
func TestRanksThatLoseSamplesHaveEqualNumbersOfSteps(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 40)
	for _, name := range []string{"003.jpg", "011.jpg", "017.jpg", "018.jpg", "022.jpg", "036.jpg"} {
		phototest.Spoil(t, root, name)
	}
	r := augmented(t, root, `{"size":3,"drop_last":true}`)
	c := Config{Epochs: new(1), WorldSize: 2, OnError: Skip, StepsPerEpoch: new(4)}
	lost := 0
	for c.Rank = range 2 {
		l := openLoader(t, r, c, Options{})
		if got := drain(t, l); len(got) != 4 {
			t.Errorf("rank %d has %d batches", c.Rank, len(got))
		}
		lost += int(l.Epoch().Lost)
	}
	if lost == 0 {
		t.Error("nothing was lost: the test tells nothing")
	}
	c.StepsPerEpoch = new(6)
	short := 0
	for c.Rank = range 2 {
		l := openLoader(t, r, c, Options{})
		_, err := rowsUntilError(t, l)
		if _, again := l.Next(t.Context()); again != err && err != io.EOF {
			t.Errorf("%v, and then %v", err, again)
		}
		if errors.Is(err, ErrShort) && strings.Contains(err.Error(), "batches in epoch 0, and steps_per_epoch is 6") {
			short++
		} else if err != io.EOF {
			t.Error(err)
		}
	}
	if short == 0 {
		t.Error("no rank says that it has too little")
	}
	c.StepsPerEpoch, c.Rank = new(7), 0
	if _, err := Open(t.Context(), r, c, Options{}); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "an epoch of 18 samples has 6 batches") {
		t.Errorf("more steps than there are: %v", err)
	}
	c.StepsPerEpoch = nil
	if _, err := Open(t.Context(), r, c, Options{}); err == nil || !strings.Contains(err.Error(), "or set steps_per_epoch") {
		t.Errorf("without: %v", err)
	}
}
