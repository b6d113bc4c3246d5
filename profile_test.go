package headrace_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	. "github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/sample"
)

func TestProfileMeasuresEveryStageAlone(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 40)
	r := augmented(t, root, `{"size":4}`)
	fused := false
	for _, c := range []Config{{}, {Fuse: &fused}, {Epochs: new(3), Order: CompletionOrder}} {
		var told []pipe.ProfileProgress
		report, err := Profile(t.Context(), r, c, ProfileOptions{Items: 10, Workers: []int{1, 3}, Progress: func(p pipe.ProfileProgress) { told = append(told, p) }})
		if err != nil {
			t.Fatal(err)
		}
		l, err := Open(t.Context(), r, c, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var want, got []string
		for _, s := range l.Info().Stages {
			want = append(want, s.Name)
		}
		l.Close()
		for _, s := range report.Stages {
			got = append(got, s.Name)
			if s.Kind == "source" {
				continue
			}
			for i, trial := range s.Trials {
				if trial.In != 10 || trial.Rate <= 0 || trial.Workers != []int{1, 3}[i] {
					t.Errorf("%s: %+v", s.Name, trial)
				}
			}
		}
		if !slices.Equal(got, want) || report.Items != 20 || report.Slowest().Name == "" || len(told) != 2*len(want)-1 {
			t.Errorf("%v, wanted %v; %d items, %d trials", got, want, report.Items, len(told))
		}
	}
}

// By default there are as many samples as there is memory for, and as the epoch has.
func TestProfileKeepsWithinItsMemory(t *testing.T) {
	root := phototest.Folder(t, 40)
	r := augmented(t, root, `{"size":4}`)
	report, err := Profile(t.Context(), r, Config{}, ProfileOptions{Workers: []int{1}})
	if err != nil || report.Items != 40 {
		t.Errorf("%d samples, %v", report.Items, err)
	}
	_, err = Profile(t.Context(), r, Config{Memory: new(int64(10_000))}, ProfileOptions{Workers: []int{1, 2}})
	if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "not for 8: raise memory, or profile fewer") {
		t.Errorf("%v", err)
	}
	_, err = Profile(t.Context(), r, Config{Memory: new(int64(4_000_000))}, ProfileOptions{Workers: []int{1}, Items: 1_000_000})
	if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "not for 1000000: raise memory, or profile fewer") {
		t.Errorf("%v", err)
	}
}

func TestProfileRefuses(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 12)
	r := augmented(t, root, `{"size":4}`)
	for want, o := range map[string]ProfileOptions{
		"items is -1":                       {Items: -1},
		"workers has 0":                     {Workers: []int{1, 0}},
		"workers has 257":                   {Workers: []int{257}},
		"workers [2 1 2] have one twice":    {Workers: []int{2, 1, 2}},
		"epoch is -1":                       {Epoch: -1},
		"headrace: source: store: no files": {},
	} {
		recipe := r
		if o.Items == 0 && o.Workers == nil && o.Epoch == 0 {
			recipe = augmented(t, "/none", `{"size":4}`)
		}
		if _, err := Profile(t.Context(), recipe, Config{}, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("wanted %q, got %v", want, err)
		}
	}
	phototest.Spoil(t, root, "000.jpg")
	bad := (*sample.Error)(nil)
	if _, err := Profile(t.Context(), r, Config{}, ProfileOptions{Workers: []int{1}}); !errors.As(err, &bad) {
		t.Errorf("a bad sample: %v", err)
	}
	if report, err := Profile(t.Context(), r, Config{OnError: Skip}, ProfileOptions{Workers: []int{1}}); err != nil || report.Items != 12 {
		t.Errorf("a bad sample that may be lost: %d, %v", report.Items, err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := Profile(stopped, r, Config{}, ProfileOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
}
