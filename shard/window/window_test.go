package window_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/headrace/headrace/shard"
	_ "github.com/headrace/headrace/shard/formats"
	"github.com/headrace/headrace/shard/window"
)

// open returns a table of rows "n,x" in CSV, whose x is 10 times n; x of row 7 is none.
func open(t *testing.T, rows int) (*shard.Dataset, *window.Windows) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.csv")
	text := []byte("n,x\n")
	for i := range rows {
		if text = append(text, byte('0'+i), ','); i != 7 {
			text = append(text, byte('0'+i), '0')
		}
		text = append(text, '\n')
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HEADRACE_CACHE", t.TempDir())
	d, err := shard.Open(t.Context(), []string{path}, shard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	groups, err := d.Groups(t.Context(), "", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return d, window.New(d, groups, nil, 1<<20)
}

func numbers(b []byte) (all []int64) {
	for ; len(b) > 0; b = b[8:] {
		all = append(all, int64(binary.NativeEndian.Uint64(b)))
	}
	return all
}

func TestBothWaysGiveTheSameWindows(t *testing.T) {
	_, w := open(t, 6)
	f, err := w.Field(t.Context(), shard.Column{From: "x"}, []float64{-2, 0, 3})
	if err != nil {
		t.Fatal(err)
	}
	gather, err := window.Columns{{Field: f, Values: 1, Mask: 0}}.Open()
	if err != nil {
		t.Fatal(err)
	}
	samples := []int64{5, 0, 2, 2, 1}
	values, mask := make([]byte, 24*len(samples)), make([]byte, 3*len(samples))
	if _, err := gather(t.Context(), samples, []shard.Target{{Data: mask}, {Data: values}}); err != nil {
		t.Fatal(err)
	}
	for k, i := range samples {
		value, pads, _, err := f.Read(t.Context(), i, make([]byte, f.Room()))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(value.Bytes, values[24*k:][:24]) || !bytes.Equal(pads.Bytes, mask[3*k:][:3]) {
			t.Errorf("sample %d: %v %v alone, and %v %v in a batch", i, numbers(value.Bytes), pads.Bytes,
				numbers(values[24*k:][:24]), mask[3*k:][:3])
		}
		for j, n := range numbers(value.Bytes) {
			at := i + []int64{-2, 0, 3}[j]
			if want := 10 * min(max(at, 0), 5); n != want || (pads.Bytes[j] != 0) != (at < 0 || at > 5) {
				t.Errorf("sample %d, offset %d: %d, padding %d", i, j, n, pads.Bytes[j])
			}
		}
	}
}

func TestTheErrorOfARowIsThatOfItsSample(t *testing.T) {
	_, w := open(t, 9)
	f, err := w.Field(t.Context(), shard.Column{From: "x"}, []float64{0, 1})
	if err != nil {
		t.Fatal(err)
	}
	gather, err := window.Columns{{Field: f, Values: 0, Mask: -1}}.Open()
	if err != nil {
		t.Fatal(err)
	}
	_, err = gather(t.Context(), []int64{8, 1, 0, 6, 7}, []shard.Target{{Data: make([]byte, 5*16)}})
	if bad := (*shard.RowError)(nil); !errors.As(err, &bad) || bad.Row != 3 {
		t.Errorf("%v: want the error of the fourth sample, 6, whose second row is 7", err)
	}
}

func TestTextHasNoWindows(t *testing.T) {
	_, w := open(t, 3)
	if _, err := w.Field(t.Context(), shard.Column{From: "__key__"}, []float64{0}); !errors.Is(err, window.ErrForm) {
		t.Errorf("%v: want %v", err, window.ErrForm)
	}
}
