package headrace_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
	"testing"

	. "github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/internal/tier"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/pipe"
)

// From any state, the place n batches on is the one that the run comes to, whether it
// is computed or run to.
func TestSeekIsWhereTheRunComesTo(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 22)
	phototest.Spoil(t, root, "007.jpg")
	for name, c := range map[string]struct {
		batch  string
		config Config
	}{
		"computed":        {`{"size":4}`, Config{Epochs: new(3), OnError: Replace}},
		"drop_last":       {`{"size":4,"drop_last":true}`, Config{Epochs: new(3), OnError: Replace}},
		"a rank":          {`{"global_size":6}`, Config{Epochs: new(3), WorldSize: 4, Rank: 3, OnError: Replace}},
		"with losses":     {`{"size":4}`, Config{Epochs: new(3), OnError: Skip}},
		"steps_per_epoch": {`{"size":4}`, Config{Epochs: new(3), OnError: Replace, StepsPerEpoch: new(3)}},
	} {
		t.Run(name, func(t *testing.T) {
			r := augmented(t, root, c.batch)
			l := openLoader(t, r, c.config, Options{})
			states := []State{l.Info().State}
			var batches [][]row
			for b := range inAll(t, l) {
				batches = append(batches, rows(t, b))
				states = append(states, l.State())
			}
			for from := 0; from < len(states); from += tier.Cases(3, 1) {
				for n := 0; n < len(states)-from; n += tier.Cases(2, 1) {
					got, err := l.Seek(t.Context(), states[from], int64(n))
					if err != nil {
						t.Fatalf("%d after %d: %v", n, from, err)
					}
					want := states[from+n]
					want.Replaced, got.Replaced = 0, 0 // of batches that nobody looked at nobody knows
					if !reflect.DeepEqual(got, want) {
						t.Fatalf("%d after %d: %+v, want %+v", n, from, got, want)
					}
				}
			}
			if _, err := l.Seek(t.Context(), states[1], int64(len(states))); !errors.Is(err, pipe.ErrDone) {
				t.Errorf("after the end: %v", err)
			}
			if _, err := l.Seek(t.Context(), State{Epoch: -1}, 0); !errors.Is(err, ErrState) {
				t.Errorf("from nowhere: %v", err)
			}
			at, err := l.Seek(t.Context(), states[1], 4)
			if err != nil || l.Start(at, nil) != nil {
				t.Fatal(err)
			}
			b, err := l.Next(t.Context())
			if err != nil || !slices.Equal(rows(t, b), batches[5]) {
				t.Errorf("the batch there is another one (%v)", err)
			}
			b.Release()
		})
	}
	l := openLoader(t, augmented(t, root, `{"size":4}`), Config{OnError: Skip}, Options{})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Seek(ended, l.Info().State, 2); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
}

// What the ledger tells of a row is what the source, the order and the random numbers
// say, worked out here without the loader; also of rows that were moved because others
// were lost, of samples instead of others, and however operations are divided.
func TestOrigins(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 22)
	phototest.Spoil(t, root, "006.jpg")
	phototest.Spoil(t, root, "013.jpg")
	for name, c := range map[string]Config{
		"skip": {Epochs: new(2), OnError: Skip}, "replace": {Epochs: new(2), OnError: Replace},
		"a pass for each": {Epochs: new(2), OnError: Skip, Fuse: new(bool)},
	} {
		t.Run(name, func(t *testing.T) {
			l := openLoader(t, augmented(t, root, `{"size":4}`), c, Options{Ledger: true})
			seen, replaced := 0, 0
			for b := range inAll(t, l) {
				row := 0
				for i, o := range b.Origins() {
					if i != row {
						t.Fatalf("%+v in row %d, after row %d", o, i, row-1)
					}
					row++
					seen++
					if o.Replaced != nil {
						replaced++
					}
					checkOrigin(t, l, o, b.Text("key")[i])
				}
				if row != b.Rows() {
					t.Errorf("origins of %d rows of %d", row, b.Rows())
				}
			}
			if want := map[OnError]int{Skip: 40, Replace: 44}[c.OnError]; seen != want || (replaced > 0) != (c.OnError == Replace) {
				t.Errorf("%d rows, %d instead of others", seen, replaced)
			}
		})
	}
	l := openLoader(t, augmented(t, root, `{"size":4}`), Config{OnError: Skip}, Options{})
	b, err := l.Next(t.Context())
	if err != nil || b.Origins() != nil {
		t.Errorf("without a ledger: %v, %v", b.Origins(), err)
	}
	b.Release()
}

func checkOrigin(t *testing.T, l *Loader, o Origin, key string) {
	t.Helper()
	source := l.Sources()[0]
	place := order.Permute(22, 3, o.ID.Epoch)
	if index := place.At(o.ID.Pos); o.Replaced == nil && index != o.ID.Index || o.Replaced != nil && index != o.Replaced.ID.Index {
		t.Errorf("%+v: at this position stands index %d", o, index)
	}
	if o.Key != key || o.Key != source.Contents.Key(o.ID.Index) || o.ID.Source != "files" {
		t.Errorf("%+v, and the key is %q", o, key)
	}
	chance := order.NewKey(7, o.ID.Epoch, order.SourceID("files"), o.ID.Index)
	if len(o.Draws) != 2 || o.Draws[0].Step != "random_resized_crop" || o.Draws[1].Step != "random_flip" {
		t.Fatalf("%+v", o.Draws)
	}
	if flipped := chance.Float64(order.OpID("random_flip"), 0) < 0.5; o.Draws[1].Values["flipped"] != flipped {
		t.Errorf("%+v: flipped is %v", o, flipped)
	}
	crop := o.Draws[0].Values
	n := 2 * int(o.ID.Index) // of the image: those of even numbers are in the first folder
	if n >= 22 {
		n -= 21
	}
	rect := media.Rect{X: crop["x"].(int), Y: crop["y"].(int), Width: crop["width"].(int), Height: crop["height"].(int)}
	if rect.Width <= 0 || rect.Height <= 0 || !rect.In(40+n%7, 33+n%5) {
		t.Errorf("%+v of picture %d", rect, n)
	}
}

// What an operation of a program took from its Rand is reported as the numbers
// themselves.
func TestOriginsOfPrograms(t *testing.T) {
	leak.Check(t)
	if err := registerDice(); err != nil {
		t.Fatal(err)
	}
	r := parseRecipe(t, `{"files":{"pattern":%q,"root":"/","label":"parent"}},"dice","decode_image",{"center_crop":{"size":8}},{"batch":{"size":4}}`, phototest.Folder(t, 4))
	l := openLoader(t, r, Config{Epochs: new(1)}, Options{Ledger: true})
	b := nextOf(t, l)
	defer b.Release()
	for i, o := range b.Origins() {
		chance := order.NewKey(7, 0, order.SourceID("files"), int64(i))
		want := []any{chance.Intn(order.OpID("dice"), 0, 6), chance.Float64(order.OpID("dice"), 0)}
		if len(o.Draws) != 1 || o.Draws[0].Step != "dice" || !reflect.DeepEqual(o.Draws[0].Values["draws"], want) {
			t.Errorf("%+v, want %v", o.Draws, want)
		}
	}
}

type dice struct{}

type diceIn struct{ Rand Rand }

func (*dice) Do(_ context.Context, in diceIn) (struct{}, error) {
	again := in.Rand
	in.Rand.IntN(6)
	again.Float64()
	return struct{}{}, nil
}

var registerDice = sync.OnceValue(func() error {
	return Register("dice", "Draws.", func() Operation[diceIn, struct{}] { return new(dice) })
})
