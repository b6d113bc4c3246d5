package headrace_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	. "github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/internal/report"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/recipe"
)

// lettersIn reads a file line by line, each strictly.
func lettersIn(t *testing.T, file string) (all []report.DeadLetter) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		d := json.NewDecoder(strings.NewReader(lines.Text()))
		d.DisallowUnknownFields()
		var l report.DeadLetter
		if err := d.Decode(&l); err != nil {
			t.Fatalf("%v: %s", err, lines.Text())
		}
		all = append(all, l)
	}
	return all
}

// What is reported is in the file, in the same order, and what was there before stays.
func TestDeadLetters(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 23)
	for _, name := range []string{"003.jpg", "017.jpg"} {
		phototest.Spoil(t, root, name)
	}
	file := filepath.Join(t.TempDir(), "bad\xff.jsonl")
	var told []report.DeadLetter
	for _, c := range []Config{{OnError: Skip}, {OnError: Replace, WorldSize: 2, Rank: 1}, {OnError: Replace, Fuse: new(false)}} {
		c.Epochs, c.DeadLetters = new(2), recipe.Path(file)
		l := openLoader(t, augmented(t, root, `{"size":4}`), c, Options{Lost: func(l Lost) {
			told = append(told, report.DeadLetter{
				Rank: c.Rank, Epoch: l.ID.Epoch, Source: l.ID.Source, Position: l.ID.Pos, Index: l.ID.Index, Output: []int64{},
				Key: recipe.Path(l.Key), Stage: l.Stage, Step: "decode_image", Error: l.Cause().Error(), Replaced: l.Replaced,
			})
		}})
		drain(t, l)
		drain(t, l)
	}
	if len(told) < 9 || told[0].Replaced || !told[len(told)-1].Replaced {
		t.Fatalf("%+v", told)
	}
	if got := lettersIn(t, file); !reflect.DeepEqual(got, told) {
		t.Errorf("%+v\nnot %+v", got, told)
	}
}

func TestDeadLettersThatCannotBeWritten(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 8)
	phototest.Spoil(t, root, "003.jpg")
	r := augmented(t, root, `{"size":4}`)
	folder := t.TempDir()
	for path, want := range map[string]error{filepath.Join(folder, "none", "bad.jsonl"): fs.ErrNotExist, folder: nil} {
		_, err := Open(t.Context(), r, Config{DeadLetters: recipe.Path(path)}, Options{})
		mistake := (*Mistake)(nil)
		if !errors.As(err, &mistake) || mistake.Key != "dead_letters" || want != nil && !errors.Is(err, want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	var warned []string
	l := openLoader(t, r, Config{Epochs: new(2), OnError: Skip, DeadLetters: "/dev/full"}, Options{Warn: func(code, message string) { warned = append(warned, code+": "+message) }})
	if n := len(drain(t, l)) + len(drain(t, l)); n != 4 {
		t.Errorf("%d batches", n)
	}
	if len(warned) != 1 || !strings.Contains(warned[0], "dead_letters cannot be written any more") || !strings.Contains(warned[0], "003.jpg") || !strings.Contains(warned[0], "no space") {
		t.Errorf("%q", warned)
	}
}

// A step that has a limit of its own holds to it in an epoch that was cut and gone on
// with, at whatever batch.
func TestErrorsOfStepsAreCountedOverAResume(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 24)
	for _, name := range []string{"003.jpg", "009.jpg", "014.jpg", "020.jpg"} {
		phototest.Spoil(t, root, name)
	}
	for _, kind := range []OnError{Skip, Replace} {
		for most, fails := range map[int]bool{3: true, 4: false} {
			r := augmented(t, root, `{"size":3}`)
			r.Steps[2].Failures = &recipe.Failures{OnError: string(kind), MaxErrors: new(ErrorCount(most))}
			name := fmt.Sprint(kind, most)
			c := Config{Epochs: new(1), OnError: kind, MaxErrors: ErrorCount(0)}
			whole := openLoader(t, r, c, Options{})
			var states []State
			end := error(nil)
			for end == nil {
				states = append(states, whole.State())
				var b *Batch
				if b, end = whole.Next(t.Context()); end == nil {
					b.Release()
				}
			}
			if tooMany := errors.Is(end, ErrTooManyLost); tooMany != fails {
				t.Fatalf("%s: %v", name, end)
			}
			if last := states[len(states)-1]; fails && !slices.Contains([]string{"map[decode_image+random_resized_crop+random_flip+batch:3]", "map[decode_image+random_resized_crop+random_flip+batch:2]"}, fmt.Sprint(last.Errors)) {
				t.Errorf("%s: %+v", name, last)
			}
			for i, s := range states {
				text, err := json.Marshal(s)
				var from State
				if err := errors.Join(err, json.Unmarshal(text, &from)); err != nil {
					t.Fatal(err)
				}
				l := openLoader(t, r, c, Options{})
				if err := l.Start(from, nil); err != nil {
					t.Fatal(err)
				}
				_, again := rowsUntilError(t, l)
				if again == nil || again.Error() != end.Error() && !(errors.Is(end, pipe.ErrDone) || errors.Is(again, pipe.ErrDone)) {
					t.Errorf("%s, from batch %d: %v, not %v", name, i, again, end)
				}
			}
		}
	}
}

