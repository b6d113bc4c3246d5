package main

import (
	"encoding/json"
	"io"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/export"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/stats"
)

// events writes what happens as JSON, an object a line, each with a key "event" and the
// seconds since the beginning.
type events struct {
	w     io.Writer
	begun time.Time
	err   error // of the first that could not be written
}

type startEvent struct {
	Event   string `json:"event"`
	Recipe  string `json:"recipe"`      // the file
	Print   string `json:"fingerprint"` // of what it says
	Epochs  int    `json:"epochs"`
	Epoch   int    `json:"epoch"`   // the first
	Written int64  `json:"written"` // samples that an earlier run wrote
	headrace.Info
}

type lostEvent struct {
	Event    string      `json:"event"`
	Seconds  float64     `json:"seconds"`
	Epoch    int         `json:"epoch"`
	Source   string      `json:"source"`
	Index    int64       `json:"index"`
	Output   []int64     `json:"output"`
	Key      recipe.Path `json:"key"`
	Stage    string      `json:"stage"`
	Error    string      `json:"error"`
	Replaced bool        `json:"replaced,omitempty"`
}

type epochEvent struct {
	Event    string  `json:"event"`
	Seconds  float64 `json:"seconds"`
	Epoch    int     `json:"epoch"`
	Batches  int64   `json:"batches"`
	Samples  int64   `json:"samples"`
	Lost     int64   `json:"lost"`
	Replaced int64   `json:"replaced"`
	Wrapped  int64   `json:"wrapped"`
	Took     float64 `json:"epoch_seconds"`
}

type warningEvent struct {
	Event   string  `json:"event"`
	Seconds float64 `json:"seconds"`
	Code    string  `json:"code"`
	Message string  `json:"message"`
}

type endEvent struct {
	Event      string           `json:"event"`
	Seconds    float64          `json:"seconds"`
	Outcome    string           `json:"outcome"` // "done", "failed" or "interrupted"
	ExitCode   int              `json:"exit_code"`
	Error      string           `json:"error,omitempty"`
	Batches    int64            `json:"batches"`
	Samples    int64            `json:"samples"`
	Lost       int64            `json:"lost"`
	Replaced   int64            `json:"replaced"`
	Rate       float64          `json:"samples_per_second"`
	Statistics stats.Document   `json:"statistics"`
	Out        *export.Manifest `json:"out,omitempty"`
	Trace      *traceEvent      `json:"trace,omitempty"`
}

func (e *events) emit(event any) {
	if e.err != nil {
		return
	}
	j := json.NewEncoder(e.w)
	j.SetEscapeHTML(false)
	e.err = j.Encode(event)
}

func (e *events) seconds() float64 { return time.Since(e.begun).Seconds() }

func (e *events) start(s start) {
	e.begun = s.now.begun
	event := startEvent{Event: "start", Recipe: s.file.Name, Print: s.info.State.Recipe, Epochs: s.now.epochs,
		Epoch: s.now.epoch, Info: s.info}
	if s.out != nil {
		event.Written = s.out.Saved()
	}
	e.emit(event)
}

func (e *events) batch(progress) {}

func (e *events) lost(l headrace.Lost, _ progress) {
	e.emit(lostEvent{"lost", e.seconds(), l.ID.Epoch, l.ID.Source, l.ID.Index, l.ID.Output.Numbers(),
		recipe.Path(l.Key), l.Stage, l.Err.Error(), l.Replaced})
}

func (e *events) epoch(s headrace.EpochSummary, p progress) {
	e.emit(epochEvent{"epoch", e.seconds(), s.Epoch, s.Batches, s.Samples, s.Lost, s.Replaced,
		s.Wrapped, time.Since(p.epochBegun).Seconds()})
}

func (e *events) warn(code, message string) {
	e.emit(warningEvent{"warning", e.seconds(), code, message})
}

func (e *events) end(end ending) error {
	event := endEvent{
		Event: "end", Seconds: e.seconds(), Outcome: "done", ExitCode: end.code, Batches: end.now.totalBatches,
		Samples: end.now.total, Lost: end.now.totalLost, Replaced: end.now.replaced,
		Statistics: stats.Report(end.stats), Out: end.manifest, Trace: end.trace,
	}
	if event.Seconds > 0 {
		event.Rate = float64(event.Samples) / event.Seconds
	}
	switch end.code {
	case exitDone, exitLost:
	case exitInterrupted:
		event.Outcome, event.Error = "interrupted", end.err.Error()
	default:
		event.Outcome, event.Error = "failed", end.err.Error()
	}
	e.emit(event)
	return e.err
}
