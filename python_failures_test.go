//go:build cgo

package headrace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"headrace/extern"
	"headrace/internal/leak"
	"headrace/pipe"
	"headrace/sample"
)

// troubles are what the function told does to samples: files in a folder, each with what is to happen at one call after the other.
func troubles(t *testing.T, what map[int]string) (environment string) {
	t.Helper()
	folder := t.TempDir()
	for i, text := range what {
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%03d.png", i)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return "STAGES_TROUBLE=" + folder
}

const toldStep = `"decode_image",{"resize":{"size":[8,8]}},{"map":{"function":"stages:told","workers":2,"gives":{"key":"text","image":{"dtype":"uint8","shape":[8,8,3]}}}%s},{"batch":{"size":4}}`

// numbersOf are the numbers in the names of files.
func numbersOf(samples []map[string]any) (all []int) {
	for _, s := range samples {
		n := 0
		fmt.Sscanf(filepath.Base(s["key"].(string)), "%d", &n)
		all = append(all, n)
	}
	return all
}

// Whatever a function or its worker does to one sample, that one alone is lost, with what is known of it; the others come, in their order.
func TestTroubleOfOneSample(t *testing.T) {
	leak.Check(t)
	root, _ := pictureFolder(t, 16)
	var mu sync.Mutex
	lost := map[string]error{}
	o := Options{
		Python: pythonHere(t, troubles(t, map[int]string{2: "die", 4: "raise", 5: "exit", 7: "misfit", 11: "hang"})),
		Lost:   func(l Lost) { mu.Lock(); defer mu.Unlock(); lost[filepath.Base(l.Key)] = l.Err },
	}
	l, got := onePass(t, root, fmt.Sprintf(toldStep, `,"failures":{"on_error":"skip","time_limit":3}`), Config{}, o)
	if n := numbersOf(got); !slices.Equal(n, []int{0, 1, 3, 6, 8, 9, 10, 12, 13, 14, 15}) {
		t.Errorf("%v came", n)
	}
	if len(lost) != 5 {
		t.Errorf("%d were lost: %v", len(lost), lost)
	}
	var died, ended *extern.WorkerError
	if !errors.As(lost["002.png"], &died) || died.Signal != syscall.SIGKILL {
		t.Errorf("die: %v", lost["002.png"])
	}
	if !errors.As(lost["005.png"], &ended) || ended.Exit != 3 {
		t.Errorf("exit: %v", lost["005.png"])
	}
	var raised *extern.CallError
	if !errors.As(lost["004.png"], &raised) || raised.Type != "ValueError" || raised.Message != "no good: 004.png" || !strings.Contains(raised.Traceback, "stages.py") {
		t.Errorf("raise: %v", lost["004.png"])
	}
	if err := lost["007.png"]; err == nil || !strings.Contains(err.Error(), "image") || !strings.Contains(err.Error(), "float32") {
		t.Errorf("misfit: %v", err)
	}
	var late *extern.LimitError
	if !errors.As(lost["011.png"], &late) || !errors.Is(late, context.DeadlineExceeded) || !strings.Contains(late.Stack, "told") {
		t.Errorf("hang: %v", lost["011.png"])
	}
	nothingHeld(t, l)
}

func TestRetriesReplaceAndRaiseOfFunctions(t *testing.T) {
	leak.Check(t)
	root, _ := pictureFolder(t, 12)
	trouble := map[int]string{2: "die", 4: "raise", 7: "raise raise"}
	again := map[int]string{2: "die ok", 4: "raise ok", 7: "raise raise ok"}
	t.Run("retries", func(t *testing.T) {
		l, got := onePass(t, root, fmt.Sprintf(toldStep, `,"failures":{"retries":2,"wait":0}`), Config{}, Options{Python: pythonHere(t, troubles(t, again))})
		if n := numbersOf(got); !slices.Equal(n, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}) {
			t.Errorf("%v came", n)
		}
		if i := slices.IndexFunc(l.Stats().Stages, func(s pipe.StageStats) bool { return s.Name == "map+batch" }); l.Stats().Stages[i].Retried != 3 || l.Stats().Stages[i].Workers != 2 {
			t.Errorf("%+v", l.Stats().Stages[i])
		}
		nothingHeld(t, l)
	})
	t.Run("replace", func(t *testing.T) {
		var replaced []string
		l, got := onePass(t, root, fmt.Sprintf(toldStep, `,"failures":{"on_error":"replace"}`), Config{}, Options{
			Python: pythonHere(t, troubles(t, trouble)), Lost: func(l Lost) { replaced = append(replaced, filepath.Base(l.Key)) },
		})
		n := numbersOf(got)
		if len(n) != 12 || !slices.Equal(replaced, []string{"002.png", "004.png", "007.png"}) {
			t.Errorf("%v came, and replaced were %v", n, replaced)
		}
		for i := range n {
			if bad := i == 2 || i == 4 || i == 7; bad == (n[i] == i) {
				t.Errorf("in place %d came %d", i, n[i])
			}
		}
		nothingHeld(t, l)
	})
	t.Run("replace behind flat_map", func(t *testing.T) {
		// Its workers wait with what they have made, since nothing goes on before the bad sample is replaced: by one that is made of another file.
		steps := strings.Replace(toldStep, `{"map":`, `{"flat_map":{"function":"stages:copies","workers":2,"gives":{"key":"text","image":{"dtype":"uint8","shape":[8,8,3]},"number":{"dtype":"int64"}}}},{"map":`, 1)
		replaced := 0
		l, got := onePass(t, root, fmt.Sprintf(steps, `,"failures":{"on_error":"replace"}`), Config{}, Options{
			Python: pythonHere(t, troubles(t, map[int]string{0: "raise ok", 1: "raise ok", 5: "raise ok"})), Lost: func(l Lost) { replaced++ },
		})
		if len(got) != 12*200 || replaced == 0 { // fewer than three, where one of these was drawn for another
			t.Errorf("%d came, %d were replaced", len(got), replaced)
		}
		nothingHeld(t, l)
	})
	t.Run("raise", func(t *testing.T) {
		r := parseRecipe(t, `{"files":{"pattern":%q,"root":"/","label":"parent"}},`+fmt.Sprintf(toldStep, ""), root)
		l := openLoader(t, r, Config{Epochs: new(1)}, Options{Python: pythonHere(t, troubles(t, map[int]string{5: "raise"}))})
		b, err := l.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		b.Release()
		_, err = l.Next(t.Context())
		var stage *pipe.StageError
		var bad *sample.Error
		var raised *extern.CallError
		if !errors.As(err, &stage) || stage.Stage != "map+batch" || !errors.As(err, &bad) || filepath.Base(bad.Key) != "005.png" || bad.Index != 5 || !errors.As(err, &raised) || !strings.HasPrefix(raised.Where, "told (stages.py:") {
			t.Errorf("%v", err)
		}
		nothingHeld(t, l)
	})
}