// What another setting of fuse counted in stages that are not here is forgotten; what
// cannot be is refused.
func TestErrorsOfOtherStages(t *testing.T) {
	r := augmented(t, phototest.Folder(t, 8), `{"size":3}`)
	r.Steps[2].Failures = &recipe.Failures{OnError: "skip", MaxErrors: new(ErrorCount(2))}
	l := openLoader(t, r, Config{}, Options{})
	s := l.State()
	s.Errors = map[string]int64{"elsewhere": 2}
	if err := l.Check(s); err != nil {
		t.Error(err)
	}
	for stage := range l.State().Errors {
		s.Errors = map[string]int64{stage: -1}
		if err := l.Check(s); !errors.Is(err, ErrState) || !strings.Contains(err.Error(), "counts -1 errors") {
			t.Error(err)
		}
	}
}

// What a recipe names is a new file, or one of dead letters: its own from before a
// resume, or that of another rank. Nothing else is written to.
func TestDeadLettersOfARecipe(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 8)
	phototest.Spoil(t, root, "003.jpg")
	r := augmented(t, root, `{"size":4}`)
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	config := func(path string) Config {
		text, err := json.Marshal(map[string]any{"epochs": 1, "on_error": "skip", "dead_letters": path})
		if err != nil {
			t.Fatal(err)
		}
		c, err := FileConfig(recipe.File{Loader: text})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}

	// twice, as a run that is resumed does it, and as two ranks at once
	for n := range 2 {
		l := openLoader(t, r, config(at("bad.jsonl")), Options{})
		beside := openLoader(t, r, config(at("bad.jsonl")), Options{})
		drain(t, l)
		beside.Close()
		if got := lettersIn(t, at("bad.jsonl")); len(got) != n+1 {
			t.Errorf("%+v", got)
		}
	}

	letter, err := os.ReadFile(at("bad.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at("text.jsonl"), []byte("precious\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), r, config(at("text.jsonl")), Options{})
	if mistake := (*Mistake)(nil); !errors.As(err, &mistake) || mistake.Key != "dead_letters" {
		t.Error(err)
	}
	// whoever says it himself may mean any of them
	c := config(at("text.jsonl"))
	c.DeadLettersOwn = false
	drain(t, openLoader(t, r, c, Options{}))
	if text, err := os.ReadFile(at("text.jsonl")); err != nil || string(text) != "precious\n"+string(letter) && len(text) <= len("precious\n") {
		t.Errorf("%v: %s", err, text)
	}
	for _, path := range []string{"../bad.jsonl", "/tmp/../bad.jsonl", "a/../../bad.jsonl"} {
		if c, err := FileConfig(recipe.File{Loader: []byte(`{"dead_letters": "` + path + `"}`)}); err == nil || !strings.Contains(err.Error(), "..") {
			t.Errorf("%s: %+v, %v", path, c, err)
		}
	}
	if _, err := FileConfig(recipe.File{Loader: []byte(`{"dead_letters_own": false, "dead_letters": "x.txt"}`)}); err == nil || !strings.Contains(err.Error(), "always a new one") {
		t.Error(err)
	}
}

// Some file systems say only when a file is closed that they have not kept it.
func TestDeadLettersThatCannotBeCompleted(t *testing.T) {
	for _, end := range []func(*Loader) error{(*Loader).Finish, (*Loader).Close} {
		var warned []string
		root := phototest.Folder(t, 4)
		warn := func(code, message string) { warned = append(warned, code+": "+message) }
		l := openLoader(t, augmented(t, root, `{"size":4}`), Config{Epochs: new(1)}, Options{Warn: warn})
		l.BuryIn(report.NewDeadLetters(lossyFile{}, 0, warn))
		if got := drain(t, l); len(got) != 1 {
			t.Errorf("%d batches", len(got))
		}
		if err := end(l); err != nil {
			t.Error(err)
		}
		if len(warned) != 1 || !strings.Contains(warned[0], "dead_letters: ") || !strings.Contains(warned[0], "close bad.jsonl") || !strings.Contains(warned[0], "quota") {
			t.Errorf("%q", warned)
		}
	}
}

// lossyFile is one on a file system that writes when it is closed.
type lossyFile struct{}

func (lossyFile) Write(b []byte) (int, error) { return len(b), nil }
func (lossyFile) Close() error {
	return &fs.PathError{Op: "close", Path: "bad.jsonl", Err: syscall.EDQUOT}
}
