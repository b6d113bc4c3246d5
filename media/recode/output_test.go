package recode

import (
	"errors"
	"io/fs"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"testing"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av"
)

func names(t *testing.T, folder string) (all []string) {
	t.Helper()
	found, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		all = append(all, f.Name())
	}
	return all
}

// A file has its name when it is complete, and no other before: also where the file
// system has no files without names.
func TestOutputsAppearWhole(t *testing.T) {
	for _, named := range []bool{false, true} {
		folder := t.TempDir()
		path := filepath.Join(folder, "film")
		for _, before := range []bool{false, true} {
			make := func() *Output {
				o, err := Create(path)
				if err != nil {
					t.Fatal(err)
				}
				if named && o.temp == "" {
					o.Close()
					o.temp = tempOf(path)
					if o.File, err = os.OpenFile(o.temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666); err != nil {
						t.Fatal(err)
					}
				}
				if _, err := o.WriteString("new"); err != nil {
					t.Fatal(err)
				}
				return o
			}
			o := make()
			o.Discard()
			o.Discard()
			if n := len(names(t, folder)); n != 0 && !before || n > 1 {
				t.Errorf("%v are left", names(t, folder))
			}
			o = make()
			if err := o.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			o.Discard()
			if b, err := os.ReadFile(path); err != nil || string(b) != "new" || len(names(t, folder)) != 1 {
				t.Errorf("%q, %v, %v", b, err, names(t, folder))
			}
		}
	}
	if _, err := Create(filepath.Join(t.TempDir(), "none", "film")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := Create(t.TempDir()); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
}

func TestSourcesThatAreNoFiles(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{empty: media.ErrTruncated, t.TempDir(): media.ErrUnsupported, "/dev/null": media.ErrUnsupported, empty + "x": fs.ErrNotExist} {
		if _, err := Open(t.Context(), path); !errors.Is(err, want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := Memory(nil); !errors.Is(err, media.ErrTruncated) {
		t.Error(err)
	}
	f, err := Memory([]byte("film"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, 4)
	if _, err := f.ReadAt(b, 0); err != nil || string(b) != "film" {
		t.Errorf("%q, %v", b, err)
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		time string
		base av.Rational
		want int64
	}{
		{"1", av.Rational{Num: 1, Den: 25}, 25}, {"1/3", av.Rational{Num: 1, Den: 25}, 9}, {"-1/3", av.Rational{Num: 1, Den: 25}, -8},
		{"0", av.Rational{Num: 1, Den: 1}, 0}, {"0.04", av.Rational{Num: 1, Den: 25}, 1}, {"0.0400001", av.Rational{Num: 1, Den: 25}, 2},
		{"1e30", av.Rational{Num: 1, Den: 25}, math.MaxInt64 / 4}, {"-1e30", av.Rational{Num: 1, Den: 25}, math.MinInt64 / 4},
	} {
		s, _ := new(big.Rat).SetString(c.time)
		if got := ticks(s, c.base); got != c.want {
			t.Errorf("%s: %d, not %d", c.time, got, c.want)
		}
	}
}

func TestOptionsAreQuoted(t *testing.T) {
	if got := Options(map[string]string{"a": "1:2", "b'": `x\=`}, []string{"a", "b'"}); got != `a=1\:2:b\'=x\\\=` {
		t.Error(got)
	}
}
