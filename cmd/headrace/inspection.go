package main

import (
	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/numbers"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/tensor"
)

// inspection is all that inspect tells. Its JSON form is stated in
// docs/guide/bench-and-inspect.md.
type inspection struct {
	File      string              `json:"file"`
	Recipe    recipe.Recipe       `json:"recipe"`
	Loader    headrace.Config     `json:"loader"`
	Variables []inspectedVariable `json:"variables"`
	Steps     []inspectedStep     `json:"steps"`
	Functions []string            `json:"functions"` // that the recipe imports where it runs
	Called    bool                `json:"called"`    // they were imported and called, for the first samples
	// nil: the source cannot be listed, the recipe is not complete, or a function would
	// have to be called
	Engine  *inspectedEngine  `json:"engine"`
	Samples []inspectedSample `json:"samples"` // in the order of the first epoch
}

// inspectedVariable is what was put instead of a ${name}.
type inspectedVariable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	From  string `json:"from"`
}

// inspectedStep is a step of the recipe with the edge after it.
type inspectedStep struct {
	Name  string           `json:"name"`
	Op    string           `json:"op"`
	Text  string           `json:"text"` // with the arguments that differ from their defaults
	From  []string         `json:"from"`
	Stage string           `json:"stage,omitempty"` // the stage that carries it out
	Out   []headrace.Field `json:"out"`             // of one sample; an extent of -1 differs from sample to sample

	out sample.Schema
}

// inspectedEngine is what the engine makes of the recipe.
type inspectedEngine struct {
	Stages          []headrace.Stage `json:"stages"`
	Fields          []headrace.Field `json:"fields"` // of a row of a batch
	Samples         int64            `json:"samples"`
	SamplesPerEpoch int64            `json:"samples_per_epoch"`
	BatchesPerEpoch int64            `json:"batches_per_epoch"`
	Exact           bool             `json:"exact"`
	Grouped         bool             `json:"grouped,omitempty"`
	Epochs          *int             `json:"epochs"`
	Classes         []recipe.Path    `json:"classes"`
	Rows            int              `json:"rows"`
	Whole           bool             `json:"whole,omitempty"`
	SampleBytes     int64            `json:"sample_bytes"` // in a batch
	BatchBytes      int64            `json:"batch_bytes"`
	Slots           int              `json:"slots"`
	Workers         int              `json:"workers"`
	Memory          int64            `json:"memory"`
	HoldLimit       int64            `json:"hold_limit"`
	Decoder         string           `json:"decoder"`
}

// inspectedSample is one of the samples with which the first epoch begins: what its
// file holds, and what comes of it.
type inspectedSample struct {
	Key         recipe.Path     `json:"key"`
	Label       *int64          `json:"label,omitempty"`
	Class       *recipe.Path    `json:"class,omitempty"`
	Bytes       int64           `json:"bytes,omitempty"`  // of the file
	Format      string          `json:"format,omitempty"` // by its content
	Width       int             `json:"width,omitempty"`  // as stored
	Height      int             `json:"height,omitempty"`
	Orientation int             `json:"orientation,omitempty"` // EXIF's
	Video       *inspectedVideo `json:"video,omitempty"`
	Audio       *inspectedAudio `json:"audio,omitempty"`
	Live        bool            `json:"live,omitempty"`   // a recording whose file states no end
	Values      []fieldValues   `json:"values,omitempty"` // of each array
	Texts       []fieldText     `json:"texts,omitempty"`  // besides the key
	Objects     []fieldObject   `json:"objects,omitempty"`
	Stage       string          `json:"stage,omitempty"` // in which it failed
	Error       string          `json:"error,omitempty"`
}

// fieldValues is what an array in a batch holds.
type fieldValues struct {
	Name  string       `json:"name"`
	DType tensor.DType `json:"dtype"`
	Shape tensor.Shape `json:"shape"`
	numbers.Spread
}

// fieldText is what a text says.
type fieldText struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// fieldObject is how large an object of Python is, which nobody here can read.
type fieldObject struct {
	Name  string `json:"name"`
	Bytes int    `json:"bytes"`
}

// inspectedVideo is what a file says of the video that is shown if nobody chooses.
type inspectedVideo struct {
	Codec     string   `json:"codec"`
	Frames    int      `json:"frames"`
	Duration  float64  `json:"duration"` // seconds
	FPS       float64  `json:"fps"`      // on average
	KeyFrames int      `json:"key_frames"`
	Decodes   float64  `json:"decodes"` // how many packets it takes to have a frame from a random place
	Streams   []string `json:"streams"` // of the file: what they are, and their codecs
}

// inspectedAudio is what a file says of the recording that is played if nobody chooses.
type inspectedAudio struct {
	Rate     int     `json:"sample_rate"`
	Channels int     `json:"channels"`
	Samples  int64   `json:"samples"`
	Duration float64 `json:"duration"` // seconds
}
