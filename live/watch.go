package live

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/headrace/headrace/stats"
)

// Loader describes a loader that is shown.
type Loader struct {
	Name    string                // such as "train"; empty: it gets a number
	Program string                // the program that it loads for, such as train.py
	PID     int                   // of that program
	Rank    int                   // among Ranks
	Ranks   int                   // 0 and 1: there are no others
	Stats   func() stats.Snapshot // reads its counts, once a second

	Batches int64 // in an epoch; negative: unknown
	Epochs  *int  // nil: without end

	// Sample returns a sample of the next batch, for a page that shows it; nil: none is
	// shown. It is called once a second at most, and never while no page asks.
	Sample func(context.Context) (Sample, error)

	// Steps returns a sample of an epoch after each step, once it is asked for on a page;
	// nil: none is shown.
	Steps func(ctx context.Context, epoch int) ([]Step, error)
}

// Failure is a sample that was lost or replaced.
type Failure struct {
	Time     int64  `json:"time"` // milliseconds of Unix time
	Key      string `json:"key"`
	Index    int64  `json:"index"`
	Epoch    int    `json:"epoch"`
	Stage    string `json:"stage"`
	Error    string `json:"error"`
	Replaced bool   `json:"replaced,omitempty"`
}

// Note is something that happened: a warning, or another stage that limits.
type Note struct {
	Time int64  `json:"time"` // milliseconds of Unix time
	Code string `json:"code"`
	Text string `json:"text"`
}

// Watched is a loader while it is shown.
type Watched struct {
	loader Loader
	id     string
	name   string
	began  time.Time
	close  func()
	latest latest

	mu       sync.Mutex // guards what follows; it is held for microseconds
	progress Progress
	waits    waits
	lost     int64
	replaced int64
	failures []Failure // the newest last
	notes    []Note
	readings []reading // the oldest first
	history  history
	limit    steadyLimit
	now      *Moment
}

// Progress counts the batches of the loop.
type Progress struct {
	Epoch   int   `json:"epoch"`
	Epochs  int   `json:"epochs,omitempty"` // 0: without end
	Batch   int64 `json:"batch"`            // batches of the epoch that the loop was given
	Batches int64 `json:"batches"`          // in the epoch; negative: unknown
	Samples int64 `json:"samples"`          // in all that the loop was given
	Given   int64 `json:"given"`            // batches in all
}

const (
	mostFailures = 6
	mostNotes    = 8
	mostText     = 240 // bytes of a text that is shown
)

// Took counts a batch that the loop was given.
func (w *Watched) Took(epoch int, batch, samples int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := &w.progress
	p.Epoch, p.Batch = epoch, batch+1
	p.Samples += samples
	p.Given++
}

// Waited counts that the loop waited so long for a batch.
func (w *Watched) Waited(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waits.add(time.Now(), d)
}

// Lost shows a sample that failed.
func (w *Watched) Lost(f Failure) {
	f.Time = time.Now().UnixMilli()
	f.Key, f.Stage, f.Error = cut(f.Key, mostText), cut(f.Stage, mostText), cut(f.Error, mostText)
	w.mu.Lock()
	defer w.mu.Unlock()
	if f.Replaced {
		w.replaced++
	} else {
		w.lost++
	}
	w.failures = newest(append(w.failures, f), mostFailures)
}

// Note shows a warning.
func (w *Watched) Note(code, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.note(code, text)
}

// note adds a note; the lock is held.
func (w *Watched) note(code, text string) {
	w.notes = newest(append(w.notes, Note{time.Now().UnixMilli(), code, cut(text, mostText)}), mostNotes)
}

// Close ends that the loader is shown. It may be called again.
func (w *Watched) Close() { w.close() }

func newest[T any](all []T, most int) []T {
	return slices.Delete(all, 0, max(0, len(all)-most))
}

// cut shortens a text to so many bytes, at the boundary of a character.
func cut(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return text
	}
	most -= len("…")
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}
