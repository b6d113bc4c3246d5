package compile

import (
	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/internal/depth"
	"github.com/headrace/headrace/pipe"
)

// Program is a compiled plan.
type Program struct {
	Flow   pipe.Flow[*batch.Batch]
	Stages []Stage

	Computing []string // stages whose workers compute, by name
	Reading   []string // stages whose workers wait
	Calling   []string // stages whose workers are Python's

	Writers   *extern.Pool     // whose workers write into batches; nil: nobody does but the engine
	Collating *batch.Collating // makes batches; nil: samples are stacked, or packed

	Samples int64 // of an epoch on this rank
	Exact   bool  // otherwise samples is the most
	Batches int64 // of an epoch on this rank, or the most, where batches are made of batches or taken apart

	Uneven   bool     // batches are made of batches or taken apart, so that no position tells which one comes there
	Drops    bool     // some may be left out on purpose
	Makes    bool     // some may be made into several
	Counted  bool     // nothing but that changes how many there are, and each is made into as many: Samples has them
	Gathers  []string // stages that make samples of several
	Cuts     string   // of these a pack that holds the rest of a sample, by its step's name; "": there is none
	Relabels bool     // labels are others than those of the sources

	Files map[string]string // by steps that hold files of their own: what these are

	// with lanes, the number of batches of an epoch that have rows of these lanes, or an
	// upper bound; nil: there are none
	Rounds func(first, end int) (batches int64, exact bool)
	Turns  string // the stage that takes a batch of each lane in turn, and counts them; "": a batch has rows of all

	Limits []*depth.Limit // of samples on their way

	Replaceable map[string]int  // how many samples may be replaced, by stages that have a limit of their own
	Skipping    map[string]bool // by stage, whether bad samples are skipped
	Judges      map[string]bool // stages that skip, and have a limit of their own
}

// Stage is converted to headrace.Stage, whose fields are the same.
type Stage struct {
	Name string `json:"name"`
	// the recipe's steps that it carries out, by their names; none: it reads files, or
	// waits for memory to decode
	Steps   []string `json:"steps"`
	Workers int      `json:"workers"` // samples in hand at once
}