// A function that cannot be found is no matter of one sample, whatever the policy: it ends the run, with the reason.
func TestFunctionsThatAreNotThere(t *testing.T) {
	leak.Check(t)
	root, _ := pictureFolder(t, 4)
	for function, want := range map[string]string{"stages:missing": "missing", "no_such_module:f": "no_such_module"} {
		steps := fmt.Sprintf(`{"files":{"pattern":%q,"root":"/"}},"decode_image",{"map":{"function":%q%%s}},{"batch":{"size":1}}`, root, function)
		_, err := Open(t.Context(), parseRecipe(t, fmt.Sprintf(steps, "")), Config{OnError: Skip}, Options{Python: pythonHere(t)})
		var start *extern.StartError
		if !errors.As(err, &start) || !strings.Contains(err.Error(), want) {
			t.Errorf("probed: %v", err)
		}
		l := openLoader(t, parseRecipe(t, fmt.Sprintf(steps, `,"gives":{"key":"text"}`)), Config{OnError: Skip}, Options{Python: pythonHere(t)})
		if _, err = l.Next(t.Context()); !errors.As(err, &start) || !strings.Contains(err.Error(), want) {
			t.Errorf("given: %v", err)
		}
		l.Close()
	}
	_, err := Open(t.Context(), parseRecipe(t, `{"files":{"pattern":%q,"root":"/"}},{"map":{"function":"stages:whole"}},{"batch":{"size":1}}`, root), Config{},
		Options{Python: &extern.Interpreter{Executable: "/no/such/python"}})
	if err == nil || !strings.Contains(err.Error(), "/no/such/python") {
		t.Errorf("%v", err)
	}
}

