package main

import (
	"github.com/headrace/headrace/internal/machine"
	"github.com/headrace/headrace/pipe"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/stats"
)

// benchDocument is the JSON form of a result. docs/guide/bench-and-inspect.md states it.
type benchDocument struct {
	File        string             `json:"file"`
	Recipe      recipe.Recipe      `json:"recipe"`
	Cores       int                `json:"cores"` // that may be used
	Seconds     float64            `json:"seconds"`
	Rounds      int                `json:"rounds"`
	Interrupted bool               `json:"interrupted"`
	Rows        int                `json:"rows"` // of a batch
	SampleBytes int64              `json:"sample_bytes"`
	BatchBytes  int64              `json:"batch_bytes"`
	Columns     []benchColumnEntry `json:"columns"`
	Feed        *benchFeed         `json:"feed,omitempty"` // with --feed
}

type benchFeed struct {
	Rate  float64 `json:"samples_per_second"` // of all consumers
	Cores int     `json:"cores"`
}

type benchColumnEntry struct {
	Workers   int               `json:"workers"`
	Rate      float64           `json:"samples_per_second"`
	Slowest   float64           `json:"slowest"`
	Fastest   float64           `json:"fastest"`
	Speedup   float64           `json:"speedup"` // over the first column
	Batches   float64           `json:"batches_per_second"`
	Read      float64           `json:"read_bytes_per_second"`
	Written   float64           `json:"written_bytes_per_second"`
	Cores     float64           `json:"cores_used"`
	WaitedFor *float64          `json:"cores_waited_for"` // null: the system does not say
	CPU       float64           `json:"cpu_seconds_per_1000"`
	PeakRSS   int64             `json:"peak_rss"`
	Peak      int64             `json:"peak_budget"`
	Budget    int64             `json:"budget"`
	Lost      int64             `json:"lost"`
	Verdict   string            `json:"verdict"`
	Stages    []benchStageEntry `json:"stages"`
	Slices    []benchSliceEntry `json:"slices"`
}

type benchStageEntry struct {
	Name    string `json:"name"`
	Workers int    `json:"workers"`
	In      int64  `json:"in"`
	Out     int64  `json:"out"`
	Lost    int64  `json:"lost"`
	Bytes   int64  `json:"bytes"`
	pipe.Shares
}

type benchSliceEntry struct {
	Seconds    float64  `json:"seconds"`
	Batches    int64    `json:"batches"`
	Samples    int64    `json:"samples"`
	CPUSeconds float64  `json:"cpu_seconds"`
	Delayed    *float64 `json:"delayed_seconds"`
	ReadBytes  int64    `json:"read_bytes"`
	DiskBytes  *int64   `json:"disk_bytes"` // of these; null: the system does not say
}

func (m benchResult) document(file string, feeds feed, interrupted bool) benchDocument {
	d := benchDocument{
		File: file, Recipe: m.plan.recipe, Cores: machine.CPUs(), Seconds: m.plan.seconds, Rounds: m.plan.rounds, Interrupted: interrupted,
		Rows: m.ready.Rows, SampleBytes: m.ready.SampleBytes, BatchBytes: m.ready.BatchBytes, Columns: []benchColumnEntry{},
	}
	for _, c := range m.begun() {
		d.Columns = append(d.Columns, m.entry(c, d.Columns))
	}
	if feeds.consumers > 0 && len(d.Columns) > 0 {
		d.Feed = &benchFeed{feeds.all(), feeds.cores(m)}
	}
	return d
}

func (m benchResult) entry(c benchColumn, before []benchColumnEntry) benchColumnEntry {
	t := c.total()
	e := benchColumnEntry{
		Workers: c.workers, Rate: t.rate(), Slowest: c.slowest(), Fastest: c.fastest(), Speedup: 1,
		Batches: float64(t.Batches) / t.Seconds, Read: float64(bytesRead(t.Stats)) / t.Seconds,
		Written: float64(t.Samples*m.ready.SampleBytes) / t.Seconds,
		Cores:   t.CPUSeconds / t.Seconds, CPU: perThousand(t), Verdict: stats.Verdict(stats.Snapshot{Stats: t.Stats}),
		PeakRSS: t.PeakRSS, Budget: t.Budget, Peak: t.PeakBudget, Lost: lostIn(t.Stats),
	}
	if t.Delayed != nil {
		e.WaitedFor = new(*t.Delayed / t.Seconds)
	}
	if len(before) > 0 {
		e.Speedup = e.Rate / before[0].Rate
	}
	for _, s := range t.Stats.Stages {
		e.Stages = append(e.Stages, benchStageEntry{s.Name, s.Workers, s.In, s.Out, s.Lost, s.Bytes, s.Shares()})
	}
	for _, s := range c.slices {
		e.Slices = append(e.Slices, benchSliceEntry{s.Seconds, s.Batches, s.Samples, s.CPUSeconds,
			s.Delayed, bytesRead(s.Stats), s.DiskBytes})
	}
	return e
}