// In input order a run goes on with the same batches wherever it is cut, with filters, generators and random numbers, and with any number of workers.
func TestFunctionsGoOnWhereTheyAreCut(t *testing.T) {
	leak.Check(t)
	root, _ := pictureFolder(t, 14)
	for what, steps := range map[string]string{
		"map":      `{"map":{"function":"stages:draws","workers":%d,"gives":{"key":"text","draws":{"dtype":"int64","shape":[3]},"more":{"dtype":"float64"}}}}`,
		"filter":   `{"filter":{"function":"stages:even","fields":["key"],"workers":%d}},{"map":{"function":"stages:draws","gives":{"key":"text","draws":{"dtype":"int64","shape":[3]},"more":{"dtype":"float64"}}}}`,
		"flat_map": `"decode_image",{"flat_map":{"function":"stages:tiles","workers":%d,"gives":{"key":"text","tile":{"dtype":"uint8","shape":[2,3,3]},"number":{"dtype":"int64"}}}}`,
	} {
		t.Run(what, func(t *testing.T) {
			var first []string
			for _, workers := range []int{2, 1, 5} {
				r := parseRecipe(t, `{"files":{"pattern":%q,"root":"/"}},"shuffle",`+fmt.Sprintf(steps, workers)+`,{"batch":{"size":3}}`, root)
				l := openLoader(t, r, Config{Epochs: new(2)}, Options{Python: pythonHere(t)})
				whole, states := batchesOf(t, l)
				if first == nil {
					first = whole
				}
				if !slices.Equal(whole, first) {
					t.Fatalf("%d workers give %v, and 2 gave %v", workers, whole, first)
				}
				for cut, s := range states {
					if workers != 2 {
						break
					}
					if err := l.Start(s, nil); err != nil {
						t.Fatal(err)
					}
					if rest, _ := batchesOf(t, l); !slices.Equal(rest, whole[cut:]) {
						t.Fatalf("cut at %d (%+v): %v, not %v", cut, s, rest, whole[cut:])
					}
				}
				if last := l.Info(); last.Exact != (what == "map") || what == "flat_map" && last.BatchesPerEpoch != -1 {
					t.Errorf("%d batches, exactly: %v", last.BatchesPerEpoch, last.Exact)
				}
				nothingHeld(t, l)
			}
		})
	}
}

// A function may make more of a sample than all queues hold, however many of them are in hand at once, in their order and as they come.
func TestManySamplesOfEach(t *testing.T) {
	leak.Check(t)
	root, _ := pictureFolder(t, 40)
	steps := `"decode_image",{"resize":{"size":[8,8]}},{"flat_map":{"function":"stages:copies","workers":2,"gives":{"key":"text","image":{"dtype":"uint8","shape":[8,8,3]},"number":{"dtype":"int64"}}}},{"batch":{"size":16}}`
	for _, order := range []Order{InputOrder, CompletionOrder} {
		l, got := onePass(t, root, steps, Config{Order: order}, Options{})
		if len(got) != 40*200 {
			t.Errorf("%d came, in %v", len(got), order)
		}
		nothingHeld(t, l)
	}
}

// batchesOf are the batches that are left, and the states at their boundaries.
func batchesOf(t *testing.T, l *Loader) (all []string, states []State) {
	t.Helper()
	states = walk(t, l, func(b *Batch) { all = append(all, fmt.Sprint(b.Epoch(), samplesOf(b, l))) })
	return all, states
}

// walk shows the batches that are left. It returns the states at their boundaries.
func walk(t *testing.T, l *Loader, look func(*Batch)) (states []State) {
	t.Helper()
	for {
		states = append(states, l.State())
		b, err := l.Next(t.Context())
		for err == io.EOF {
			b, err = l.Next(t.Context())
		}
		if err == pipe.ErrDone {
			return states
		}
		if err != nil {
			t.Fatal(err)
		}
		look(b)
		b.Release()
	}
}
